package pattern

import (
	"regexp/syntax"
	"slices"
)

// endOnly tells whether whatever matches the empty string in re does so only at the end of the text: $, and (/|$) when it takes the $.
func endOnly(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEndText:
		return true
	case syntax.OpCapture:
		return endOnly(re.Sub[0])
	case syntax.OpConcat:
		some := false
		for _, sub := range re.Sub {
			if !nullable(sub) {
				return false
			}
			some = some || endOnly(sub)
		}
		return some
	case syntax.OpAlternate:
		some := false
		for _, sub := range re.Sub {
			if nullable(sub) {
				if !endOnly(sub) {
					return false
				}
				some = true
			}
		}
		return some
	}
	return false
}

// hasEnd tells whether re asks for the end of the text somewhere.
func hasEnd(re *syntax.Regexp) bool {
	return re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, hasEnd)
}

// Nothing is the expression for the empty string where the pattern matches it: the end of the text for a pattern that asks for the end, such
// as ^$, else empty.
func (p *Pattern) Nothing() string {
	if endOnly(p.tree) {
		return `$`
	}
	return ``
}

// boundedAtEnd is Bounded for a concatenation whose last part may be the end of the text, as in blog$ and blog(/|$). The boundary belongs
// before that end. It writes the head twice, so the head may not have such an end itself, or expressions would grow with each.
func boundedAtEnd(before []*syntax.Regexp, last *syntax.Regexp, sep rune, boundary string) string {
	head := &syntax.Regexp{Op: syntax.OpConcat, Sub: before}
	ended := bounded(head, sep, boundary)
	if ended != "" {
		ended += `$`
	}
	some := bounded(last, sep, boundary)
	switch {
	case some == "":
		return ended
	case ended == "":
		return group(head) + some
	}
	return `(?:` + group(head) + some + `|` + ended + `)`
}

// onlyEmpty tells whether re obviously matches nothing but the empty string.
func onlyEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	}
	for _, sub := range re.Sub {
		if !onlyEmpty(sub) {
			return false
		}
	}
	return true
}
