package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"linkfold/redirector/rules"
)

// variables writes a rule with n variables of one expression.
func variables(name, expression string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s {", name)
	for i := range n {
		fmt.Fprintf(&b, " optional v%d = flag(\"%s\");", i, expression)
	}
	b.WriteString(" }\n")
	return b.String()
}

// manyRules writes n rules of one variable.
func manyRules(expression string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(variables(fmt.Sprintf("r%d", i), expression, 1))
	}
	return b.String()
}

// full repeats text until a script is as long as it may be.
func full(head, text, tail string) string {
	return head + strings.Repeat(text, (64<<10-len(head)-len(tail))/len(text)) + tail
}

// Every script that would cost more than its text is worth is refused, and the error says by which limit.
func TestHostileScripts(t *testing.T) {
	one := func(expression string) string { return variables("a", expression, 1) }
	for name, c := range map[string]struct{ source, want string }{
		"long script":         {full("", "// comment\n", "") + strings.Repeat(" ", 100), "script too long"},
		"expression of 64 K":  {full(`a { optional x = flag("`, "x{1000}", `"); }`), "not valid: it is 6"},
		"rules":               {strings.Repeat("a{", 100_000), "script too long"},
		"129 rules":           {manyRules("a", 129), "parsing error: too many rules: at most 128"},
		"rules of one letter": {full("", "a{required b='c';}", ""), "parsing error: too many rules"},
		"33 variables":        {variables("a", "x", 33), "parsing error: too many variables: at most 32"},
		"braces":              {full("", "a{", ""), "parsing error"},
		"nested namespaces":   {full("a {", "namespace canonalize { ", ""), "parsing error: namespace blocks inside namespace blocks"},
		"deep qualified name": {full("a { required ", "a::", "b = \"\"; }"), "incompatible qualified name"},
		"repeat":              {one("x{1001}"), "not valid: invalid repeat count"},
		"nested repeats":      {one("((x{10}){10}){10}"), ""},
		"deeply nested":       {one("((((x{10}){10}){10}){10}){10}"), "not valid: invalid repeat count"},
		"products":            {one(strings.Repeat("(x{100}){10}", 6)), `rule "a" is too large`},
		"repeats":             {variables("a", "x{1000}", 6), `rule "a" is too large`},
		"repeats in rules":    {manyRules("x{1000}", 51), "script too large"},
		"nested stars":        {one(strings.Repeat("(", 300) + "x" + strings.Repeat(")*", 300)), ""},
		"nesting":             {one(strings.Repeat("(", 511) + strings.Repeat(")", 511)), ""},
		"Unicode classes":     {one(strings.Repeat(`\p{L}`, 9)), "not valid: it has 9 Unicode classes"},
		"more of them":        {manyRules(strings.Repeat(`\p{L}\P{Greek}`, 4), 128), "script too large"},
		"folding":             {one(`(?i)[\x{100}-\x{10000}]`), "not valid: (?i) works with ASCII"},
		"folding inside":      {one(`(?s-m:a(?Ui:ä))`), "not valid: (?i) works with ASCII"},
		"wide classes":        {manyRules("[^/]+[^a]+[^b]{1,9}", 128), ""},
		"alternatives":        {one(strings.Repeat("a|", 500)), ""},
		"look-ahead":          {one(`(?=a)b`), "regular expression \"(?=a)b\" is not valid"},
		"look-behind":         {one(`(?<!a)b`), "regular expression \"(?<!a)b\" is not valid"},
		"back reference":      {one(`(a)\1`), `regular expression "(a)\1" is not valid`},
		"open string":         {`a { required b = "x`, "parsing error: string without closing"},
		"string over lines":   {"a { required b = \"x\ny\"; }", "parsing error: string without closing"},
		"open comment":        {`a { /* required b = "x"; }`, "parsing error: comment without */"},
		"no UTF-8":            {"a { required b = \"\xff\"; }", "parsing error: the script is not valid UTF-8"},
		"stray character":     {"a { required b = \"x\"; } $", `parsing error: unexpected character '$'`},
		"empty":               {" // nothing\n", "parsing error: the script has no rule"},
		"half a character":    {`a { required b = "\uD800"; }`, `parsing error: \uD800 is not a character`},
		"host text":           {"a { required b = website(\"x\", \"a/\\r\\nb\"); }", "website name"},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, _, err := rules.Compile(rules.KindDomain, c.source)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("error %.300v, want %q", err, c.want)
			case err == nil:
				r, err := rules.Load(rules.KindDomain, compiled)
				if err != nil {
					t.Fatal(err)
				}
				r.Domain("example.org", strings.Repeat("x", 2000)+".example.org")
			}
		})
	}
}

// A site answers long and odd requests; paths and values beyond the limit match no expression.
func TestLongRequests(t *testing.T) {
	s := site(t, `a { path required x = "[a-z/]*z"; query optional y = flag(".*"); } b { protocol = "any"; }`)
	long := strings.Repeat("z", 3000)
	m, ok := s.Match(rules.URL{Scheme: "http", Path: "/" + long, Query: "y=" + long + strings.Repeat("&n", 3000)}, rules.WebsiteKey("example.org"))
	if !ok || m.Rule != "b" || m.Rest != long || len(m.UnknownQuery) != 2 {
		t.Errorf("%v: rule %q, unknown %q", ok, m.Rule, m.UnknownQuery)
	}
	m, ok = s.Match(rules.URL{Scheme: "http", Path: "/z", Query: "y=" + long}, rules.WebsiteKey("example.org"))
	if !ok || m.Rule != "a" || len(m.UnknownQuery) != 1 {
		t.Errorf("%v: rule %q, unknown %q", ok, m.Rule, m.UnknownQuery)
	}
}
