package website_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"linkfold/redirector/website"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
)

const rules = `staff { required who = website("staff\.", "staff"); }; main { optional www = website("w{1,4}\.", "www"); };`

func script(source string) *linkfoldv1.RuleScript { return &linkfoldv1.RuleScript{Source: source} }

func load(t *testing.T, d *linkfoldv1.Domain) *website.Domain {
	t.Helper()
	if _, err := website.Compile(d); err != nil {
		t.Fatal(err)
	}
	loaded, err := website.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestFind(t *testing.T) {
	t.Parallel()
	some := []*linkfoldv1.Website{{Key: "example.net", UnknownQuery: linkfoldv1.UnknownQuery_UNKNOWN_QUERY_PASS}} // www may be left out
	other := append(some, &linkfoldv1.Website{Key: "*"})
	for _, c := range []struct {
		host     string
		websites []*linkfoldv1.Website
		key      string
		known    bool
	}{
		{"www.example.net", nil, "www.example.net", true}, {"ww.example.net", nil, "www.example.net", true}, {"example.net", nil, "www.example.net", true},
		{"staff.example.net", nil, "staff.example.net", true}, {"nobody.example.net", nil, "", false}, {"example.org", nil, "", false},
		{"w.example.net", some, "www.example.net", true}, {"staff.example.net", some, "staff.example.net", false}, {"staff.example.net", other, "staff.example.net", true},
	} {
		d := load(t, &linkfoldv1.Domain{Name: "example.net", Rules: script(rules), Websites: c.websites})
		m, site, ok := d.Find(c.host)
		if m.Website != c.key || ok != (c.key != "") || (site != nil) != c.known {
			t.Errorf("%s with %d websites: %q, site %v, %v; want %q, known %v", c.host, len(c.websites), m.Website, site, ok, c.key, c.known)
		}
		if has := d.Has(c.host); has != (c.known && (c.host == c.key || c.host == "example.net")) {
			t.Errorf("Has(%s) = %v", c.host, has)
		}
	}
	if d := load(t, &linkfoldv1.Domain{Name: "example.net"}); d != nil {
		t.Error("a domain without rules has websites")
	}
}

// The compiled form is used as it is; one that another version wrote is compiled again from the source.
func TestLoadUsesTheSavedForm(t *testing.T) {
	t.Parallel()
	d := &linkfoldv1.Domain{Name: "example.net", Rules: script(rules)}
	load(t, d)
	d.Rules.Source = `other { required x = "x\."; };`
	saved, err := website.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := saved.Find("staff.example.net"); !ok {
		t.Error("the saved form was not used")
	}
	d.Rules.Compiler = 999
	again, err := website.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := again.Find("x.example.net"); !ok {
		t.Error("the form of another compiler was used")
	}
	d.Rules.Source = "nonsense"
	if _, err := website.Load(d); err == nil {
		t.Error("a script that does not compile was loaded")
	}
}

func TestCompileLimitsAndWarnings(t *testing.T) {
	t.Parallel()
	many := &linkfoldv1.Domain{Name: "example.net", Rules: script(rules)}
	for i := range website.MaxWebsites + 1 {
		many.Websites = append(many.Websites, &linkfoldv1.Website{Key: fmt.Sprintf("w%d.example.net", i)})
	}
	twice := &linkfoldv1.Domain{Name: "example.net", Rules: script(rules), Websites: []*linkfoldv1.Website{{Key: "*"}, {Key: "*"}}}
	names := &linkfoldv1.Domain{Name: "example.net", Rules: script(rules), Websites: []*linkfoldv1.Website{{Key: "*", AllowedQuery: []string{"", strings.Repeat("x", 65)}}}}
	large := &linkfoldv1.Domain{Name: "example.net", Rules: script(rules)}
	for i := range 100 { // Each of them is within its own limits.
		large.Websites = append(large.Websites, &linkfoldv1.Website{
			Key: fmt.Sprintf("w%d.example.net", i), Rules: script("a { protocol = \"any\"; }; //" + strings.Repeat("x", 60<<10)),
		})
	}
	spelled := &linkfoldv1.Domain{Name: "example.net", Rules: script(rules), Websites: []*linkfoldv1.Website{{Key: "WWW.example.net"}, {Key: "a.example.net"}, {Key: "www.example.net"}}}
	heavy := &linkfoldv1.Domain{Name: "example.net", Rules: script(rules)}
	for i := range 50 { // Each of them is within its own limits.
		heavy.Websites = append(heavy.Websites, &linkfoldv1.Website{
			Key: fmt.Sprintf("w%d.example.net", i), Rules: script(`a { path required x = "[a-f]{900}[b-g]{900}"; path required y = "[a-f]{900}[b-g]{900}"; };`),
		})
	}
	own := &linkfoldv1.Domain{Name: "example.net", Fallback: "https://www.Example.net/404"}
	for want, d := range map[string]*linkfoldv1.Domain{
		"257 of them": many, "is there twice": twice, "give 1 to 64 bytes": names, "bytes once compiled": large, "www.example.net]: is there twice": spelled,
		"all scripts together compile to": heavy, "is on the domain itself": own,
	} {
		if _, err := website.Compile(d); !errors.Is(err, link.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Compile = %.300v, want %q in it", err, want)
		}
	}
	warnings, err := website.Compile(&linkfoldv1.Domain{
		Name: "example.net", Rules: script(rules), RedirectStatus: 301, DefaultWebsite: "nobody.example.net", Websites: []*linkfoldv1.Website{{Key: "shop.example.net"}},
	})
	if err != nil || len(warnings) != 3 {
		t.Errorf("warnings %v, %v; want one each for the status, the website and the default", warnings, err)
	}
}
