package rules

import (
	"errors"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
)

// ErrURL says that a text is no http or https URL.
var ErrURL = errors.New("invalid request")

// ParseURL takes a URL apart as browsers do (WHATWG). A text without scheme, www.example.com/x, is taken as http. User and fragment are left
// out. The error is ErrURL.
func ParseURL(raw string) (URL, error) {
	raw = strings.TrimSpace(raw)
	if !hasScheme(raw) {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme() != "http" && u.Scheme() != "https" {
		return URL{}, ErrURL
	}
	parsed := URL{Scheme: u.Scheme(), Host: u.Hostname(), Path: u.Pathname(), Query: u.Query()}
	if u.Port() != "" {
		parsed.Port = u.DecodedPort()
	}
	return parsed, nil
}

// hasScheme tells http:… and anything://… from www.example.com:8080/x, whose host a parser would take for a scheme.
func hasScheme(raw string) bool {
	scheme, rest, found := strings.Cut(raw, ":")
	return found && (strings.HasPrefix(rest, "//") && !strings.ContainsAny(scheme, "/?#.") ||
		strings.EqualFold(scheme, "http") && !port(rest) || strings.EqualFold(scheme, "https") && !port(rest))
}

// port tells whether a text begins like a port, which makes what stands before it a host.
func port(s string) bool { return s != "" && '0' <= s[0] && s[0] <= '9' }
