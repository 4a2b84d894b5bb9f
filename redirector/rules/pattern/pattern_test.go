package pattern_test

import (
	"regexp"
	"strings"
	"testing"

	"linkfold/redirector/rules/pattern"
)

func TestBounded(t *testing.T) {
	for _, c := range []struct {
		expression, slash string
		ends, empty       bool // with "."
	}{
		{`(en|fr|de)`, `en/ fr/`, false, false},
		{`(en|fr|de)/`, `en/ de/`, false, false},
		{`(en|english)`, `en/ english/`, false, false},
		{`a/|b`, `a/ b/`, false, false},
		{`[a/]`, `/ a/ // `, false, false},
		{`w{1,4}\.`, `w./ wwww./`, true, false},
		{`(w{1,4}\.|)`, `w./`, true, true},
		{`x*`, `x/ xx/`, false, true},
		{`(a/)*`, `a/ a/a/`, false, true},
		{`(a\.)*`, `a./`, true, true},
		{`(a/){0,2}`, `a/ a/a/`, false, true},
		{`a{0,2}`, `a/ aa/`, false, true},
		{`a?`, `a/`, false, true},
		{`(?i)en`, `en/ EN/`, false, false},
		{`.+`, `a/ a.b/ a//`, false, false},
		{`\.`, `./`, true, false},
		{`b?\.?`, `b/ ./ b./`, false, true},
		{`blog$`, `blog/`, false, false},
		{`^blog(/|$)`, `blog/`, false, false},
		{`(a|b/)$`, `a/ b/`, false, false},
		{`[.]`, `./`, true, false},
	} {
		p, err := pattern.Parse(c.expression)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		if p.EndsIn('.') != c.ends || p.MatchesEmpty() != c.empty {
			t.Errorf("%s: ends in a dot %v, empty %v", c.expression, p.EndsIn('.'), p.MatchesEmpty())
		}
		re := regexp.MustCompile(`^(?:` + p.Bounded('/', `/`) + `)$`)
		for text := range strings.FieldsSeq(c.slash) {
			if !re.MatchString(text) {
				t.Errorf("%s, bounded %s, does not match %q", c.expression, re, text)
			}
		}
		for _, text := range []string{"e", "en", "fr", "w."} {
			if re.MatchString(text) {
				t.Errorf("%s, bounded %s, matches %q", c.expression, re, text)
			}
		}
	}
	if p, _ := pattern.Parse(`|\A|\z`); p.Bounded('/', `/`) != "" {
		t.Errorf("nothing, bounded: %s", p.Bounded('/', `/`))
	}
}

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		expression string
		size       int
		all, upper bool
	}{
		{`abc`, 3, false, false},
		{`x{1000}`, 1000, false, false},
		{`(x{10}){10}`, 100, false, false},
		{`x{2,4}`, 6, false, false},
		{`x{3,}`, 4, false, false},
		{`.*`, 2, true, false},
		{`(?s).*`, 2, true, false},
		{`WWW\.`, 4, false, true},
		{`(?i)WWW\.`, 4, false, false},
		{`[A-Z]+`, 2, false, false},
		{`A|b`, 1, false, false},
		{`Ab|Cd`, 5, false, true},
	} {
		p, err := pattern.Parse(c.expression)
		if err != nil {
			t.Fatal(err)
		}
		if p.Size() != c.size || p.MatchesAll() != c.all || p.NeedsUpper() != c.upper {
			t.Errorf("%s: size %d, matches all %v, needs upper case %v", c.expression, p.Size(), p.MatchesAll(), p.NeedsUpper())
		}
	}
}

// FuzzPattern: an expression means the same after captures are taken out, and its bounded form matches what it matches, with the boundary.
func FuzzPattern(f *testing.F) {
	for _, expression := range []string{`(en|fr)\.`, `w{1,4}`, `[^/]+`, `(?i)a(?-i:B)`, `a*?b+?`, `(?s).`, `(?m)^a$`, `\bx\B`, `(?P<n>a)|`, `\d\W\pL`, `a/|b`, `[a/]`} {
		f.Add(expression, "en.")
		f.Add(expression, "a/b\nAb")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		p, err := pattern.Parse(expression)
		if err != nil || p.Size() > 5000 || len(text) > 1000 {
			return
		}
		original, err := regexp.Compile(`^(?:` + expression + `)$`)
		if err != nil {
			return // it closes a group of its own, or is deeper than the limit by one
		}
		printed := regexp.MustCompile(p.Whole())
		if original.MatchString(text) != printed.MatchString(text) {
			t.Fatalf("%s is printed as %s, and %q matches only one", expression, printed, text)
		}
		if printed.NumSubexp() != 0 {
			t.Fatalf("%s has captures", printed)
		}
		if printed.MatchString("") && !p.MatchesEmpty() {
			t.Fatalf("%s matches nothing", printed)
		}
		if text == "" || !printed.MatchString(text) {
			return
		}
		if p.EndsIn('/') && !strings.HasSuffix(text, "/") {
			t.Fatalf("%s ends in a slash, yet matches %q", printed, text)
		}
		if strings.ContainsAny(expression, `^$\(`) {
			return // assertions look at what follows, which the boundary changes
		}
		bounded := regexp.MustCompile(`^(?:` + p.Bounded('/', `/`) + `)$`)
		if !bounded.MatchString(text+"/") && !bounded.MatchString(text) {
			t.Fatalf("%s, bounded %s, does not match %q", printed, bounded, text)
		}
	})
}
