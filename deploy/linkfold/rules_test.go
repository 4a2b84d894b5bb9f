package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// ruleVectors is the published test set of the rule language, as the rules package keeps it.
type ruleVectors struct {
	DomainScripts  map[string]string `json:"domain_scripts"`
	WebsiteScripts map[string]string `json:"website_scripts"`
	CanonicalURLs  []struct {
		URLs      []string
		PageKey   string `json:"page_key"`
		Options   map[string]any
		Canonical any
	} `json:"canonical_urls"`
	DomainCases, WebsiteCases []ruleCase
	CompileOK                 []struct {
		Kind, Script string
		AST          any
	} `json:"compile_ok"`
	CompileErrors []struct{ Kind, Script, Error string } `json:"compile_errors"`
}

type ruleCase struct {
	ID, Script, Domain, Host, URL string
	WebsiteKey                    string `json:"website_key"`
	Expect                        map[string]any
}

func readRuleVectors(t *testing.T) ruleVectors {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "redirector", "rules", "testdata", "snap_rules.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v ruleVectors
	var cases struct {
		Domain  []ruleCase `json:"domain_cases"`
		Website []ruleCase `json:"website_cases"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	v.DomainCases, v.WebsiteCases = cases.Domain, cases.Website
	if len(v.DomainCases) == 0 || len(v.WebsiteCases) == 0 || len(v.CompileErrors) == 0 {
		t.Fatal("no vectors")
	}
	return v
}

// scriptFile writes a script to a file.
func scriptFile(t *testing.T, source string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.rules")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ruleLines runs a command that must succeed and gives its lines of JSON.
func ruleLines(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	var out, screen bytes.Buffer
	if code := run(append([]string{"rules"}, args...), &out, &screen); code != 0 {
		t.Fatalf("rules %q: exit code %d\n%s", args, code, screen.String())
	}
	var lines []map[string]any
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		lines = append(lines, m)
	}
	return lines
}

// expect compares the fields that a vector names; a refusal has its reason as error.
func expect(t *testing.T, got, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if name == "reason" {
			name = "error"
		}
		if !reflect.DeepEqual(got[name], value) {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
}

func TestRulesMatchVectors(t *testing.T) {
	v := readRuleVectors(t)
	for _, c := range v.DomainCases {
		t.Run(c.ID, func(t *testing.T) {
			lines := ruleLines(t, "match", "--domain-rules", scriptFile(t, v.DomainScripts[c.Script]), "--domain", c.Domain, "http://"+c.Host+"/")
			expect(t, lines[0], c.Expect)
		})
	}
	for _, c := range v.WebsiteCases {
		t.Run(c.ID, func(t *testing.T) {
			lines := ruleLines(t, "match", "--website-rules", scriptFile(t, v.WebsiteScripts[c.Script]), "--website-key", c.WebsiteKey, c.URL)
			expect(t, lines[0], c.Expect)
		})
	}
}

func TestRulesMatchCanonical(t *testing.T) {
	domain := scriptFile(t, `main { optional www = website("w{1,4}\.", "www"); optional language = flag("(en|fr|de)\.", ""); };`)
	website := scriptFile(t, `main {
  path optional canonalize::language = flag('(en|fr|de)', 'en');
  path optional extension::language = flag('(en|fr|de)');
  query optional options::language = flag('en|fr|de|es');
};`)
	for _, c := range readRuleVectors(t).CanonicalURLs {
		want := map[string]any{"canonical": c.Canonical, "conflict": c.Canonical == nil}
		if c.Canonical == nil {
			want["canonical"] = "http://www.m2osw.com/fr/"
		} else {
			want["options"] = map[string]any{"www": "www", "language": c.Options["language"]}
			want["website_key"] = c.PageKey
		}
		for _, line := range ruleLines(t, append([]string{"match", "--domain-rules", domain, "--website-rules", website}, c.URLs...)...) {
			expect(t, line, want)
		}
	}
}

// The seed's queries A and B, and what a URL can be refused for.
func TestRulesMatchKeysAndRefusals(t *testing.T) {
	domain := scriptFile(t, `staff { required who = "staff\."; } main { optional www = website("w{1,4}\.", "www"); }`)
	website := scriptFile(t, `staff { required start_path = "snap"; protocol = "any"; };`)
	lines := ruleLines(t, "match", "--domain-rules", domain, "--website-rules", website,
		"http://staff.example.net/snap/hours/2011-10", "www.example.net/snap/book/seo", "https://example.net:8443/snap?a=1&utm_source=x&a=2&b",
		"http://127.0.0.1/", "http://localhost/", "http://other.example.net/snap", "http://example.net/other", "ftp://example.net/", "http://a b/")
	type m = map[string]any
	type l = []any
	for i, want := range []m{
		{"rule": "staff", "domain_rule": "staff", "website_rule": "staff",
			"page_key": l{"N", "example.net", "staff", "snap", "hours", "2011-10"}, "base_key": l{"B", "example.net", "staff", "snap"}},
		{"request": "www.example.net/snap/book/seo", "page_key": l{"N", "example.net", "", "snap", "book", "seo"}, "base_key": l{"B", "example.net", "", "snap"},
			"canonical": "http://www.example.net/snap/book/seo", "unknown_query": l{}},
		{"site_key": "https://www.example.net:8443/snap", "unknown_query": l{"a", "b"}, "canonical": "http://www.example.net:8443/snap/"},
		{"status": 404.0, "error": "Unknown Domain"},
		{"status": 404.0, "error": "Unknown Domain"},
		{"status": 404.0, "error": "Domain Not Found"},
		{"status": 404.0, "error": "Website Not Found"},
		{"status": 400.0, "error": "invalid request"},
		{"status": 400.0, "error": "invalid request"},
	} {
		expect(t, lines[i], want)
	}
	lines = ruleLines(t, "match", "--website-rules", website, "--website-key", "www.example.net", "--allow-query", "a", "http://www.example.net/snap/x?a=1&b=2")
	expect(t, lines[0], m{"page_key": l{"N", "example.net", "www", "snap", "x"}, "unknown_query": l{"b"}})
	var out, screen bytes.Buffer
	if code := run([]string{"rules", "match", "--domain-rules", domain, "--domain", "example.com/x", "http://www.example.com/"}, &out, &screen); code != 1 ||
		!strings.Contains(screen.String(), `--domain "example.com/x": give a host name`) {
		t.Errorf("exit code %d\n%s", code, screen.String())
	}
	lines = ruleLines(t, "match", "--domain-rules", domain, "--domain", "example.com", "http://www.example.net/")
	expect(t, lines[0], m{"status": 404.0, "error": "Unknown Domain"})
}

// URLs come from standard input when the command line has none.
func TestRulesMatchReadsLines(t *testing.T) {
	var out bytes.Buffer
	c := rulesMatchCmd{DomainRules: scriptFile(t, `main { optional www = website("w{1,4}\.", "www"); };`)}
	e := &env{ctx: t.Context(), log: slog.New(slog.DiscardHandler), in: strings.NewReader("http://example.org/a\n\n  \r\nhttp://localhost/\r\nhttp://w.example.org/?a=1&b=<"), out: &out, screen: io.Discard}
	if err := c.Run(e); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "\n") != 3 || !strings.Contains(out.String(), `"request":"http://w.example.org/?a=1&b=<"`) {
		t.Errorf("printed\n%s", out.String())
	}
}

func TestRulesCheckVectors(t *testing.T) {
	v := readRuleVectors(t)
	for i, c := range v.CompileOK {
		t.Run(fmt.Sprint("ok", i), func(t *testing.T) {
			var out, screen bytes.Buffer
			if code := run([]string{"rules", "check", "--kind", c.Kind, "--ast", scriptFile(t, c.Script)}, &out, &screen); code != 0 {
				t.Fatalf("exit code %d\n%s", code, screen.String())
			}
			var got any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || !reflect.DeepEqual(got, c.AST) {
				t.Errorf("%v, printed\n%s", err, out.String())
			}
		})
	}
	for i, c := range v.CompileErrors {
		t.Run(fmt.Sprint("error", i), func(t *testing.T) {
			file := scriptFile(t, c.Script)
			var out, screen bytes.Buffer
			code := run([]string{"rules", "check", "--kind", c.Kind, "--ast", file}, &out, &screen)
			rest, ok := strings.CutPrefix(out.String(), file+":1:")
			_, message, _ := strings.Cut(rest, ": ")
			if code != 1 || !ok || !strings.HasPrefix(message, c.Error) {
				t.Errorf("exit code %d\n%s%s", code, out.String(), screen.String())
			}
		})
	}
}

func TestRulesCheckFindings(t *testing.T) {
	good := scriptFile(t, "main {\n  required x = flag('a\\.', 'b');\n  required y = \"(z\\.|)\";\n}")
	var out, screen bytes.Buffer
	if code := run([]string{"rules", "check", "--kind", "domain", good}, &out, &screen); code != 0 {
		t.Fatalf("exit code %d\n%s", code, screen.String())
	}
	want := strings.ReplaceAll(`F:2:12: warning: the default of "x" is never used, because it is required
F:3:12: warning: required "y" also matches nothing at all
ok: 1 rule, 2 variables, 2 warnings
`, "F", good)
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
	bad := scriptFile(t, "a { optional b = '(?=x)'; optional b = '['; } a { required c::d = 'x'; }")
	out.Reset()
	if code := run([]string{"rules", "check", "--kind", "domain", "--json", bad}, &out, &screen); code != 1 {
		t.Errorf("exit code %d", code)
	}
	var report checkReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || report.OK || len(report.Errors) != 5 {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
	screen.Reset()
	if code := run([]string{"rules", "match", "--domain-rules", bad, "http://example.org/"}, &out, &screen); code != 1 ||
		!strings.Contains(screen.String(), bad+":1:47: found two rules named \"a\"") {
		t.Errorf("exit code %d\n%s", code, screen.String())
	}
}
