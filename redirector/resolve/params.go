package resolve

import (
	"strings"
	"unicode/utf8"
)

// param is one name and value of a query, decoded.
type param struct{ name, value string }

// parseParams parses a query without its "?" as the URLSearchParams of the WHATWG URL standard do (section "application/x-www-form-urlencoded
// parsing"): ";" is data, bad escapes are literal, bytes that are no UTF-8 become U+FFFD.
func parseParams(query string) []param {
	if query == "" {
		return nil
	}
	list := make([]param, 0, strings.Count(query, "&")+1)
	for p, query, ok := nextParam(query); ok; p, query, ok = nextParam(query) {
		list = append(list, p)
	}
	return list
}

// nextParam takes the first pair off a query; ok is false when it holds none.
func nextParam(query string) (p param, rest string, ok bool) {
	query = strings.TrimLeft(query, "&")
	if query == "" {
		return param{}, "", false
	}
	pair, rest, _ := strings.Cut(query, "&")
	name, value, _ := strings.Cut(pair, "=")
	return param{decode(name), decode(value)}, rest, true
}

// decode turns "+" into a space and %XX into bytes, and decodes these as UTF-8. It allocates only if there is something to decode.
func decode(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c == '+' || c == '%' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			b = append(b, ' ')
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) < 16 && unhex(s[i+2]) < 16:
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		default:
			b = append(b, c)
		}
	}
	if utf8.Valid(b) {
		return string(b)
	}
	return decodeUTF8(b)
}

// unhex is the value of a hexadecimal digit, 255 for other bytes.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// decodeUTF8 replaces what is no UTF-8 as the WHATWG Encoding standard does: one U+FFFD for the longest start of a sequence that could
// have become a character. (Go replaces each byte, or each run.)
func decodeUTF8(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = brokenLength(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// brokenLength is how many bytes of b one U+FFFD stands for; b begins with an invalid sequence.
func brokenLength(b []byte) int {
	low, high, want := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		want = 1
	case c >= 0xE0 && c <= 0xEF:
		want = 2
	case c >= 0xF0 && c <= 0xF4:
		want = 3
	}
	switch b[0] { // second bytes that would be overlong, surrogates, or past U+10FFFF
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for ; n <= want && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xBF
	}
	return n
}

// appendParams appends the query that URLSearchParams would print for list, with "?"; nothing for an empty list.
func appendParams(b []byte, list []param) []byte {
	separator := byte('?')
	for _, p := range list {
		b = appendParam(b, separator, p)
		separator = '&'
	}
	return b
}

func appendParam(b []byte, separator byte, p param) []byte {
	b = appendForm(append(b, separator), p.name)
	return appendForm(append(b, '='), p.value)
}

// formPlain holds the bytes that the application/x-www-form-urlencoded serializer leaves alone.
var formPlain = byteSet(alphanumeric + "*-._")

func appendForm(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case formPlain[c]:
			b = append(b, c)
		case c == ' ':
			b = append(b, '+')
		default:
			b = appendEscaped(b, c)
		}
	}
	return b
}

func appendEscaped(b []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(b, '%', digits[c>>4], digits[c&15])
}
