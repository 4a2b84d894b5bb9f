package script

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// str reads a string in double or single quotes (B2). It must end on its line.
func (l *lexer) str(t token) (token, *Error) {
	quote, _ := l.take()
	var value strings.Builder
	for {
		r, ok := l.peek()
		if !ok || r == '\n' || r == '\r' {
			return t, syntaxError(t.Position, "string without closing %c", quote)
		}
		if r == '\\' {
			if err := l.escape(&value); err != nil {
				return t, err
			}
			continue
		}
		if _, err := l.take(); err != nil {
			return t, err
		}
		if r == quote {
			t.kind, t.text = tokenString, value.String()
			return t, nil
		}
		value.WriteRune(r)
	}
}

// simpleEscapes are the escapes of one character that mean what they mean in C. Not among them: \b, which stays the word boundary of
// regular expressions, and \?, which stays a literal question mark.
const (
	simpleEscapes  = `\"'ntrafv`
	simpleMeanings = "\\\"'\n\t\r\a\f\v"
)

// escape reads a backslash and what belongs to it. Escapes that are not C's keep their backslash, because they are regular expressions:
// \. \d \w (B1).
func (l *lexer) escape(value *strings.Builder) *Error {
	start := l.at
	if _, err := l.take(); err != nil {
		return err
	}
	r, ok := l.peek()
	if !ok || r == '\n' || r == '\r' {
		return syntaxError(start, "backslash at the end of the line")
	}
	if i := strings.IndexRune(simpleEscapes, r); i >= 0 {
		value.WriteByte(simpleMeanings[i])
		_, err := l.take()
		return err
	}
	if code, size := numericEscape(l.source[l.offset:]); size > 0 {
		if !utf8.ValidRune(code) {
			return syntaxError(start, `\%s is not a character`, l.source[l.offset:l.offset+size])
		}
		value.WriteRune(code)
		l.offset += size
		l.at.Column += size
		return nil
	}
	value.WriteByte('\\')
	value.WriteRune(r)
	_, err := l.take()
	return err
}

// numericEscape reads ooo (three octal digits up to 377), xHH or uXXXX at the start of s; size 0 when there is none of them. Fewer digits
// are left to the regular expression, to which \12 is the same octal number, and \1 a back reference, which is refused.
func numericEscape(s string) (code rune, size int) {
	switch {
	case s[0] == 'x':
		return digits(s, 1, 3, 16)
	case s[0] == 'u':
		return digits(s, 1, 5, 16)
	case '0' <= s[0] && s[0] <= '3':
		return digits(s, 0, 3, 8)
	}
	return 0, 0
}

func digits(s string, from, to, base int) (rune, int) {
	if len(s) < to {
		return 0, 0
	}
	// ParseUint takes no sign, and underscores only with base 0.
	code, err := strconv.ParseUint(s[from:to], base, 32)
	if err != nil {
		return 0, 0
	}
	return rune(code), to
}
