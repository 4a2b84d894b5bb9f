package rules_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"linkfold/redirector/rules"
	"linkfold/redirector/rules/script"
	"linkfold/schema/linkfoldv1"
)

// FuzzMatch: whatever compiles loads; compiling and matching are deterministic; no option holds what its expression does not match; the
// canonical URL of a canonical URL is itself, without a conflict.
func FuzzMatch(f *testing.F) {
	v := loadVectors(f)
	for _, c := range v.DomainCases {
		f.Add(v.DomainScripts[c.Script], v.WebsiteScripts["lang"], "http://"+c.Host+"/en/x?q=1")
	}
	for _, c := range v.WebsiteCases {
		f.Add(v.DomainScripts["www"], v.WebsiteScripts[c.Script], c.URL)
	}
	for _, c := range v.CanonicalURLs {
		for _, u := range c.URLs {
			f.Add(officialDomain, officialSite, u)
		}
	}
	f.Fuzz(func(t *testing.T, domainScript, websiteScript, raw string) {
		domain := fuzzCompile(t, rules.KindDomain, domainScript)
		website := fuzzCompile(t, rules.KindWebsite, websiteScript)
		u, err := rules.ParseURL(raw)
		if err != nil {
			return
		}
		checkURL(t, domain, website, u)
	})
}

// fuzzCompile gives nil for scripts that are refused.
func fuzzCompile(t *testing.T, kind rules.Kind, source string) *linkfoldv1.RuleScript {
	first, _, err := rules.Compile(kind, source)
	second, _, again := rules.Compile(kind, source)
	if !proto.Equal(first, second) || (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
		t.Fatalf("compiled twice, differently: %v, %v", err, again)
	}
	if err != nil {
		var all script.Errors
		if !errors.As(err, &all) || len(all) == 0 || all[0].Line < 1 || all[0].Column < 1 {
			t.Fatalf("error without position: %v", err)
		}
		return nil
	}
	if _, err := rules.Load(kind, first); err != nil {
		t.Fatalf("compiles, does not load: %v", err)
	}
	return first
}

// checkURL matches a URL by a domain script (nil: the host is the website key) and a website script (nil: none), and checks what is promised.
// It tells whether the URL matched.
func checkURL(t *testing.T, domain, website *linkfoldv1.RuleScript, u rules.URL) bool {
	t.Helper()
	matcher := newMatcher(t, domain, website)
	m, ok := matcher.match(u)
	if !ok {
		return false
	}
	again, _ := matcher.match(u)
	if describe(m) != describe(again) {
		t.Fatalf("matched twice, differently:\n%s\n%s", describe(m), describe(again))
	}
	for _, o := range m.Options {
		if !explained(domain, o) && !explained(website, o) {
			t.Fatalf("option %s=%q is no match of its expression", o.Name, o.Value)
		}
	}
	checkCanonical(t, matcher, m)
	return true
}

func checkCanonical(t *testing.T, matcher matcher, m rules.Match) {
	t.Helper()
	canonical := m.Canonical()
	next, err := rules.ParseURL(canonical)
	if err != nil {
		t.Fatalf("canonical URL %q does not parse", canonical)
	}
	n, ok := matcher.match(next)
	if !ok {
		t.Fatalf("canonical URL %q does not match", canonical)
	}
	if n.Canonical() != canonical || n.Conflict || len(n.UnknownQuery) > 0 {
		t.Fatalf("canonical URL %q of %s has another, %q, conflict %v, unknown query %q",
			canonical, describe(m), n.Canonical(), n.Conflict, n.UnknownQuery)
	}
	if n.Website != m.Website || n.Rest != m.Rest || describeOptions(n.Options) != describeOptions(m.Options) {
		t.Fatalf("canonical URL %q answers otherwise:\n%s\n%s", canonical, describe(m), describe(n))
	}
}

// matcher is the whole way of a URL.
type matcher struct {
	domain *rules.Rules
	site   *rules.Site
}

func newMatcher(t *testing.T, domain, website *linkfoldv1.RuleScript) matcher {
	t.Helper()
	var m matcher
	var err error
	if domain != nil {
		if m.domain, err = rules.Load(rules.KindDomain, domain); err != nil {
			t.Fatal(err)
		}
	}
	if m.site, err = rules.NewSite(&linkfoldv1.Website{Rules: website}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m matcher) match(u rules.URL) (rules.Match, bool) {
	domain, ok := rules.Registrable(u.Host)
	if !ok {
		return rules.Match{}, false
	}
	if m.domain == nil {
		return m.site.Match(u, rules.WebsiteKey(u.Host))
	}
	d, ok := m.domain.Domain(domain, u.Host)
	if !ok {
		return rules.Match{}, false
	}
	return m.site.Match(u, d)
}

func describe(m rules.Match) string {
	return strings.Join([]string{m.Rule, m.SiteKey, m.Rest, describeOptions(m.Options), strings.Join(m.UnknownQuery, ","), m.Canonical(),
		strings.Join(m.PageKey(), "|"), strings.Join(m.BaseKey(), "|")}, " ; ")
}

func describeOptions(o rules.Options) string {
	var b strings.Builder
	for _, one := range o {
		b.WriteString(one.Name + "=" + one.Value + ",")
	}
	return b.String()
}

// explained tells whether an option is the second string of a variable of its name, or a match of its expression less its separator.
func explained(s *linkfoldv1.RuleScript, o rules.Option) bool {
	for _, r := range s.GetRules() {
		for _, v := range r.GetVariables() {
			if v.GetName() != o.Name {
				continue
			}
			second := v.GetSecond()
			whole := regexp.MustCompile(`^(?:` + v.GetPattern() + `)$`)
			if v.Second != nil && (strings.EqualFold(o.Value, second) || strings.EqualFold(o.Value+".", second) || o.Value+"/" == second) ||
				whole.MatchString(o.Value) || whole.MatchString(o.Value+".") || whole.MatchString(o.Value+"/") || whole.MatchString("."+o.Value) {
				return true
			}
		}
	}
	return false
}
