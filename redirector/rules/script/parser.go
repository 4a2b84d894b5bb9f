package script

import "slices"

// Limits of a script's text. They bound what parsing costs and what the parse holds; the size of compiled expressions has limits of its own
// in package rules.
const (
	MaxBytes = 64 << 10
	MaxRules = 128
	MaxVars  = 32 // per rule
	MaxDepth = 1  // namespace blocks in namespace blocks
)

// reserved are the words of each grammar that cannot be the name of a rule or variable. As namespaces they can be used (path::x).
func reserved(kind Kind) []string {
	words := []string{"required", "optional", "website", "flag"}
	if kind == Website {
		words = append(words, "protocol", "port", "path", "query", "namespace")
	}
	return words
}

// parser is a recursive descent parser with one token of look-ahead. It stops at the first error, which it keeps.
type parser struct {
	kind     Kind
	reserved []string
	lexer    *lexer
	token    token
	err      *Error
}

// Parse reads a script. The error is Errors: the first syntax error alone, or all that is wrong with names.
func Parse(kind Kind, source string) (*Script, error) {
	if len(source) > MaxBytes {
		var all Errors
		all.Add(Position{1, 1}, "script too long: %d bytes, at most %d are allowed; shorten it or describe several hosts by one expression", len(source), MaxBytes)
		return nil, all.Err()
	}
	p := &parser{kind: kind, reserved: reserved(kind), lexer: newLexer(source)}
	p.advance()
	s := p.script()
	if p.err != nil {
		return nil, Errors{p.err}
	}
	return s, check(s)
}

func (p *parser) advance() {
	if p.err != nil {
		return
	}
	p.token, p.err = p.lexer.next()
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = syntaxError(p.token.Position, format, args...)
	}
}

func (p *parser) isMark(text string) bool {
	return p.err == nil && p.token.kind == tokenMark && p.token.text == text
}

func (p *parser) isWord(text string) bool {
	return p.err == nil && p.token.kind == tokenName && p.token.text == text
}

// mark takes a mark that must stand here.
func (p *parser) mark(text string) {
	if !p.isMark(text) {
		p.fail("expected %q, found %v", text, p.token)
		return
	}
	p.advance()
}

// script: rule+
func (p *parser) script() *Script {
	s := &Script{}
	for p.err == nil {
		if p.token.kind == tokenEnd {
			if len(s.Rules) == 0 {
				p.fail("the script has no rule")
			}
			break
		}
		if len(s.Rules) == MaxRules {
			p.fail("too many rules: at most %d are allowed; join rules by alternatives in their expressions", MaxRules)
			break
		}
		s.Rules = append(s.Rules, p.rule())
	}
	return s
}

// rule: name '{' item+ '}' [';']    (B8: the semicolon may be left out)
func (p *parser) rule() *Rule {
	r := &Rule{Position: p.token.Position}
	r.Name = p.plainName("the name of a rule")
	p.items(r, nil, 0)
	return r
}

// items: '{' item+ '}' [';'], the body of a rule or namespace block.
func (p *parser) items(r *Rule, namespace []string, depth int) {
	p.mark("{")
	if p.isMark("}") {
		p.fail("expected a variable, found an empty list")
	}
	for p.err == nil && !p.isMark("}") {
		p.item(r, namespace, depth)
	}
	p.mark("}")
	if p.isMark(";") {
		p.advance()
	}
}

// item: namespace block | protocol | port | [path | query] variable
func (p *parser) item(r *Rule, namespace []string, depth int) {
	if p.isWord("namespace") {
		p.namespace(r, namespace, depth)
		return
	}
	if len(r.Vars) == MaxVars {
		p.fail("too many variables: at most %d are allowed in a rule; join some in one expression", MaxVars)
		return
	}
	part := PartSubdomain
	if p.kind == Website {
		part = PartPath
		switch {
		case p.isWord("protocol") || p.isWord("port"):
			p.setting(r, depth)
			return
		case p.isWord("path"):
			p.advance()
		case p.isWord("query"):
			part = PartQuery
			p.advance()
		}
	}
	p.variable(r, namespace, part)
}

