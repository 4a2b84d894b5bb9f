package rules

import (
	"fmt"
	"regexp"
	"strings"

	"linkfold/redirector/rules/pattern"
	"linkfold/schema/linkfoldv1"
)

// Load makes a saved script ready to match: it compiles its expressions. That is done once per configuration change, never per request. A
// script that another version of Compile has written is compiled from its source.
func Load(kind Kind, s *linkfoldv1.RuleScript) (*Rules, error) {
	if s.GetCompiler() != CompilerVersion {
		compiled, _, err := Compile(kind, s.GetSource())
		if err != nil {
			return nil, fmt.Errorf("compile rules: %w", err)
		}
		s = compiled
	}
	out := &Rules{kind: kind, rules: make([]*rule, len(s.GetRules()))}
	size := 0
	for i, saved := range s.GetRules() {
		r, err := loadRule(kind, saved)
		if err != nil {
			return nil, fmt.Errorf("load rule %q: %w", saved.GetName(), err)
		}
		out.rules[i] = r
		out.official = out.official || r.official
		size += r.size
	}
	if size > sizeTolerance*MaxScriptSize {
		return nil, fmt.Errorf("load rules: expressions compile to more than %d instructions", MaxScriptSize)
	}
	out.input = inputLimit(size, maxInput)
	for _, r := range out.rules {
		for i := range r.vars {
			r.vars[i].input = out.input
		}
	}
	return out, nil
}

// sizeTolerance is for what joining a rule's expressions adds to them.
const sizeTolerance = 2

// rule is one rule ready to match.
type rule struct {
	name     string
	patterns []*regexp.Regexp // at most two: strict and lenient, or segments and glued
	protocol *regexp.Regexp   // nil: any
	port     *regexp.Regexp   // nil: any
	vars     []variable       // in the order of the script
	at       map[place][]int  // indexes in vars by place
	official bool             // some variable has its official position here
	optional bool             // some website() of the sub-domain may be left out
	query    parameters       // see NewSite
	size     int              // instructions of the first expression and of those that stand alone
}

// place is where in a URL a variable is looked for; the order is that of B17, the lowest wins.
type place int

const (
	inPath place = iota + 1
	inSubdomain
	inExtension
	inQuery
)

// variable is one variable ready to match.
type variable struct {
	name      string
	place     place
	kind      linkfoldv1.VariableKind
	required  bool
	official  bool
	hasSecond bool
	second    string // default or website, without the trailing separator (B11)
	rank      int    // lowest wins where one name is found at several places (B17)
	whole     *regexp.Regexp
	input     int // longest text that it looks at
}

func (v *variable) group() bool   { return v.kind == linkfoldv1.VariableKind_VARIABLE_KIND_GROUP }
func (v *variable) website() bool { return v.kind == linkfoldv1.VariableKind_VARIABLE_KIND_WEBSITE }

func loadRule(kind Kind, saved *linkfoldv1.CompiledRule) (*rule, error) {
	r := &rule{name: saved.GetName(), at: map[place][]int{}}
	var err error
	if r.size, err = ruleSize(saved); err != nil {
		return nil, err
	}
	if r.protocol, err = compileIfAny(saved.GetProtocol()); err != nil {
		return nil, err
	}
	if r.port, err = compileIfAny(saved.GetPort()); err != nil {
		return nil, err
	}
	for i, v := range saved.GetVariables() {
		loaded, err := loadVariable(kind, v)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", v.GetName(), err)
		}
		r.vars = append(r.vars, loaded)
		r.at[loaded.place] = append(r.at[loaded.place], i)
		r.official = r.official || loaded.official
		r.optional = r.optional || loaded.place == inSubdomain && loaded.website() && !loaded.required
	}
	r.patterns, err = loadPatterns(kind, saved.GetPatterns(), len(r.at[inPath])+len(r.at[inSubdomain]))
	return r, err
}

