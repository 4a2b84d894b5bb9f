package link

import (
	"net/netip"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// ReservedPrefix starts paths that the redirector keeps for itself; no key may begin with it.
const ReservedPrefix = "-/"

// NormalizeDomain lower-cases a host name, turns international names into their ASCII form and drops a trailing dot. Host
// names without a dot and IP addresses are allowed, ports are not. The error wraps ErrInvalid.
func NormalizeDomain(raw string) (string, error) {
	name := strings.TrimSuffix(raw, ".")
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return addr.String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil || ascii == "" || len(ascii) > MaxDomain || strings.ContainsAny(ascii, ":/@?# ") {
		return "", Invalid("domain %q is no host name: give one such as go.example.com, without scheme or port", clip(raw))
	}
	return strings.ToLower(ascii), nil
}

// NormalizeKey returns the key as it appears in the path of a request: WHATWG-serialized, without the leading slash, case
// kept. A key that no request could reach is refused. The error wraps ErrInvalid.
func NormalizeKey(raw string) (string, error) {
	switch {
	case raw == "":
		return "", Invalid("key is empty: give one, or leave it out to have one made")
	case raw[0] == '/':
		return "", Invalid("key %q begins with a slash: leave the slash out", clip(raw))
	case strings.HasPrefix(raw, ReservedPrefix):
		return "", Invalid("key %q begins with %q, which is reserved", clip(raw), ReservedPrefix)
	case len(raw) > MaxKey:
		return "", Invalid("key has %d bytes: at most %d are allowed", len(raw), MaxKey)
	case !printable(raw):
		return "", Invalid("key holds control characters or is not valid UTF-8")
	case strings.ContainsAny(raw, `?#\`):
		return "", Invalid(`key %q holds "?", "#" or "\", which never arrive as part of a path`, clip(raw))
	case hasDotSegment(raw):
		return "", Invalid(`key %q holds a "." or ".." segment, which browsers remove`, clip(raw))
	case strings.Count(raw, "/") >= MaxSegments:
		return "", Invalid("key has %d segments: at most %d are allowed", strings.Count(raw, "/")+1, MaxSegments)
	}
	key, ok := serializePath("/" + raw)
	if !ok {
		return "", Invalid("key %q cannot be part of a path", clip(raw))
	}
	if key = key[1:]; len(key) > MaxKey {
		return "", Invalid("key has %d bytes once encoded: at most %d are allowed", len(key), MaxKey)
	}
	return key, nil
}

// SerializePath is a request's path in WHATWG serialization, with its first slash: the key that it asks for is what follows that. ok is
// false for a path that is none. Paths of plain characters, nearly all, cost no allocation.
func SerializePath(path string) (serialized string, ok bool) {
	if path == "" || path[0] != '/' {
		return "", false
	}
	if isPlainPath(path) {
		return path, true
	}
	return serializePath(path)
}

// LowerPath lowers the letters of a path or key, but not those of percent escapes, which are kept in upper case.
func LowerPath(path string) string {
	b := []byte(path)
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '%':
			i += 2
		case c >= 'A' && c <= 'Z':
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// isPlainPath reports that WHATWG serialization would change nothing: no byte to encode and no dot that could be a segment.
func isPlainPath(path string) bool {
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '/', c == '-', c == '_', c == '~':
		case c == '.' && path[i-1] != '/' && path[i-1] != '.': // never a dot segment: those begin after a slash
		default:
			return false
		}
	}
	return true
}

// hasDotSegment reports a segment that the WHATWG URL standard calls a single- or double-dot segment.
func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".", "..":
			return true
		}
	}
	return false
}

func serializePath(path string) (string, bool) {
	u, err := url.Parse("http://h" + path)
	if err != nil || u.Hostname() != "h" || u.Pathname() == "" {
		return "", false
	}
	return u.Pathname(), true
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
