package rules

import (
	"fmt"
	"strings"

	"linkfold/redirector/rules/script"
)

// Warning is something in a script that works, though perhaps not as meant.
type Warning struct {
	Line, Column int
	Message      string
}

// String gives the message first and the position last, as script.Error does.
func (w Warning) String() string {
	return fmt.Sprintf("%s (line %d, column %d)", w.Message, w.Line, w.Column)
}

// lint finds the warnings of a script without errors, in the order of its text.
func (c *compiler) lint(s *script.Script) []Warning {
	var all []Warning
	warn := func(p script.Position, format string, args ...any) {
		all = append(all, Warning{p.Line, p.Column, fmt.Sprintf(format, args...)})
	}
	covered := ""
	for _, r := range s.Rules {
		if covered != "" {
			warn(r.Position, "rule %q is never reached: rule %q before it matches everything", r.Name, covered)
		}
		for _, v := range r.Vars {
			if text := c.doubt(v); text != "" {
				warn(v.Position, "%s", text)
			}
		}
		if covered == "" && c.matchesAll(r) {
			covered = r.Name
		}
	}
	return all
}

// doubt is what to say about one variable; "" for nothing.
func (c *compiler) doubt(v *script.Var) string {
	p := c.patterns[v]
	scope := v.Scope()
	switch {
	case v.Type == script.TypeFlag && v.Required && v.Second != nil:
		return fmt.Sprintf("the default of %q is never used, because it is required", v.Name) // B10
	case v.Type == script.TypeGroup && v.Required && v.Part != script.PartProtocol && v.Part != script.PartPort && p.MatchesEmpty():
		return fmt.Sprintf("required %q also matches nothing at all", v.Name)
	case v.Part == script.PartSubdomain && p.NeedsUpper():
		return fmt.Sprintf("%q never matches: host names are compared in lower case", v.Name)
	case v.Type == script.TypeWebsite && !v.Required && v.Part == script.PartPath && !p.MatchesEmpty():
		return fmt.Sprintf("pages without %q count as that website, too; for a website of its own put a rule with required before", v.Name) // B5
	case v.Place() == "extension" && v.Type != script.TypeFlag:
		return fmt.Sprintf("%q is an extension, which names no website: it is treated like flag()", v.Name)
	case v.Part == script.PartPath && (scope == "query" || scope == "options"):
		return fmt.Sprintf("%q is looked for in the path: write \"query\" before required or optional for a query parameter", v.Qualified())
	case v.Part == script.PartQuery && (scope == "path" || scope == "extension"):
		return fmt.Sprintf("%q is looked for in the query, whatever its namespace says", v.Qualified())
	}
	return ""
}

// matchesAll tells whether a rule obviously matches every URL, so that later rules are never reached.
func (c *compiler) matchesAll(r *script.Rule) bool {
	anything := c.kind == KindWebsite
	for _, v := range r.Vars {
		p := c.patterns[v]
		switch {
		case v.Part == script.PartProtocol && strings.EqualFold(v.Regex, "any"):
		case v.Part == script.PartProtocol || v.Part == script.PartPort:
			return false
		case v.Part == script.PartSubdomain && p.MatchesAll():
			anything = true
		case v.Required && (v.Part == script.PartQuery || v.Place() == "extension" || !p.MatchesEmpty() || p.Nothing() != ""):
			return false
		}
	}
	return anything
}
