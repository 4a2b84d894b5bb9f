package script_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"linkfold/redirector/rules/script"
)

func TestStrings(t *testing.T) {
	for typed, want := range map[string]string{
		`"w{1,4}\."`:       `w{1,4}\.`,
		`"\\."`:            `\.`,
		`'a"b'`:            `a"b`,
		`"a'b\"\'"`:        `a'b"'`,
		`"\n\t\r\a\f\v"`:   "\n\t\r\a\f\v",
		`"\101\x41\u00e9"`: "AAé",
		`"\b\d\?\/\z"`:     `\b\d\?\/\z`,
		`"\1\12\8\400"`:    `\1\12\8\400`,
		`"\x4\x{41}\u12"`:  `\x4\x{41}\u12`,
		`"/* no */ // no"`: `/* no */ // no`,
		`""`:               ``,
	} {
		s, err := script.Parse(script.Domain, "a { required b = "+typed+"; }")
		if err != nil {
			t.Errorf("%s: %v", typed, err)
		} else if got := s.Rules[0].Vars[0].Regex; got != want {
			t.Errorf("%s is read as %q, want %q", typed, got, want)
		}
	}
}

func TestPositions(t *testing.T) {
	for source, want := range map[string]string{
		"main { };":                               `parsing error: expected a variable, found an empty list (line 1, column 8)`,
		"main {\n  required host \"x\";\n}":       `parsing error: expected "=", found a string (line 2, column 17)`,
		"a {\r\n\r\n\r? }":                        `parsing error: unexpected character '?' (line 4, column 1)`,
		"/* é\n */ // ü\r a { required b = 'ä' }": `parsing error: expected ";", found "}" (line 3, column 23)`,
		"a { required b = 'x'; } a { required c = 'x'; required q::d = 'x'; optional domain::c = 'y'; }": `found two rules named "a" (line 1, column 25)
incompatible qualified name "q": use canonalize (or global) for the official position, and one of domain, website, site, path, query, options, extension (line 1, column 56)
found two variables named "domain::c" (line 1, column 77)`,
		"a { required b = flag('x'":       `parsing error: expected ")", found the end of the script (line 1, column 26)`,
		"a { required b = website('x'); ": `parsing error: expected ",", found ")" (line 1, column 29)`,
		"flag { required b = 'x'; }":      `parsing error: "flag" is a keyword and cannot be a name (line 1, column 1)`,
		"a { required b:c = 'x'; }":       `parsing error: unexpected character ':' (line 1, column 15)`,
		"a { required b = 'x'; } };":      `parsing error: expected the name of a rule, found "}" (line 1, column 25)`,
	} {
		_, err := script.Parse(script.Domain, source)
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", source, err, want)
		}
	}
}

// What a grammar accepts beyond the published vectors.
func TestAccepted(t *testing.T) {
	for _, c := range []struct {
		kind   script.Kind
		source string
		names  string
	}{
		{script.Domain, "a { required port = 'x'; optional path = 'y'; required namespace = 'z'; }", "port path namespace"},
		{script.Domain, "\ufeffnamespace { namespace global { optional domain::x = 'y'; } required z = 'z'; }", "global::domain::x z"},
		{script.Domain, "a { required canonicalize::b = 'x'; };;"[:37], "canonicalize::b"},
		{script.Website, "a { path required b = 'x'; optional path::c = 'y'; query optional query::b = 'z'; }", "b path::c query::b"},
		{script.Website, "a { namespace canonalize { query optional l = flag('x'); }; port = '1'; protocol = 'any'; optional extension::l = 'y' ; optional domain::l = 'z'; }",
			"canonalize::l port protocol extension::l domain::l"},
	} {
		s, err := script.Parse(c.kind, c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		var names []string
		for _, v := range s.Rules[0].Vars {
			names = append(names, v.Qualified())
		}
		if strings.Join(names, " ") != c.names {
			t.Errorf("%s: %q", c.source, names)
		}
	}
	for _, source := range []string{
		"a { required path = 'x'; }", "query { port = '1'; }", "a { path protocol = 'x'; }", "a { namespace global { port = '1'; } }",
		"a { path = 'x'; }", "a { port = flag('1'); }", "a { optional canonalize::l = 'x'; query optional canonalize::l = 'y'; }",
	} {
		if _, err := script.Parse(script.Website, source); err == nil {
			t.Errorf("%s is accepted", source)
		}
	}
}

// FuzzParse: parsing ends without panic; errors have a position within the script; what parses can be printed.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("../testdata/snap_rules.json")
	if err != nil {
		f.Fatal(err)
	}
	var vectors struct {
		DomainScripts  map[string]string         `json:"domain_scripts"`
		WebsiteScripts map[string]string         `json:"website_scripts"`
		Errors         []struct{ Script string } `json:"compile_errors"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		f.Fatal(err)
	}
	for _, source := range vectors.DomainScripts {
		f.Add(source, false)
	}
	for _, source := range vectors.WebsiteScripts {
		f.Add(source, true)
	}
	for _, c := range vectors.Errors {
		f.Add(c.Script, false)
	}
	f.Fuzz(func(t *testing.T, source string, website bool) {
		kind := script.Domain
		if website {
			kind = script.Website
		}
		s, err := script.Parse(kind, source)
		if err == nil {
			if printed, err := json.Marshal(s); err != nil || len(s.Rules) == 0 || !json.Valid(printed) {
				t.Fatalf("%v, printed as %s", err, printed)
			}
			return
		}
		lines := 1 + strings.Count(source, "\n") + strings.Count(source, "\r")
		for _, one := range err.(script.Errors) {
			if one.Line < 1 || one.Line > lines || one.Column < 1 || one.Column > len(source)+1 || one.Message == "" {
				t.Fatalf("error at an impossible place: %v", one)
			}
		}
	})
}
