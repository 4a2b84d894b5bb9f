// Package pattern holds the regular expressions of rule variables: RE2 syntax, without captures of their own, bounded in size before they are
// compiled, and able to say where a URL may be cut after them.
//
// Everything is decided on the syntax tree, so that an expression cannot cost more than its text is worth: x{1000} nested or repeated is
// refused before the first instruction exists.
package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// MaxBytes is the longest expression.
const MaxBytes = 1024

// maxUnicode bounds Unicode classes in one expression: each may be hundreds of ranges, which are sorted together.
const maxUnicode = 8

// Pattern is a checked expression. It is immutable.
type Pattern struct {
	tree *syntax.Regexp
	text string
	size int
}

// Parse checks an expression. Captures are accepted and become plain groups (B4). The error is the reason alone, without the expression.
func Parse(source string) (*Pattern, error) {
	if len(source) > MaxBytes {
		return nil, fmt.Errorf("it is %d bytes long, at most %d are allowed", len(source), MaxBytes)
	}
	if err := affordable(source); err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, reason(err)
	}
	tree = withoutCaptures(tree)
	return &Pattern{tree: tree, text: text(tree), size: size(tree)}, nil
}

// reason leaves out what the regexp package says about itself.
func reason(err error) error {
	var e *syntax.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%s: `%s`", e.Code, e.Expr)
	}
	return err
}

// affordable refuses what is dear already to parse.
func affordable(source string) error {
	unicode := strings.Count(source, `\p`) + strings.Count(source, `\P`)
	if unicode > maxUnicode {
		return fmt.Errorf("it has %d Unicode classes, at most %d are allowed", unicode, maxUnicode)
	}
	if foldsCase(source) && (unicode > 0 || strings.Contains(source, `\x{`) || strings.IndexFunc(source, notASCII) >= 0) {
		return errors.New("(?i) works with ASCII characters only")
	}
	return nil
}

func notASCII(r rune) bool { return r >= 0x80 }

// foldsCase tells whether a group of flags may switch case folding on.
func foldsCase(source string) bool {
	for {
		_, rest, found := strings.Cut(source, "(?")
		if !found {
			return false
		}
		flags := rest[:len(rest)-len(strings.TrimLeft(rest, "imsU-"))]
		if strings.Contains(flags, "i") {
			return true
		}
		source = rest
	}
}

// withoutCaptures replaces every capture by what it holds.
func withoutCaptures(re *syntax.Regexp) *syntax.Regexp {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	for i, sub := range re.Sub {
		re.Sub[i] = withoutCaptures(sub)
	}
	return re
}

// String is the expression in a form that compiles to the same language, without captures.
func (p *Pattern) String() string { return p.text }

// Size is about how many instructions the expression compiles to, repetitions counted as often as they repeat.
func (p *Pattern) Size() int { return p.size }

// Whole is the expression anchored at both ends.
func (p *Pattern) Whole() string { return `^(?:` + p.text + `)$` }

// MatchesEmpty tells whether the empty string matches.
func (p *Pattern) MatchesEmpty() bool { return nullable(p.tree) }

// MatchesAll tells whether every text without a line break matches, as with .* alone; false when that is not obvious.
func (p *Pattern) MatchesAll() bool {
	return p.tree.Op == syntax.OpStar && (p.tree.Sub[0].Op == syntax.OpAnyCharNotNL || p.tree.Sub[0].Op == syntax.OpAnyChar)
}

// NeedsUpper tells whether only texts with an ASCII capital letter can match, because one stands there literally.
func (p *Pattern) NeedsUpper() bool { return needsUpper(p.tree) }

func needsUpper(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return re.Flags&syntax.FoldCase == 0 && strings.IndexFunc(string(re.Rune), func(r rune) bool { return 'A' <= r && r <= 'Z' }) >= 0
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if needsUpper(sub) {
				return true
			}
		}
	case syntax.OpPlus:
		return needsUpper(re.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !needsUpper(sub) {
				return false
			}
		}
		return true
	}
	return false
}
