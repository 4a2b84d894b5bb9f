package script

import (
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenString
	tokenMark // one of { } ( ) , ; = ::
)

type token struct {
	Position
	kind tokenKind
	text string // name, value of the string, or mark
}

func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end of the script"
	case tokenString:
		return "a string"
	default:
		return `"` + t.text + `"`
	}
}

// lexer cuts a script into tokens. Comments are // to the end of the line and /* */; \n, \r and \r\n each end one line.
type lexer struct {
	source string
	offset int
	at     Position
}

func newLexer(source string) *lexer {
	// Some editors put a byte order mark first.
	return &lexer{source: strings.TrimPrefix(source, "\ufeff"), at: Position{1, 1}}
}

// peek gives the next character without taking it; 0, false at the end.
func (l *lexer) peek() (rune, bool) {
	if l.offset >= len(l.source) {
		return 0, false
	}
	r, _ := utf8.DecodeRuneInString(l.source[l.offset:])
	return r, true
}

func (l *lexer) follows(s string) bool { return strings.HasPrefix(l.source[l.offset:], s) }

// take moves over one character and keeps the position. It fails on bytes that are no UTF-8.
func (l *lexer) take() (rune, *Error) {
	r, size := utf8.DecodeRuneInString(l.source[l.offset:])
	if r == utf8.RuneError && size <= 1 {
		return 0, syntaxError(l.at, "the script is not valid UTF-8 here")
	}
	l.offset += size
	if r == '\n' || (r == '\r' && !l.follows("\n")) {
		l.at = Position{l.at.Line + 1, 1}
	} else {
		l.at.Column++
	}
	return r, nil
}

// next gives the next token; at the end of the script tokenEnd, again and again.
func (l *lexer) next() (token, *Error) {
	if err := l.space(); err != nil {
		return token{}, err
	}
	start := token{Position: l.at}
	r, ok := l.peek()
	switch {
	case !ok:
		return start, nil
	case nameStart(r):
		return l.name(start)
	case r == '"' || r == '\'':
		return l.str(start)
	default:
		return l.mark(start)
	}
}

func (l *lexer) mark(t token) (token, *Error) {
	if l.follows("::") {
		l.offset += 2
		l.at.Column += 2
		t.kind, t.text = tokenMark, "::"
		return t, nil
	}
	r, err := l.take()
	if err != nil {
		return t, err
	}
	if !strings.ContainsRune("{}(),;=", r) {
		return t, syntaxError(t.Position, "unexpected character %q", r)
	}
	t.kind, t.text = tokenMark, string(r)
	return t, nil
}

func (l *lexer) name(t token) (token, *Error) {
	start := l.offset
	for l.offset < len(l.source) && namePart(l.source[l.offset]) {
		l.offset++
		l.at.Column++
	}
	t.kind, t.text = tokenName, l.source[start:l.offset]
	return t, nil
}

func nameStart(r rune) bool { return r < utf8.RuneSelf && namePart(byte(r)) && (r < '0' || r > '9') }

func namePart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// space moves over white space and comments.
func (l *lexer) space() *Error {
	for {
		r, ok := l.peek()
		switch {
		case !ok:
			return nil
		case strings.ContainsRune(" \t\r\n\f\v", r):
			if _, err := l.take(); err != nil {
				return err
			}
		case l.follows("//"):
			if err := l.lineComment(); err != nil {
				return err
			}
		case l.follows("/*"):
			if err := l.blockComment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (l *lexer) lineComment() *Error {
	for {
		r, ok := l.peek()
		if !ok || r == '\n' || r == '\r' {
			return nil
		}
		if _, err := l.take(); err != nil {
			return err
		}
	}
}

func (l *lexer) blockComment() *Error {
	start := l.at
	l.offset += 2
	l.at.Column += 2
	for !l.follows("*/") {
		if l.offset >= len(l.source) {
			return syntaxError(start, "comment without */")
		}
		if _, err := l.take(); err != nil {
			return err
		}
	}
	l.offset += 2
	l.at.Column += 2
	return nil
}
