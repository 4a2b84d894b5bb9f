package rules_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linkfold/redirector/rules"
	"linkfold/redirector/rules/script"
	"linkfold/schema/linkfoldv1"
)

// vectors is the published test set of the rule language.
type vectors struct {
	DomainScripts  map[string]string `json:"domain_scripts"`
	WebsiteScripts map[string]string `json:"website_scripts"`
	CanonicalURLs  []struct {
		URLs      []string
		PageKey   string `json:"page_key"`
		Options   map[string]string
		Canonical *string
	} `json:"canonical_urls"`
	DomainCases []struct {
		ID, Script, Domain, Host string
		Expect                   struct {
			Rule       string
			WebsiteKey string `json:"website_key"`
			Options    map[string]string
			Status     int
		}
	} `json:"domain_cases"`
	WebsiteCases []struct {
		ID, Script, URL string
		WebsiteKey      string `json:"website_key"`
		Expect          struct {
			Rule, Rest   string
			SiteKey      string `json:"site_key"`
			Options      map[string]string
			UnknownQuery []string `json:"unknown_query"`
			Status       int
		}
	} `json:"website_cases"`
	CompileOK []struct {
		Kind, Script string
		AST          json.RawMessage
	} `json:"compile_ok"`
	CompileErrors []struct{ Kind, Script, Error string } `json:"compile_errors"`
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/snap_rules.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func kindOf(name string) rules.Kind {
	if name == "website" {
		return rules.KindWebsite
	}
	return rules.KindDomain
}

func compile(t testing.TB, kind rules.Kind, source string) *linkfoldv1.RuleScript {
	t.Helper()
	s, _, err := rules.Compile(kind, source)
	if err != nil {
		t.Fatalf("compile %q: %v", source, err)
	}
	return s
}

func load(t testing.TB, kind rules.Kind, source string) *rules.Rules {
	t.Helper()
	r, err := rules.Load(kind, compile(t, kind, source))
	if err != nil {
		t.Fatalf("load %q: %v", source, err)
	}
	return r
}

func site(t testing.TB, source string) *rules.Site {
	t.Helper()
	s, err := rules.NewSite(&linkfoldv1.Website{Rules: compile(t, rules.KindWebsite, source)})
	if err != nil {
		t.Fatalf("load %q: %v", source, err)
	}
	return s
}

// parse is enough of a URL parser for tests.
func parse(t testing.TB, raw string) rules.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(u.Port())
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return rules.URL{Scheme: u.Scheme, Host: u.Hostname(), Port: port, Path: path, Query: u.RawQuery}
}

func TestDomainVectors(t *testing.T) {
	v := loadVectors(t)
	for _, c := range v.DomainCases {
		t.Run(c.ID, func(t *testing.T) {
			m, ok := load(t, rules.KindDomain, v.DomainScripts[c.Script]).Domain(c.Domain, c.Host)
			if ok != (c.Expect.Status == 0) {
				t.Fatalf("matched: %v", ok)
			}
			if !ok {
				return
			}
			got := []any{m.Rule, m.Website, m.Options.Map()}
			want := []any{c.Expect.Rule, c.Expect.WebsiteKey, c.Expect.Options}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWebsiteVectors(t *testing.T) {
	v := loadVectors(t)
	for _, c := range v.WebsiteCases {
		t.Run(c.ID, func(t *testing.T) {
			m, ok := site(t, v.WebsiteScripts[c.Script]).Match(parse(t, c.URL), rules.WebsiteKey(c.WebsiteKey))
			if ok != (c.Expect.Status == 0) {
				t.Fatalf("matched: %v", ok)
			}
			if !ok {
				return
			}
			got := []any{m.Rule, m.SiteKey, m.Rest, m.Options.Map(), append([]string{}, m.UnknownQuery...)}
			want := []any{c.Expect.Rule, c.Expect.SiteKey, c.Expect.Rest, c.Expect.Options, c.Expect.UnknownQuery}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompileVectors(t *testing.T) {
	v := loadVectors(t)
	for _, c := range v.CompileOK {
		compile(t, kindOf(c.Kind), c.Script)
		parsed, err := script.Parse(kindOf(c.Kind), c.Script)
		if err != nil {
			t.Errorf("parse %q: %v", c.Script, err)
			continue
		}
		printed, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		json.Unmarshal(printed, &got)
		json.Unmarshal(c.AST, &want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parse of %q: %s", c.Script, diff)
		}
	}
	for _, c := range v.CompileErrors {
		_, _, err := rules.Compile(kindOf(c.Kind), c.Script)
		var all script.Errors
		if !errors.As(err, &all) || len(all) != 1 || !strings.HasPrefix(all[0].Message, c.Error) {
			t.Errorf("compile %q: %v, want %q", c.Script, err, c.Error)
		}
	}
}

const (
	// officialDomain and officialSite are scripts for the seed's own example of canonical URLs.
	officialDomain = `main { optional www = website("w{1,4}\.", "www"); optional language = flag("(en|fr|de)\.", ""); };`
	officialSite   = `main {
  path optional canonalize::language = flag('(en|fr|de)', 'en');
  path optional extension::language = flag('(en|fr|de)');
  query optional options::language = flag('en|fr|de|es');
};`
)

func TestCanonicalVectors(t *testing.T) {
	domain, website := load(t, rules.KindDomain, officialDomain), site(t, officialSite)
	for _, c := range loadVectors(t).CanonicalURLs {
		for _, raw := range c.URLs {
			u := parse(t, raw)
			d, ok := domain.Domain("m2osw.com", u.Host)
			m, matched := website.Match(u, d)
			if !ok || !matched {
				t.Fatalf("%s does not match", raw)
			}
			canonical, conflict := "http://www.m2osw.com/fr/", true
			if c.Canonical != nil {
				canonical, conflict = *c.Canonical, false
			}
			if m.Canonical() != canonical || m.Conflict != conflict || !m.HasOfficial {
				t.Errorf("%s: canonical %s, conflict %v", raw, m.Canonical(), m.Conflict)
			}
			if value, _ := m.Options.Get("language"); c.Canonical != nil && value != c.Options["language"] {
				t.Errorf("%s: language %q", raw, value)
			}
		}
	}
}
