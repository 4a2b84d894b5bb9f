package rules

import (
	"slices"
	"strings"
)

// DefaultAllowedQuery are the query parameters that no rule has to name: search and pages, and what campaigns and advertisements append (B16).
// A "*" at the start or end of an entry stands for any text.
func DefaultAllowedQuery() []string {
	return []string{
		"q", "page", "*_page", "utm_*",
		"gclid", "gclsrc", "gbraid", "wbraid", "dclid", "_ga", "_gl",
		"fbclid", "igshid", "msclkid", "twclid", "ttclid", "li_fat_id", "yclid", "mc_cid", "mc_eid",
	}
}

var defaultAllowList = newAllowList(DefaultAllowedQuery())

// allowList is a list of parameter names and wildcards. It is immutable.
type allowList struct {
	exact    map[string]bool
	prefixes []string
	suffixes []string
}

func newAllowList(entries []string) *allowList {
	l := &allowList{exact: map[string]bool{}}
	for _, entry := range entries {
		if prefix, ok := strings.CutSuffix(entry, "*"); ok {
			l.prefixes = append(l.prefixes, prefix)
		} else if suffix, ok := strings.CutPrefix(entry, "*"); ok {
			l.suffixes = append(l.suffixes, suffix)
		} else {
			l.exact[entry] = true
		}
	}
	return l
}

func (l *allowList) has(name string) bool {
	return l.exact[name] ||
		slices.ContainsFunc(l.prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(l.suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

// pair is one decoded query parameter.
type pair struct{ name, value string }

// parseQuery takes a query apart as HTML forms write it: "+" is a space, escapes that are none stay as they are.
func parseQuery(query string) []pair {
	if query == "" {
		return nil
	}
	var all []pair
	for one := range strings.SplitSeq(query, "&") {
		if one == "" {
			continue
		}
		name, value, _ := strings.Cut(one, "=")
		all = append(all, pair{unescape(name), unescape(value)})
	}
	return all
}

func unescape(s string) string {
	if !strings.ContainsAny(s, "+%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			out = append(out, ' ')
		case s[i] == '%' && i+2 < len(s) && hex(s[i+1]) >= 0 && hex(s[i+2]) >= 0:
			out = append(out, byte(hex(s[i+1])<<4|hex(s[i+2])))
			i += 2
		default:
			out = append(out, s[i])
		}
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}

func hex(c byte) int { return strings.IndexByte("0123456789abcdef", lower(c)) }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// escapeQuery writes a name or value as a form does (application/x-www-form-urlencoded of the URL standard).
func escapeQuery(s string) string {
	return escape(s, func(c byte) bool { return alphanumeric(c) || strings.IndexByte("*-._", c) >= 0 }, true)
}

// escapePath writes a text as part of a path: what the URL standard would escape is escaped, and so are "?" and "#".
func escapePath(s string) string {
	return escape(s, func(c byte) bool { return '!' <= c && c <= '~' && strings.IndexByte("\"#<>?`{}^\\", c) < 0 }, false)
}

func escape(s string, plain func(byte) bool, plus bool) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = plain(s[i])
	}
	if clean {
		return s
	}
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case plain(c):
			out = append(out, c)
		case plus && c == ' ':
			out = append(out, '+')
		default:
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}

func alphanumeric(c byte) bool { return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z' }

// nameSet keeps names in the order of their first appearance.
type nameSet struct {
	names []string
	seen  map[string]bool // used from manyNames on
}

const manyNames = 16

func (s *nameSet) add(name string) {
	if s.seen == nil && slices.Contains(s.names, name) || s.seen[name] {
		return
	}
	s.names = append(s.names, name)
	switch {
	case s.seen != nil:
		s.seen[name] = true
	case len(s.names) == manyNames:
		s.seen = make(map[string]bool, 2*manyNames)
		for _, n := range s.names {
			s.seen[n] = true
		}
	}
}

// ParameterName is the name in one pair of a query, "name=value", as Match reads it.
func ParameterName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	return unescape(name)
}
