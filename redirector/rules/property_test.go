package rules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"linkfold/redirector/rules"
	"linkfold/schema/linkfoldv1"
)

// TestCanonicalProperty makes up scripts and URLs, and checks for each that matches that its canonical URL is one, gives the same answer, and
// has no conflict left.
func TestCanonicalProperty(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := &maker{rand.New(rand.NewPCG(seed, 1))}
	matched, conflicts := 0, 0
	for range 500 {
		domain, website := r.script(rules.KindDomain), r.script(rules.KindWebsite)
		d, _, err := rules.Compile(rules.KindDomain, domain)
		if err != nil {
			t.Fatalf("%s: %v", domain, err)
		}
		w, _, err := rules.Compile(rules.KindWebsite, website)
		if err != nil {
			continue // two variables of one name
		}
		for range 10 {
			raw := r.url()
			u, err := rules.ParseURL(raw)
			if err != nil {
				t.Fatal(err)
			}
			switch ok, conflict := checkMade(t, d, w, u); {
			case conflict:
				conflicts++
				fallthrough
			case ok:
				matched++
			}
		}
	}
	t.Logf("%d URLs matched, %d with a conflict", matched, conflicts)
	if matched == 0 || conflicts == 0 {
		t.Error("nothing was tested")
	}
}

// checkMade is checkURL, and says what it was about when it fails.
func checkMade(t *testing.T, domain, website *linkfoldv1.RuleScript, u rules.URL) (ok, conflict bool) {
	defer func() {
		if t.Failed() {
			t.Logf("domain script\n%s\nwebsite script\n%s\nURL %s", domain.GetSource(), website.GetSource(), u)
		}
	}()
	if !checkURL(t, domain, website, u) {
		return false, false
	}
	m, _ := newMatcher(t, domain, website).match(u)
	return true, m.Conflict
}

// maker makes up scripts whose variables often overlap.
type maker struct{ *rand.Rand }

func (r *maker) one(of ...string) string { return of[r.IntN(len(of))] }

func (r *maker) script(kind rules.Kind) string {
	var b strings.Builder
	for i := range 1 + r.IntN(2) {
		fmt.Fprintf(&b, "r%d {\n", i)
		if kind == rules.KindDomain {
			r.subdomains(&b)
		} else {
			r.website(&b)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func (r *maker) subdomains(b *strings.Builder) {
	for i, name := range []string{"language", "host", "version", "www"} {
		if i > 0 && r.IntN(2) == 0 {
			continue
		}
		if name == "language" {
			name = r.one("language", "language", "domain::language", "canonalize::language")
		}
		fmt.Fprintf(b, "  %s %s = %s;\n", r.one("optional", "optional", "required"), name, r.value(".", `\.`))
	}
}

func (r *maker) website(b *strings.Builder) {
	fmt.Fprintf(b, "  %s", r.one("", "", `protocol = "any"; `, `protocol = "https"; `, `protocol = "http"; `, `port = "80|443"; `, `port = "80"; `))
	for _, keyword := range []string{"path", "path", "path", "query", "query"} {
		if r.IntN(2) == 0 {
			continue
		}
		name := r.one("language", "x", "y", "z", "canonalize::language", "extension::language", "options::language", "path::language", "extension::format")
		separator := r.one("/", "")
		if strings.HasPrefix(name, "extension") || keyword == "query" {
			separator = ""
		}
		fmt.Fprintf(b, "  %s %s %s = %s;\n", keyword, r.one("optional", "optional", "required"), name, r.value(separator, separator))
	}
	b.WriteString("  query optional w = \"1\";\n")
}

func (r *maker) value(separator, escaped string) string {
	end := r.one("", escaped)
	expression := r.one("(en|fr|de)", "en|fr|", "[a-z]+", "[a-z]*", "[0-9]+", "(?:en|fr)-", "w{1,4}", "", "[a-z.]+", "fr|[a-z/]+")
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("%q", expression+end)
	case 1:
		return fmt.Sprintf("website(%q, %q)", expression+end, r.one("www", "en", "", "blog"+separator))
	}
	if r.IntN(2) == 0 {
		return fmt.Sprintf("flag(%q)", expression+end)
	}
	return fmt.Sprintf("flag(%q, %q)", expression+end, r.one("en", "", "fr"+separator, "none", "1"))
}

func (r *maker) url() string {
	word := func() string {
		return r.one("en", "fr", "de", "www", "1", "page", "index.html", "a.fr", "index.html.en", "en-", "%C3%A9", "en-fr")
	}
	var b strings.Builder
	b.WriteString(r.one("http://", "https://"))
	for range r.IntN(4) {
		b.WriteString(r.one("en", "fr", "www", "w", "1", "page") + ".")
	}
	b.WriteString("example.org" + r.one("", "", "", ":80", ":443", ":8080") + "/")
	for range r.IntN(4) {
		b.WriteString(word() + r.one("/", "/", "", "//"))
	}
	for i := range r.IntN(4) {
		b.WriteString([]string{"?", "&", "&", "&"}[i])
		b.WriteString(r.one("lang", "language", "x", "y", "w", "utm_source", "other") + "=" + r.one("en", "fr", "1", "a+b", "..", "%2f"))
	}
	return b.String()
}
