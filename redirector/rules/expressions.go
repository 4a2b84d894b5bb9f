package rules

import (
	"strings"

	"linkfold/redirector/rules/pattern"
)

// part is one variable of a positional expression. Each becomes one capture, in order.
type part struct {
	pattern  *pattern.Pattern
	required bool
}

// strict is the expression over sub-domains: all variables one after the other.
func strict(parts []part) string { return concat(parts, strictPart) + `$` }

// strictPart writes an optional variable (|X), which prefers nothing: in "proj.ww." the "ww." is a www rather than a language of two
// letters (B3).
func strictPart(p part) string {
	if p.required {
		return `(` + p.pattern.String() + `)`
	}
	return `(|` + p.pattern.String() + `)`
}

// lenient is strict with "\.?" after what does not end with a dot, as the seed's own example needs it (B7).
func lenient(parts []part) string { return concat(parts, lenientPart) + `$` }

func lenientPart(p part) string {
	if p.pattern.EndsIn('.') {
		return strictPart(p)
	}
	text := p.pattern.Bounded('.', `\.?`)
	switch {
	case !p.required:
		return `(|` + text + `)`
	case p.pattern.MatchesEmpty():
		return `(` + text + `|)`
	}
	return `(` + text + `)`
}

// segments is the expression over a path that ends with "/": each variable ends where a segment ends (B15), and takes what it can get (B3).
func segments(parts []part) string {
	return concat(parts, func(p part) string {
		text := p.pattern.Bounded('/', `/`)
		switch {
		case text == "":
			return `(` + nothing(p) + `)`
		case !p.required || p.pattern.MatchesEmpty():
			return `(` + text + `|` + nothing(p) + `)`
		}
		return `(` + text + `)`
	})
}

// nothing is what an optional variable or an empty match leaves: anywhere nothing, but for a required ^$ the end of the path.
func nothing(p part) string {
	if p.required {
		return p.pattern.Nothing()
	}
	return ``
}

// glued is the expression for variables that share a segment, "test-" and "server": only the last ends where a segment ends (B15).
func glued(parts []part) string {
	last := len(parts) - 1
	if last == 0 {
		return segments(parts)
	}
	before := concat(parts[:last], func(p part) string {
		if p.required {
			return `(` + p.pattern.String() + `)`
		}
		return `((?:` + p.pattern.String() + `)?)`
	})
	text := parts[last].pattern.Bounded('/', `/`)
	end := `(` + text + `)`
	switch {
	case text == "":
		end += `/` + nothing(parts[last])
	case !parts[last].required || parts[last].pattern.MatchesEmpty():
		end = `(?:` + end + `|/)`
	}
	return before + end
}

func concat(parts []part, each func(part) string) string {
	var b strings.Builder
	b.WriteByte('^')
	for _, p := range parts {
		b.WriteString(each(p))
	}
	return b.String()
}

// foldedSource is what is compiled of a protocol: it is compared without regard to case (B12).
func foldedSource(source string) string { return `(?i)` + source }

// protocolExpression is empty for "any", which stands for all protocols (B12).
func protocolExpression(source string, p *pattern.Pattern) string {
	if strings.EqualFold(source, "any") {
		return ""
	}
	return p.Whole()
}
