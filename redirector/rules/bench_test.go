package rules_test

import (
	"strings"
	"testing"

	"linkfold/redirector/rules"
	"linkfold/schema/linkfoldv1"
)

// fourRules is a domain script of four rules, of which the last is the usual one.
const fourRules = `hosted { required site = "[-a-z0-9]+\.snap\."; };
staff { required who = "staff\."; };
m2osw { optional version = flag("([0-9]+\.[0-9]+)\.", "1.0"); required host = "[a-z][a-z0-9]{3,}\."; optional language = flag("([a-z][a-z]\.)", ""); };
main { optional www = website("w{1,4}\.", "www"); optional language = flag("(en|fr|de)\.", "en"); };`

func BenchmarkDomain(b *testing.B) {
	v := loadVectors(b)
	for _, c := range []struct{ name, script, host string }{
		{"one variable", v.DomainScripts["www"], "www.m2osw.com"},
		{"four variables", v.DomainScripts["four"], "3.5.proj.en.www.m2osw.com"},
		{"four rules, first", fourRules, "foo.snap.m2osw.com"},
		{"four rules, last", fourRules, "fr.m2osw.com"},
		{"four rules, none", fourRules, "a.b.m2osw.com"},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := load(b, rules.KindDomain, c.script)
			b.ReportAllocs()
			for b.Loop() {
				r.Domain("m2osw.com", c.host)
			}
		})
	}
}

func BenchmarkWebsite(b *testing.B) {
	v := loadVectors(b)
	d, _ := load(b, rules.KindDomain, officialDomain).Domain("m2osw.com", "en.m2osw.com")
	for _, c := range []struct{ name, script, url string }{
		{"no rules", "", "http://www.m2osw.com/here/page"},
		{"any protocol", v.WebsiteScripts["any"], "http://www.m2osw.com/here/page"},
		{"language in path", v.WebsiteScripts["lang"], "http://www.m2osw.com/en/here/page"},
		{"query", v.WebsiteScripts["page"], "http://www.m2osw.com/list?page=3&order=desc"},
		{"three places", officialSite, "http://en.m2osw.com/"},
	} {
		s := new(rules.Site)
		if c.script != "" {
			s = site(b, c.script)
		}
		u := parse(b, c.url)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Match(u, d)
			}
		})
		b.Run(c.name+", canonical", func(b *testing.B) {
			m, _ := s.Match(u, d)
			b.ReportAllocs()
			for b.Loop() {
				_ = m.Canonical()
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, rules.KindDomain, fourRules)
	}
}

func BenchmarkLoad(b *testing.B) {
	s := compile(b, rules.KindDomain, fourRules)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rules.Load(rules.KindDomain, s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHostile is about the worst that a script within the limits can do to one request.
func BenchmarkHostile(b *testing.B) {
	rule := func(name string) string {
		return name + ` { path required x = "` + strings.Repeat("(a?){400}", 4) + `b"; }` + "\n"
	}
	var script strings.Builder
	for i := range 10 {
		script.WriteString(rule("r" + string(rune('a'+i))))
	}
	compiled, _, err := rules.Compile(rules.KindWebsite, script.String())
	if err != nil {
		b.Fatal(err)
	}
	s, err := rules.NewSite(&linkfoldv1.Website{Rules: compiled})
	if err != nil {
		b.Fatal(err)
	}
	u := rules.URL{Scheme: "http", Path: "/" + strings.Repeat("a", 80)}
	b.ReportAllocs()
	for b.Loop() {
		s.Match(u, rules.WebsiteKey("example.org"))
	}
}
