package rules_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linkfold/redirector/rules"
	"linkfold/schema/linkfoldv1"
)

// What the rulings decide beyond the published vectors, each with the ruling that it shows.
func TestDomainSemantics(t *testing.T) {
	for name, c := range map[string]struct{ script, host, want string }{
		"required flag, its default unused (B10)":  {`a { required l = flag("(en|fr)\.", "en"); }`, "fr.example.org", "a example.org example.org l=fr,"},
		"required flag missing (B10)":              {`a { required l = flag("(en|fr)\.", "en"); }`, "example.org", ""},
		"pattern that matches nothing too (B5)":    {`a { required h = website("(w{1,4}\.|)", "www"); }`, "example.org", "a www.example.org www.example.org h=www,"},
		"optional website is left out bare (B22)":  {`a { required h = "[a-z]+\."; optional www = website("w\.", "www"); }`, "b.example.org", "a b.www.example.org b.example.org h=b,www=www,"},
		"optional group":                           {`a { optional h = "[a-z]+\."; }`, "example.org", "a example.org example.org "},
		"dots left out everywhere (B7)":            {`a { required h = "[a-z]+"; optional v = flag("[0-9]+", "1"); }`, "b.22.example.org", "a b.example.org b.example.org h=b,v=22,"},
		"alternatives without dots (B7)":           {`a { required h = "b|c\.|"; required d = "d"; }`, "c.d.example.org", "a c.d.example.org c.d.example.org h=c,d=d,"},
		"glued (B6)":                               {`a { required x = "(test|debug)-"; required y = website("srv[0-9]\.", "server"); }`, "test-srv1.example.org", "a test-server.example.org test-server.example.org x=test-,y=server,"},
		"an earlier rule without dots comes first": {`a { required h = "[a-z]+"; } b { required w = "www\."; }`, "www.example.org", "a www.example.org www.example.org h=www,"},
		"single quotes, namespaces (B2, B9)":       {`a { namespace canonalize { optional domain::l = flag('en\.', ''); } required h = 'b\.'; }`, "EN.B.example.org.", "a b.example.org b.example.org l=en,h=b,"},
		"not below the domain":                     {`a { optional h = ".*"; }`, "badexample.org", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := load(t, rules.KindDomain, c.script).Domain("Example.org", c.host)
			got := ""
			if ok {
				got = strings.Join([]string{m.Rule, m.Website, m.Bare, describeOptions(m.Options)}, " ")
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestWebsiteSemantics(t *testing.T) {
	const language = `a { path optional canonalize::language = flag('(en|fr|de)', 'en'); path optional extension::language = flag('(en|fr|de)'); query optional options::language = flag('en|fr|de|es'); }`
	for name, c := range map[string]struct{ script, url, want string }{
		"segment boundary (B15)":            {`a { required x = "snap/website"; }`, "http://w.example.org/snap/websites", ""},
		"glued segments":                    {`a { required x = "test-"; required y = "server"; }`, "http://w.example.org/test-server/p", "http://w.example.org/test-server|p|x=test-,y=server,||http://w.example.org/test-server/p|false"},
		"glued, no boundary":                {`a { required x = "test-"; required y = "server"; }`, "http://w.example.org/test-servers/p", ""},
		"glued, the last left out":          {`a { required x = "test-"; optional y = "server"; }`, "http://w.example.org/test-/p", "http://w.example.org/test-|p|x=test-,||http://w.example.org/test-/p|false"},
		"glued flag":                        {`a { required l = flag("(en|fr)-"); required y = "server"; }`, "http://w.example.org/en-server", "http://w.example.org/server||l=en-,y=server,||http://w.example.org/en-server/|false"},
		"case counts in paths":              {`a { required x = "blog"; }`, "http://w.example.org/Blog", ""},
		"protocol of any case (B12)":        {`a { protocol = "HTTPS"; }`, "https://w.example.org/", "https://w.example.org/||||https://w.example.org/|false"},
		"canonical is http (B13)":           {`a { protocol = "HTTP|HTTPS"; }`, "https://w.example.org/p", "https://w.example.org/|p|||http://w.example.org/p|false"},
		"canonical of another port":         {`a { port = "443|8080"; }`, "https://w.example.org/p", "https://w.example.org/|p|||https://w.example.org/p|false"},
		"website in the query (B5)":         {`a { query optional s = website("x[0-9]", "x1"); query required g = "[a-z ]+"; }`, "http://w.example.org/?g=b+c&s=x2", "http://w.example.org/?g=b+c&s=x1||s=x1,g=b c,||http://w.example.org/?s=x1&g=b+c|false"},
		"value that no rule takes (B16)":    {`a { query optional page = flag("[0-9]+", "1"); }`, "http://w.example.org/?page=x&q=1&todo_page=2&utm_source=s&gclid=1", "http://w.example.org/||page=1,|page|http://w.example.org/|false"},
		"repeated name":                     {`a { query optional n = flag("[0-9]+"); }`, "http://w.example.org/?n=1&n=2&x&x", "http://w.example.org/||n=1,|n,x|http://w.example.org/?n=1|false"},
		"other path beats sub-domain (B17)": {`a { path optional language = flag("en|fr"); query optional l = flag("x"); }`, "http://w.example.org/fr/p?l=x", "http://w.example.org/|p|language=fr,l=x,||http://w.example.org/fr/p?l=x|false"},
		"extension":                         {language, "http://w.example.org/a/page.html.fr", "http://w.example.org/|a/page.html|language=fr,||http://w.example.org/fr/a/page.html|false"},
		"extension in the middle":           {language, "http://w.example.org/page.de.html", "http://w.example.org/|page.html|language=de,||http://w.example.org/de/page.html|false"},
		"a page's name is no extension":     {language, "http://w.example.org/x/fr", "http://w.example.org/|x/fr|language=en,||http://w.example.org/en/x/fr|false"},
		"directory index stays alone":       {language, "http://w.example.org/index.html", "http://w.example.org/|index.html|language=en,||http://w.example.org/en/index.html|false"},
		"value for the query alone":         {language, "http://w.example.org/p?lang=es", "http://w.example.org/|p|language=es,||http://w.example.org/p?lang=es|false"},
		"two spellings":                     {language, "http://w.example.org/p?language=fr&lang=de", "http://w.example.org/|p|language=fr,|lang|http://w.example.org/fr/p|false"},
		"conflict (B17)":                    {language, "http://w.example.org/fr/p.de?lang=es&utm_id=1", "http://w.example.org/|p|language=fr,||http://w.example.org/fr/p|true"},
		"same value twice, no conflict":     {language, "http://w.example.org/fr/p.fr", "http://w.example.org/|p|language=fr,||http://w.example.org/fr/p|false"},
		"conflict that nothing can settle":  {`a { path required path::x = "[a-z]"; query required x = "[a-z]"; }`, "http://w.example.org/a?x=b", "http://w.example.org/a?x=b||x=a,||http://w.example.org/a?x=b|false"},
		"official extension":                {`a { optional canonalize::extension::f = flag("pdf|html"); query optional f = flag("[a-z]+"); }`, "http://w.example.org/d/?f=pdf", "http://w.example.org/|d/|f=pdf,||http://w.example.org/d/index.html.pdf|false"},
		"extension that stays":              {`a { required s = "s"; optional extension::f = flag("pdf"); }`, "http://w.example.org/s/a.pdf", "http://w.example.org/s|a|s=s,f=pdf,||http://w.example.org/s/a.pdf|false"},
		"dot segments stay out of paths":    {`a { optional canonalize::v = flag("[^/]+"); query optional v = flag(".*"); }`, "http://w.example.org/?v=%252e%252E", "http://w.example.org/||v=%2e%2E,||http://w.example.org/?v=%252e%252E|false"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := rules.ParseURL(c.url)
			if err != nil {
				t.Fatal(err)
			}
			m, ok := site(t, c.script).Match(u, rules.WebsiteKey("w.example.org"))
			got := ""
			if ok {
				got = strings.Join([]string{m.SiteKey, m.Rest, describeOptions(m.Options), strings.Join(m.UnknownQuery, ","), m.Canonical(),
					map[bool]string{true: "true", false: "false"}[m.Conflict]}, "|")
			}
			if got != c.want {
				t.Errorf("\n%q, want\n%q", got, c.want)
			}
		})
	}
}

func TestWebsitePolicy(t *testing.T) {
	s, err := rules.NewSite(&linkfoldv1.Website{
		Rules:        compile(t, rules.KindWebsite, `a { query optional version = flag("[0-9]+", "1"); path optional size = flag("u"); }`),
		UnknownQuery: linkfoldv1.UnknownQuery_UNKNOWN_QUERY_PASS, AllowedQuery: []string{"x*", "*y", "z"}, QueryNames: map[string]string{"v": "version"},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Match(parse(t, "http://w.example.org/?v=2&x1=1&2y=1&z=1&utm_id=1&v=3"), rules.WebsiteKey("w.example.org"))
	if diff := cmp.Diff([][]string{{"v"}, {"utm_id", "v"}, {"version", "size"}}, [][]string{m.Known, m.UnknownQuery, m.Declared()}); diff != "" {
		t.Error(diff)
	}
	if value, declared := m.Variable("size"); value != "" || !declared {
		t.Errorf("size is %q, declared %v", value, declared)
	}
	if _, declared := m.Variable("v"); declared {
		t.Error("v is declared")
	}
	if s.Policy() != linkfoldv1.UnknownQuery_UNKNOWN_QUERY_PASS || new(rules.Site).Policy() != linkfoldv1.UnknownQuery_UNKNOWN_QUERY_NOT_FOUND {
		t.Error("wrong policy")
	}
	var none *rules.Site
	m, ok := none.Match(parse(t, "https://w.example.org:99/A/b?q=1&c=1"), rules.WebsiteKey("W.example.org"))
	if !ok || m.SiteKey != "https://w.example.org:99/" || m.Rest != "A/b" || m.Canonical() != "http://w.example.org:99/A/b" || len(m.UnknownQuery) != 1 {
		t.Errorf("website without rules: %+v", m)
	}
}

func TestRegistrable(t *testing.T) {
	for host, want := range map[string]string{
		"www.example.com": "example.com", "EXAMPLE.co.UK.": "example.co.uk", "a.b.example.github.io": "example.github.io", "com": "", "co.uk": "",
		"localhost": "", "a.unknown-suffix": "", "127.0.0.1": "", "[::1]": "", "::1": "", "": "", ".": "", "github.io": "", "a..com": "",
	} {
		if domain, ok := rules.Registrable(host); domain != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", host, domain, ok)
		}
	}
}

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]string{
		"www.example.com/x": "http://www.example.com/x", "example.com:8080?a=http://b": "http://example.com:8080/?a=http://b", "HTTPS://Example.com:443/../ä": "https://example.com/%C3%A4",
		"http:example.com": "http://example.com/", "ftp://example.com/": "", "": "", "http://": "", "https:8080/x": "http://https:8080/x",
	} {
		u, err := rules.ParseURL(raw)
		if got := u.String(); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q: %s, %v", raw, got, err)
		}
	}
}

// A saved script of another compiler is compiled from its source; a damaged one does not load.
func TestLoadVersions(t *testing.T) {
	const source = `a { required h = "[a-z]+\."; }`
	old := &linkfoldv1.RuleScript{Source: source, Compiler: 99, Rules: []*linkfoldv1.CompiledRule{{Name: "stale", Patterns: []string{"("}}}}
	r, err := rules.Load(rules.KindDomain, old)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := r.Domain("example.org", "b.example.org"); !ok || m.Rule != "a" {
		t.Error("the old form was used")
	}
	for name, damage := range map[string]func(*linkfoldv1.RuleScript){
		"bad expression": func(s *linkfoldv1.RuleScript) { s.Rules[0].Patterns[0] = "(" },
		"no captures":    func(s *linkfoldv1.RuleScript) { s.Rules[0].Patterns[0] = "a" },
		"no expressions": func(s *linkfoldv1.RuleScript) { s.Rules[0].Patterns = nil },
		"wrong part": func(s *linkfoldv1.RuleScript) {
			s.Rules[0].Variables[0].Part = linkfoldv1.VariablePart_VARIABLE_PART_PATH
		},
		"no part": func(s *linkfoldv1.RuleScript) { s.Rules[0].Variables[0].Part = 0 },
		"huge":    func(s *linkfoldv1.RuleScript) { s.Rules[0].Variables[0].Pattern = strings.Repeat("x{1000}", 20) },
	} {
		s := compile(t, rules.KindDomain, source)
		damage(s)
		if _, err := rules.Load(rules.KindDomain, s); err == nil {
			t.Errorf("%s: loads", name)
		}
	}
}

func TestWarnings(t *testing.T) {
	want := map[string]string{
		`a { optional x = ".*"; } b { required y = "y\."; }`:                  `rule "b" is never reached: rule "a" before it matches everything (line 1, column 26)`,
		`a { required x = "WWW\."; }`:                                         `"x" never matches: host names are compared in lower case (line 1, column 14)`,
		`a { protocol = "any"; } b { port = "1"; }`:                           `rule "b" is never reached: rule "a" before it matches everything (line 1, column 25)`,
		`a { optional extension::x = "x"; required y = "y"; }`:                `"x" is an extension, which names no website: it is treated like flag() (line 1, column 14)`,
		`a { optional query::x = flag("x"); required y = "y"; }`:              `"query::x" is looked for in the path: write "query" before required or optional for a query parameter (line 1, column 14)`,
		`a { query required path::x = flag("x"); }`:                           `"path::x" is looked for in the query, whatever its namespace says (line 1, column 20)`,
		`a { optional x = flag("(x)", "y"); } b { required y = "(a|b)\."; }`:  "",
		`a { required path::x = website("^$", ""); } b { protocol = "any"; }`: "",
	}
	for source := range maps.Keys(want) {
		kind := rules.KindDomain
		if strings.Contains(source, "protocol") || strings.Contains(source, "::") {
			kind = rules.KindWebsite
		}
		_, warnings, err := rules.Compile(kind, source)
		var got []string
		for _, w := range warnings {
			got = append(got, w.String())
		}
		if err != nil || strings.Join(got, "\n") != want[source] {
			t.Errorf("%s: %v, %q", source, err, got)
		}
	}
}