// ruleSize adds up the variables of a rule, before anything is compiled, so that a saved form that Compile has not written costs no more than
// one that it has.
func ruleSize(saved *linkfoldv1.CompiledRule) (int, error) {
	total := 0
	for _, v := range saved.GetVariables() {
		n, err := pattern.Size(v.GetPattern())
		if err != nil {
			return 0, fmt.Errorf("read expression: %w", err)
		}
		total += n
	}
	for _, text := range saved.GetPatterns() {
		n, err := pattern.Size(text)
		if err != nil {
			return 0, fmt.Errorf("read expression: %w", err)
		}
		total = max(total, n)
	}
	if total > sizeTolerance*MaxRuleSize {
		return 0, fmt.Errorf("its expressions compile to more than %d instructions", MaxRuleSize)
	}
	return total, nil
}

// loadPatterns compiles the expressions of a rule; each must have a capture per positional variable.
func loadPatterns(kind Kind, saved []string, captures int) ([]*regexp.Regexp, error) {
	if len(saved) > 2 || len(saved) == 0 && (captures > 0 || kind == KindDomain) {
		return nil, fmt.Errorf("%d expressions for %d variables", len(saved), captures)
	}
	var all []*regexp.Regexp
	for _, text := range saved {
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("compile expression: %w", err)
		}
		if re.NumSubexp() != captures {
			return nil, fmt.Errorf("expression has %d captures for %d variables", re.NumSubexp(), captures)
		}
		all = append(all, re)
	}
	return all, nil
}

func compileIfAny(expression string) (*regexp.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	return regexp.Compile(expression)
}

func loadVariable(kind Kind, saved *linkfoldv1.CompiledVariable) (variable, error) {
	v := variable{
		name: saved.GetName(), kind: saved.GetKind(), required: saved.GetRequired(),
		hasSecond: saved.Second != nil, official: officialNamespace(saved.GetNamespace()),
	}
	switch saved.GetPart() {
	case linkfoldv1.VariablePart_VARIABLE_PART_SUBDOMAIN:
		v.place, v.second = inSubdomain, strings.TrimSuffix(saved.GetSecond(), ".")
		if v.website() {
			v.second = strings.ToLower(v.second) // seed, "Domain", NOTE: names are only dealt with in lower case
		}
	case linkfoldv1.VariablePart_VARIABLE_PART_PATH:
		v.place, v.second = inPath, strings.TrimSuffix(saved.GetSecond(), "/")
	case linkfoldv1.VariablePart_VARIABLE_PART_QUERY:
		v.place, v.second = inQuery, saved.GetSecond()
	case linkfoldv1.VariablePart_VARIABLE_PART_EXTENSION:
		// An extension names no website, whatever its type says.
		v.place, v.second, v.kind = inExtension, saved.GetSecond(), linkfoldv1.VariableKind_VARIABLE_KIND_FLAG
	}
	if v.place == 0 || (v.place == inSubdomain) != (kind == KindDomain) {
		return v, fmt.Errorf("part %v does not belong into this script", saved.GetPart())
	}
	v.rank = int(v.place)
	if v.official {
		v.rank -= int(inQuery)
	}
	var err error
	v.whole, err = regexp.Compile(`^(?:` + saved.GetPattern() + `)$`)
	return v, err
}

// officialNamespace tells whether a namespace is or begins with the one of official positions (B9).
func officialNamespace(namespace string) bool {
	first, _, _ := strings.Cut(namespace, "::")
	return first == "canonalize" || first == "canonicalize" || first == "global"
}

// accepts tells whether a text matches the variable's expression in full.
func (v *variable) accepts(text string) bool {
	return len(text) <= v.input && v.whole.MatchString(text)
}

// acceptsExtension is accepts for a text behind a dot. Scripts may write that dot, as they write the dots of sub-domains: "\.(en|fr)".
func (v *variable) acceptsExtension(text string) bool { return v.accepts(text) || v.accepts("."+text) }

// admits tells whether the rule's protocol line lets a scheme pass (B12).
func (r *rule) admits(scheme string) bool { return r.protocol == nil || r.protocol.MatchString(scheme) }
