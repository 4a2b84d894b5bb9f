package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// EndsIn tells whether every non-empty match ends with sep.
func (p *Pattern) EndsIn(sep rune) bool { return endsIn(p.tree, sep) }

// Bounded is an expression for the pattern's non-empty matches, followed by boundary where they do not end with sep themselves; "" when the
// pattern matches nothing but the empty string. Whether the empty string is to match too is the caller's to add, see MatchesEmpty.
//
// With sep '/' and the boundary "/", a pattern ends where a path segment ends (B15). With sep '.' and the boundary "\.?", it may leave out
// its dot (B7).
func (p *Pattern) Bounded(sep rune, boundary string) string { return bounded(p.tree, sep, boundary) }

func bounded(re *syntax.Regexp, sep rune, boundary string) string {
	if !nullable(re) && endsIn(re, sep) {
		return group(re)
	}
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return ""
	case syntax.OpQuest:
		return bounded(re.Sub[0], sep, boundary)
	case syntax.OpStar:
		return boundedStar(re, sep, boundary)
	case syntax.OpRepeat:
		return boundedRepeat(re, sep, boundary)
	case syntax.OpAlternate:
		return boundedAlternate(re, sep, boundary)
	case syntax.OpConcat:
		return boundedConcat(re, sep, boundary)
	case syntax.OpCharClass:
		if contains(re, sep) {
			return `(?:` + quote(sep) + `|` + group(re) + boundary + `)`
		}
	}
	return group(re) + boundary
}

// boundedStar is one or more of what re repeats.
func boundedStar(re *syntax.Regexp, sep rune, boundary string) string {
	times := `+`
	if re.Flags&syntax.NonGreedy != 0 {
		times += `?`
	}
	some := group(re.Sub[0]) + times
	if endsIn(re.Sub[0], sep) {
		return some
	}
	return some + boundary
}

func boundedRepeat(re *syntax.Regexp, sep rune, boundary string) string {
	switch {
	case re.Max == 0:
		return ""
	case re.Min > 0:
		return group(re) + boundary
	}
	once := *re
	once.Min = 1
	if endsIn(re.Sub[0], sep) {
		return group(&once)
	}
	return group(&once) + boundary
}

func boundedAlternate(re *syntax.Regexp, sep rune, boundary string) string {
	var parts []string
	for _, sub := range re.Sub {
		if part := bounded(sub, sep, boundary); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return `(?:` + strings.Join(parts, `|`) + `)`
}

// boundedConcat puts the boundary into the last part when that part is always there, else behind the whole.
func boundedConcat(re *syntax.Regexp, sep rune, boundary string) string {
	last := len(re.Sub) - 1
	if onlyEmpty(re) {
		return ""
	}
	if endOnly(re.Sub[last]) && !slices.ContainsFunc(re.Sub[:last], hasEnd) {
		return boundedAtEnd(re.Sub[:last], re.Sub[last], sep, boundary)
	}
	if nullable(re.Sub[last]) {
		return group(re) + boundary
	}
	var b strings.Builder
	for _, sub := range re.Sub[:last] {
		b.WriteString(group(sub))
	}
	b.WriteString(bounded(re.Sub[last], sep, boundary))
	return b.String()
}

func quote(sep rune) string { return text(&syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{sep}}) }

func contains(class *syntax.Regexp, r rune) bool {
	for i := 0; i+1 < len(class.Rune); i += 2 {
		if class.Rune[i] <= r && r <= class.Rune[i+1] {
			return true
		}
	}
	return false
}

// endsIn tells whether every non-empty match of re ends with sep; it is true of what matches the empty string alone.
func endsIn(re *syntax.Regexp, sep rune) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) == 0 || re.Rune[len(re.Rune)-1] == sep
	case syntax.OpCharClass:
		return len(re.Rune) == 2 && re.Rune[0] == sep && re.Rune[1] == sep
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			if !endsIn(re.Sub[i], sep) {
				return false
			}
			if !nullable(re.Sub[i]) {
				return true
			}
		}
		return true
	}
	for _, sub := range re.Sub {
		if !endsIn(sub, sep) {
			return false
		}
	}
	return true
}

// nullable tells whether re can match the empty string somewhere.
func nullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return re.Op == syntax.OpLiteral && len(re.Rune) == 0
	case syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return re.Min == 0 || nullable(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !nullable(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if nullable(sub) {
				return true
			}
		}
		return false
	case syntax.OpPlus, syntax.OpCapture:
		return nullable(re.Sub[0])
	}
	return true
}
