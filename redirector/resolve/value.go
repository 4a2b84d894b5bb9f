package resolve

import (
	"fmt"
	"strings"

	"linkfold/schema/link"
)

// Value is the value of a key, taken apart once, when a link is loaded. It is immutable and may be shared between goroutines.
type Value struct {
	raw      string
	err      error
	internal bool

	// path is what follows the origin in a destination, serialized; in an internal value it is the text to look up, as it was written
	// but for the embedded query and fragment.
	path     string
	fragment string  // serialized, with "#"; "" when absent
	params   []param // of the query
	template *template

	// Of internal values.
	hasQuery bool // an embedded query was found, be it empty
	rough    bool // serialization would change path
	leftover bool // path still holds a "?" or "#" (A10)

	// Of absolute values.
	origin     string
	search     string // the query as the destination's href has it, with "?"
	query      string // the same, form-urlencoded as URLSearchParams do
	href       string // the whole answer when nothing is added
	lockedHref string // the same with search for query
}

// ParseValue takes a ruleset's value apart. It never fails: Err tells why a value can never resolve, and Resolve returns that error for
// every request that ends there.
func ParseValue(raw string) *Value {
	v := parseLiteral(raw)
	if spots := link.Placeholders(raw); len(spots) > 0 {
		v.template = newTemplate(raw, spots)
	}
	return v
}

// Err is nil, or wraps ErrInvalidValue or ErrInvalidDestination. The placeholders of a template are taken as such.
func (v *Value) Err() error {
	if v.template != nil {
		return v.template.err
	}
	return v.err
}

// Internal reports that the value is looked up in turn.
func (v *Value) Internal() bool { return v.internal }

// String is the value as it was written.
func (v *Value) String() string { return v.raw }

// parseLiteral takes raw apart without regard for placeholders.
func parseLiteral(raw string) *Value {
	switch {
	case strings.HasPrefix(raw, "http"):
		return parseAbsolute(raw)
	case strings.HasPrefix(raw, "//"), strings.HasPrefix(raw, `/\`):
		return &Value{raw: raw, err: fmt.Errorf("%w: a path may not begin with two slashes, which would lead to another host", ErrInvalidValue)}
	case strings.HasPrefix(raw, "/"):
		return parseInternal(raw)
	}
	return &Value{raw: raw, err: fmt.Errorf(`%w: it begins neither with "http" nor with "/"`, ErrInvalidValue)}
}

func parseAbsolute(raw string) *Value {
	v := &Value{raw: raw}
	u, err := parseURL(raw)
	if err != nil {
		v.err = fmt.Errorf("%w: %v", ErrInvalidDestination, err)
		return v
	}
	v.origin, v.path, v.search, v.fragment = u.origin, u.path, u.search, u.hash
	v.params = parseParams(strings.TrimPrefix(u.search, "?"))
	v.finish(string(appendParams(nil, v.params)))
	return v
}

// finish stores the answers that need no merging; query is the destination's own, form-urlencoded. Texts that are equal are kept once:
// most links are, in memory, little more than the URL that was written.
func (v *Value) finish(query string) {
	v.query, v.lockedHref = query, v.origin+v.path+v.search+v.fragment
	if v.lockedHref == v.raw {
		v.lockedHref = v.raw
	}
	v.href = v.lockedHref
	if v.query == v.search {
		v.query = v.search
	} else {
		v.href = v.origin + v.path + v.query + v.fragment
	}
}

// parseInternal cuts the last "#" and then the last "?" off, as the draft's section "Handling Hash and Query in Pathname" says.
func parseInternal(raw string) *Value {
	v := &Value{raw: raw, internal: true, path: raw}
	if i := strings.LastIndexByte(v.path, '#'); i >= 0 {
		v.fragment = serializeFragment(v.path[i:])
		v.path = v.path[:i]
	}
	if i := strings.LastIndexByte(v.path, '?'); i >= 0 {
		v.hasQuery, v.params = true, parseParams(v.path[i+1:])
		v.path = v.path[:i]
	}
	v.leftover = strings.ContainsAny(v.path, "?#")
	v.rough = !isSerialized(v.path)
	return v
}

// cut removes what is left of a second query or fragment in a path or its end; keys are looked up with it, URLs are built without.
func (v *Value) cut(path string) string {
	if v.leftover {
		if i := strings.IndexAny(path, "?#"); i >= 0 {
			return path[:i]
		}
	}
	return path
}
