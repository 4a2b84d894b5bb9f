package resolve

import (
	"fmt"
	"strings"
)

// Request is a request's URL in WHATWG serialization, taken apart. Absent parts are empty, and so are empty ones: "?" alone adds nothing.
type Request struct {
	Origin   string // scheme, host and port without the default one: "https://go.example"
	Path     string // begins with "/"
	Query    string // without "?"
	Fragment string // without "#"; never sent over HTTP (A20)
}

// ParseRequest parses an absolute http or https URL. User information is dropped. The error wraps ErrInvalidRequest.
func ParseRequest(raw string) (Request, error) {
	u, err := parseURL(raw)
	if err != nil {
		return Request{}, fmt.Errorf("%w: %v", ErrInvalidRequest, err)
	}
	return Request{Origin: u.origin, Path: u.path, Query: strings.TrimPrefix(u.search, "?"), Fragment: strings.TrimPrefix(u.hash, "#")}, nil
}

// LocalLocation is what to write into a Location header for a path (with query and fragment) on the same origin. A path that begins with
// two slashes would send browsers to another host; with "/." in front it cannot, and they remove it again.
func LocalLocation(path string) string {
	if strings.HasPrefix(path, "//") {
		return "/." + path
	}
	return path
}
