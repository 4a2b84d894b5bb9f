package resolve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
)

// parts is a URL in WHATWG serialization; search and hash keep their "?" and "#" and are "" when empty. User information is left out.
type parts struct{ origin, path, search, hash string }

var errScheme = errors.New("the scheme must be http or https")

// parseURL parses an absolute http or https URL as browsers do. Most URLs are serialized already and need no parser.
func parseURL(raw string) (parts, error) {
	if p, ok := splitSerialized(raw); ok {
		return p, nil
	}
	return parseWHATWG(raw)
}

func parseWHATWG(raw string) (parts, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return parts{}, fmt.Errorf("parse URL: %w", err)
	}
	if s := u.Scheme(); s != "http" && s != "https" {
		return parts{}, errScheme
	}
	return parts{origin: u.Scheme() + "://" + u.Host(), path: u.Pathname(), search: u.Search(), hash: u.Hash()}, nil
}

// serializePath gives the path of an http URL as the pathname setter would: encoded, without dot segments. The "#" behind it keeps
// spaces at its end.
func serializePath(path string) (string, error) {
	u, err := url.Parse("http://h" + strings.NewReplacer("?", "%3F", "#", "%23").Replace(path) + "#")
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrInvalidValue, err)
	}
	return u.Pathname(), nil
}

// serializeFragment encodes a fragment, given and returned with its "#". An empty one keeps the "#" (A12: the href of "…#" ends with it).
func serializeFragment(fragment string) string {
	if consistsOf(fragment[1:], &fragmentPlain) {
		return fragment
	}
	u, err := url.Parse("http://h/" + fragment)
	if err != nil || u.Hash() == "" {
		return "#"
	}
	return u.Hash()
}

// dropped are the characters that URL parsers remove wherever they stand.
var dropped = strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/")

// hasDoubleDot reports a segment that URL parsers take for "..", however it is spelled.
func hasDoubleDot(path string) bool {
	for segment := range strings.SplitSeq(dropped.Replace(path), "/") {
		if dots(segment) == 2 {
			return true
		}
	}
	return false
}

// dots is 1 or 2 for a segment that URL parsers take for "." or "..", else 0.
func dots(segment string) int {
	n := 0
	for segment != "" {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && segment[0] == '%' && segment[1] == '2' && segment[2]|0x20 == 'e':
			segment = segment[3:]
		default:
			return 0
		}
		if n++; n > 2 {
			return 0
		}
	}
	return n
}
