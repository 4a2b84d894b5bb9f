package pattern

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
)

// text prints a tree as an expression that means the same wherever it is put: each part carries the flags that it needs. The standard
// printer chooses flags for a whole tree, for which it looks at every character of every class: milliseconds for [^/].
func text(re *syntax.Regexp) string {
	var b strings.Builder
	write(&b, re)
	return b.String()
}

// group is text that may be followed by an operator.
func group(re *syntax.Regexp) string { return `(?:` + text(re) + `)` }

func write(b *strings.Builder, re *syntax.Regexp) {
	if plain, ok := fixed[re.Op]; ok {
		b.WriteString(plain)
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		writeLiteral(b, re)
	case syntax.OpCharClass:
		writeClass(b, re.Rune)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpAlternate {
				b.WriteString(group(sub))
			} else {
				write(b, sub)
			}
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				b.WriteByte('|')
			}
			write(b, sub)
		}
	case syntax.OpCapture:
		b.WriteString(group(re.Sub[0]))
	default:
		writeRepeat(b, re)
	}
}

// fixed are the operators whose text never varies.
var fixed = map[syntax.Op]string{
	syntax.OpNoMatch:        `[^\x00-\x{10FFFF}]`,
	syntax.OpEmptyMatch:     `(?:)`,
	syntax.OpAnyCharNotNL:   `(?-s:.)`,
	syntax.OpAnyChar:        `(?s:.)`,
	syntax.OpBeginLine:      `(?m:^)`,
	syntax.OpEndLine:        `(?m:$)`,
	syntax.OpBeginText:      `\A`,
	syntax.OpEndText:        `\z`,
	syntax.OpWordBoundary:   `\b`,
	syntax.OpNoWordBoundary: `\B`,
}

func writeLiteral(b *strings.Builder, re *syntax.Regexp) {
	fold := re.Flags&syntax.FoldCase != 0
	if fold {
		b.WriteString(`(?i:`)
	}
	for _, r := range re.Rune {
		writeRune(b, r)
	}
	if fold {
		b.WriteByte(')')
	}
}

func writeClass(b *strings.Builder, ranges []rune) {
	if len(ranges) == 0 {
		b.WriteString(fixed[syntax.OpNoMatch])
		return
	}
	b.WriteByte('[')
	for i := 0; i+1 < len(ranges); i += 2 {
		writeRune(b, ranges[i])
		if ranges[i] != ranges[i+1] {
			b.WriteByte('-')
			writeRune(b, ranges[i+1])
		}
	}
	b.WriteByte(']')
}

// writeRune writes letters and digits as they are, other ASCII with a backslash, and the rest as a number.
func writeRune(b *strings.Builder, r rune) {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '_', r == '/':
		b.WriteRune(r)
	case ' ' < r && r < 0x7f:
		b.WriteByte('\\')
		b.WriteRune(r)
	default:
		fmt.Fprintf(b, `\x{%X}`, r)
	}
}

func writeRepeat(b *strings.Builder, re *syntax.Regexp) {
	b.WriteString(group(re.Sub[0]))
	switch re.Op {
	case syntax.OpStar:
		b.WriteByte('*')
	case syntax.OpPlus:
		b.WriteByte('+')
	case syntax.OpQuest:
		b.WriteByte('?')
	case syntax.OpRepeat:
		b.WriteString(times(re.Min, re.Max))
	}
	if re.Flags&syntax.NonGreedy != 0 {
		b.WriteByte('?')
	}
}

func times(from, to int) string {
	switch {
	case to < 0:
		return `{` + strconv.Itoa(from) + `,}`
	case from == to:
		return `{` + strconv.Itoa(from) + `}`
	}
	return `{` + strconv.Itoa(from) + `,` + strconv.Itoa(to) + `}`
}
