package rules

import (
	"fmt"
	"slices"

	"linkfold/redirector/rules/pattern"
	"linkfold/redirector/rules/script"
	"linkfold/schema/linkfoldv1"
)

// Compile reads a script and gives the form that is saved with it. The error is script.Errors: the first syntax error alone, or everything
// else that is wrong. Warnings are about scripts that work, though perhaps not as meant. Equal sources compile to equal forms.
func Compile(kind Kind, source string) (*linkfoldv1.RuleScript, []Warning, error) {
	s, err := script.Parse(kind, source)
	if s == nil {
		return nil, nil, err
	}
	c := compiler{kind: kind}
	if err != nil {
		// Names are wrong; the expressions are looked at all the same, so that everything is reported at once.
		c.errors = append(c.errors, err.(script.Errors)...)
	}
	out := &linkfoldv1.RuleScript{Source: source, Compiler: CompilerVersion}
	for _, r := range s.Rules {
		if c.budget.spent {
			break
		}
		out.Rules = append(out.Rules, c.rule(r))
	}
	if err := c.errors.Err(); err != nil {
		return nil, nil, err
	}
	return out, c.lint(s), nil
}

// compiler holds what accumulates over a script.
type compiler struct {
	kind     Kind
	budget   budget
	errors   script.Errors
	patterns map[*script.Var]*pattern.Pattern
	size     int // of the rules so far, as they load
}

func (c *compiler) rule(r *script.Rule) *linkfoldv1.CompiledRule {
	c.budget.rule = 0
	out := &linkfoldv1.CompiledRule{Name: r.Name}
	var positional []part
	for _, v := range r.Vars {
		p := c.pattern(r, v)
		if p == nil || c.budget.spent {
			continue
		}
		switch v.Part {
		case script.PartProtocol:
			out.Protocol = protocolExpression(v.Regex, p)
			continue
		case script.PartPort:
			out.Port = p.Whole()
			continue
		}
		compiled := variableForm(v, p)
		c.checkHostText(v)
		c.budget.keep(compiled.Pattern, v.RegexAt, &c.errors)
		out.Variables = append(out.Variables, compiled)
		if v.Place() == string(script.PartSubdomain) || v.Place() == string(script.PartPath) {
			positional = append(positional, part{p, v.Required})
		}
	}
	out.Patterns = c.expressions(positional)
	for _, text := range out.Patterns {
		c.budget.keep(text, r.Position, &c.errors)
	}
	c.verify(r, out)
	return out
}

// expressions are the patterns of a rule in the order in which they are tried; none when nothing is positional in a website rule.
func (c *compiler) expressions(parts []part) []string {
	var all []string
	switch {
	case c.kind == KindDomain:
		all = []string{strict(parts), lenient(parts)}
	case len(parts) > 0:
		all = []string{segments(parts), glued(parts)}
	}
	return slices.Compact(all)
}

// pattern checks a variable's expression; nil when it is not valid.
func (c *compiler) pattern(r *script.Rule, v *script.Var) *pattern.Pattern {
	source := v.Regex
	if v.Part == script.PartProtocol {
		source = foldedSource(source)
	}
	p, err := pattern.Parse(source)
	if err != nil {
		c.errors.Add(v.RegexAt, "regular expression %s is not valid: %v", shortened(v.Regex), err)
		return nil
	}
	c.budget.charge(p.Size()+2, r, v.RegexAt, &c.errors)
	if c.patterns == nil {
		c.patterns = map[*script.Var]*pattern.Pattern{}
	}
	c.patterns[v] = p
	return p
}

// shortened quotes an expression as it is, cut where it would flood a message.
func shortened(expression string) string {
	const most = 200
	if len(expression) > most {
		return fmt.Sprintf("\"%s…\"", expression[:most])
	}
	return `"` + expression + `"`
}

// verify does what loading will do, so that whatever is saved loads: joined expressions may be larger than their parts.
func (c *compiler) verify(r *script.Rule, saved *linkfoldv1.CompiledRule) {
	if c.budget.spent || len(c.errors) > 0 {
		return
	}
	loaded, err := loadRule(c.kind, saved)
	if err != nil {
		c.errors.Add(r.Position, "rule %q is too large: %v", r.Name, err)
		return
	}
	if c.size += loaded.size; c.size > sizeTolerance*MaxScriptSize {
		c.budget.spent = true
		c.errors.Add(r.Position, "script too large: its expressions compile to more than %d instructions", MaxScriptSize)
	}
}

// checkHostText refuses a website() string that cannot be part of a host name: it becomes part of the website key and of canonical URLs.
func (c *compiler) checkHostText(v *script.Var) {
	if v.Part == script.PartSubdomain && v.Type == script.TypeWebsite && !hostText(*v.Second) {
		c.errors.Add(v.SecondAt, "website name %q cannot be part of a host name: use letters, digits, hyphens and dots", *v.Second)
	}
}

func variableForm(v *script.Var, p *pattern.Pattern) *linkfoldv1.CompiledVariable {
	return &linkfoldv1.CompiledVariable{
		Name: v.Name, Namespace: v.Prefix(), Part: places[v.Place()], Kind: kinds[v.Type],
		Required: v.Required, Pattern: p.String(), Second: v.Second,
	}
}

var places = map[string]linkfoldv1.VariablePart{
	"subdomain": linkfoldv1.VariablePart_VARIABLE_PART_SUBDOMAIN,
	"path":      linkfoldv1.VariablePart_VARIABLE_PART_PATH,
	"query":     linkfoldv1.VariablePart_VARIABLE_PART_QUERY,
	"extension": linkfoldv1.VariablePart_VARIABLE_PART_EXTENSION,
}

var kinds = map[script.Type]linkfoldv1.VariableKind{
	script.TypeGroup:   linkfoldv1.VariableKind_VARIABLE_KIND_GROUP,
	script.TypeWebsite: linkfoldv1.VariableKind_VARIABLE_KIND_WEBSITE,
	script.TypeFlag:    linkfoldv1.VariableKind_VARIABLE_KIND_FLAG,
}
