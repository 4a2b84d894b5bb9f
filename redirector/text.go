package redirector

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// text cuts s to at most limit bytes and percent-encodes bytes that are not valid UTF-8, so that every hit can be encoded and nothing
// is lost silently. Valid short strings, nearly all, are returned as they are.
func text(s string, limit int) string {
	if len(s) <= limit && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+n]
		if r == utf8.RuneError && n == 1 {
			const hex = "0123456789ABCDEF"
			piece = string([]byte{'%', hex[s[i]>>4], hex[s[i]&15]})
		}
		if b.Len()+len(piece) > limit {
			break
		}
		b.WriteString(piece)
		i += n
	}
	return b.String()
}

// checkPath is the status to refuse a path with, 0 when it can be looked up.
func checkPath(path string) int {
	if len(path) > maxPath {
		return 414
	}
	if path == "" || path[0] != '/' || !utf8.ValidString(path) {
		return 400
	}
	for i := range len(path) {
		if c := path[i]; c < ' ' || c == 0x7f {
			return 400
		}
	}
	return 0
}

// hostName is the name in a Host header: lower case, without port and trailing dot, IPv6 literals without brackets. It is empty for what
// cannot be a name, and at most 253 bytes long.
func hostName(host string) string {
	if strings.HasPrefix(host, "[") {
		if end := strings.IndexByte(host, ']'); end > 0 {
			if addr, err := netip.ParseAddr(host[1:end]); err == nil && addr.Zone() == "" {
				return addr.String()
			}
		}
		return ""
	}
	if i := strings.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	host = strings.TrimSuffix(host, ".")
	if len(host) > 253 {
		return ""
	}
	for i := range len(host) {
		c := host[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_') {
			return ""
		}
	}
	return lower(host)
}

// hostPort is the port in a Host header; 0 when there is none.
func hostPort(host string) int {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return 0
	}
	port, err := strconv.ParseUint(host[i+1:], 10, 16)
	if err != nil {
		return 0
	}
	return int(port)
}

// lower is strings.ToLower for ASCII, without an allocation when there is nothing to do.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}

// isUpper reports a path with upper-case letters and without lower-case ones; percent escapes count as neither.
func isUpper(path string) bool {
	upper := false
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '%':
			i += 2
		case c >= 'a' && c <= 'z':
			return false
		case c >= 'A' && c <= 'Z':
			upper = true
		}
	}
	return upper
}

// newHitID is a UUIDv7 for the moment t (RFC 9562 §5.7): 48 bits of milliseconds, then random bits.
func newHitID(t time.Time) []byte {
	id := make([]byte, 16)
	binary.BigEndian.PutUint64(id, uint64(t.UnixMilli())<<16|rand.Uint64()&0xffff)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