// namespace: 'namespace' name items
func (p *parser) namespace(r *Rule, outside []string, depth int) {
	if depth == MaxDepth {
		p.fail("namespace blocks inside namespace blocks are not allowed, at most %d deep; write a qualified name (canonalize::path::x) instead", MaxDepth)
		return
	}
	p.advance()
	if p.token.kind != tokenName {
		p.fail("expected the name of a namespace, found %v", p.token)
		return
	}
	inside := append(slices.Clone(outside), p.token.text)
	p.advance()
	p.items(r, inside, depth+1)
}

// setting: ('protocol' | 'port') '=' string ';'
func (p *parser) setting(r *Rule, depth int) {
	if depth > 0 {
		p.fail("%v cannot stand in a namespace", p.token)
		return
	}
	v := &Var{Position: p.token.Position, Part: Part(p.token.text), Name: p.token.text, Type: TypeGroup, Required: true}
	p.advance()
	p.mark("=")
	v.Regex, v.RegexAt = p.str()
	p.mark(";")
	r.Vars = append(r.Vars, v)
}

// variable: ('required' | 'optional') qualified_name '=' value ';'
func (p *parser) variable(r *Rule, namespace []string, part Part) {
	v := &Var{Part: part, Required: p.isWord("required")}
	if !v.Required && !p.isWord("optional") {
		p.fail(`expected "required" or "optional", found %v`, p.token)
		return
	}
	p.advance()
	v.Position = p.token.Position
	v.Namespace, v.Name = p.qualified(namespace)
	p.mark("=")
	p.value(v)
	p.mark(";")
	r.Vars = append(r.Vars, v)
}

// value: string | 'website' '(' string ',' string ')' | 'flag' '(' string [',' string] ')'
func (p *parser) value(v *Var) {
	switch {
	case p.isWord("website"):
		v.Type = TypeWebsite
	case p.isWord("flag"):
		v.Type = TypeFlag
	case p.err == nil && p.token.kind != tokenString:
		p.fail("expected a string, website(…) or flag(…), found %v", p.token)
		return
	default:
		v.Type = TypeGroup
		v.Regex, v.RegexAt = p.str()
		return
	}
	p.advance()
	p.mark("(")
	v.Regex, v.RegexAt = p.str()
	if v.Type == TypeWebsite || p.isMark(",") {
		p.mark(",")
		second, at := p.str()
		v.Second, v.SecondAt = &second, at
	}
	p.mark(")")
}

// qualified: [namespace '::']* name
func (p *parser) qualified(namespace []string) ([]string, string) {
	namespace = slices.Clone(namespace)
	for p.err == nil {
		if p.token.kind != tokenName {
			p.fail("expected a name, found %v", p.token)
			break
		}
		name := p.token
		p.advance()
		if p.isMark("::") {
			namespace = append(namespace, name.text)
			p.advance()
			continue
		}
		p.notReserved(name)
		return namespace, name.text
	}
	return nil, ""
}

func (p *parser) plainName(what string) string {
	if p.token.kind != tokenName {
		p.fail("expected %s, found %v", what, p.token)
		return ""
	}
	name := p.token
	p.notReserved(name)
	p.advance()
	return name.text
}

func (p *parser) notReserved(name token) {
	if p.err == nil && slices.Contains(p.reserved, name.text) {
		p.err = syntaxError(name.Position, "%v is a keyword and cannot be a name", name)
	}
}

func (p *parser) str() (string, Position) {
	at := p.token.Position
	if p.err == nil && p.token.kind != tokenString {
		p.fail("expected a string, found %v", p.token)
	}
	text := p.token.text
	p.advance()
	return text, at
}
