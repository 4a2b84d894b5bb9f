package resolve

import "strings"

// splitSerialized takes a URL apart that parsing would not change. It errs on the careful side: ok is false for everything in doubt, such
// as ports, IP addresses and international names, and then the parser decides.
func splitSerialized(raw string) (p parts, ok bool) {
	rest, ok := strings.CutPrefix(raw, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(raw, "http://"); !ok {
			return parts{}, false
		}
	}
	host := rest[:indexFrom(rest, 0, "/?#")]
	if !isPlainHost(host) {
		return parts{}, false
	}
	p.origin, rest = raw[:len(raw)-len(rest)+len(host)], rest[len(host):]
	hash := indexFrom(rest, 0, "#")
	search := indexFrom(rest[:hash], 0, "?")
	p.path, p.search, p.hash = rest[:search], rest[search:hash], rest[hash:]
	if !isSerialized(p.path) || !consistsOf(p.search, &queryPlain) || p.hash != "" && !consistsOf(p.hash[1:], &fragmentPlain) {
		return parts{}, false
	}
	if p.path == "" {
		p.path = "/"
	}
	if p.search == "?" {
		p.search = ""
	}
	if p.hash == "#" {
		p.hash = ""
	}
	return p, true
}

// isPlainHost reports a lower-case name of letters, digits, dots and hyphens that is neither an address nor international.
func isPlainHost(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" || last[0] < 'a' || strings.Contains(host, "--") {
		return false
	}
	edge := true // at the beginning of a label
	for i := range len(host) {
		c := host[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (c != '.' && c != '-' || edge) {
			return false
		}
		edge = c == '.' || c == '-'
	}
	return !edge
}

// isSerialized reports that a path holds nothing that serialization would change. It errs on the careful side: any segment that begins
// with a dot or an encoded one counts as a dot segment.
func isSerialized(path string) bool {
	for i := range len(path) {
		c := path[i]
		switch {
		case pathPlain[c]:
		case (c == '.' || c == '%') && (i == 0 || path[i-1] != '/'):
		case c == '%' && !strings.HasPrefix(path[i:], "%2e") && !strings.HasPrefix(path[i:], "%2E"):
		default:
			return false
		}
	}
	return true
}

func consistsOf(s string, set *[256]bool) bool {
	for i := range len(s) {
		if !set[s[i]] {
			return false
		}
	}
	return true
}

// The bytes that the parts of an http URL hold as they are: those outside of the standard's percent-encode sets, but for "." and "%" in
// paths, which isSerialized looks at.
var (
	pathPlain     = byteSet(alphanumeric + "!$&'()*+,-/:;=@[]^_|~")
	queryPlain    = byteSet(alphanumeric + "!$%&()*+,-./:;=?@[\\]^_`{|}~")
	fragmentPlain = byteSet(alphanumeric + "!#$%&'()*+,-./:;=?@[\\]^_{|}~")
)

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func byteSet(members string) (set [256]bool) {
	for i := range len(members) {
		set[members[i]] = true
	}
	return set
}
