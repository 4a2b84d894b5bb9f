package link

import "strings"

// Placeholder is one {name} or {name=default} in a destination: where the value of a rule's variable goes. Names are
// [A-Za-z_][A-Za-z0-9_]*, defaults hold no braces, spaces or control characters. Whether a {name} without a default is replaced depends on
// the name being declared where the destination is used; otherwise it stays as it is.
type Placeholder struct {
	Start, End int // bytes of the destination, braces included: destination[Start:End]
	Name       string
	Default    string // for names that are undeclared, unset or empty
	HasDefault bool
}

// Placeholders finds the placeholders of a destination, in order. Other text in braces is none.
func Placeholders(destination string) []Placeholder {
	var found []Placeholder
	for at := 0; ; {
		open := strings.IndexByte(destination[at:], '{')
		if open < 0 {
			return found
		}
		at += open
		size := strings.IndexAny(destination[at+1:], "{}")
		if size < 0 {
			return found
		}
		end := at + 1 + size
		if destination[end] == '}' {
			name, value, has := strings.Cut(destination[at+1:end], "=")
			if isName(name) && !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
				found = append(found, Placeholder{Start: at, End: end + 1, Name: name, Default: value, HasDefault: has})
			}
			end++
		}
		at = end
	}
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
