// Package resolve finds where a short URL leads: the algorithm of the draft "A Deterministic Algorithm for Resolving Shortlinks with
// Internal Redirects", with the rulings on its contradictions (A1 to A20). It is pure: it contacts no server, reads no clock, and gives
// equal bytes for equal inputs.
//
// A Ruleset maps keys to values. The longest key that is a prefix of the request's path at a "/" boundary decides: an absolute value
// ("http…") is the destination, an internal value ("/…") is looked up in turn, and when nothing matches any more the answer lies on the
// request's own origin. What is left of the path behind the key is appended, queries and fragments are combined by precedence: the
// request's over those written in internal values, over the destination's. Every answer is a URL in WHATWG serialization.
//
// Most programs need ParseValue when a link is loaded, ParseRequest, and Resolve. Values are taken apart once, so that answering parses no
// URL: a request that ends at its first link and adds nothing is answered with a stored string.
package resolve

import (
	"context"
	"errors"
	"fmt"
)

// DefaultMaxHops is how many internal redirects one request may take: the draft ends with an error at the 256th.
const DefaultMaxHops = 255

// The ways in which resolving fails. Their texts are what "linkfold resolve" prints, and short and few enough for a metric label.
var (
	ErrTooManyRedirects   = errors.New("too many internal redirects") // the chain is longer than Options.MaxHops
	ErrInvalidValue       = errors.New("invalid value")               // neither "http…" nor an origin-relative "/…"
	ErrInvalidDestination = errors.New("invalid destination")         // "http…", but no http or https URL
	ErrPathTraversal      = errors.New("path traversal")              // a ".." would climb out of the destination's path
	ErrInvalidRequest     = errors.New("invalid request")             // the request is no http or https URL
)

// Reason is the sentinel of this package that err wraps, nil if it wraps none: a closed set, without the details of one request.
func Reason(err error) error {
	for _, reason := range [...]error{ErrTooManyRedirects, ErrInvalidValue, ErrInvalidDestination, ErrPathTraversal, ErrInvalidRequest} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}

// Options tune Resolve. The zero value is the draft.
type Options struct {
	// MaxHops is how many internal redirects pass; one more is ErrTooManyRedirects. 0 means DefaultMaxHops, a negative number none.
	MaxHops int
	// Variables gives the value of a placeholder such as {language}; declared says whether the name means anything at all. Without
	// Variables the braces in values are literal text.
	Variables func(name string) (value string, declared bool)
	// Trace is told every step and what decided it. It costs allocations.
	Trace func(Step)
}

// Result is where a request leads. Beside an error it holds the chain up to there and no URL.
type Result struct {
	URL     string  // WHATWG serialization (href)
	Hops    int     // internal redirects that were followed
	Matched bool    // an absolute destination was found; otherwise URL lies on the request's origin
	First   Match   // the link that the request's path matched; its Value is nil when there was none
	Chain   []Match // the links after the first, in order
}

// Resolve follows r through the rules. Errors wrap one of the sentinels above, or what the Ruleset returned.
func Resolve(ctx context.Context, rules Ruleset, r Request, o Options) (Result, error) {
	w := walk{request: r, path: r.Path, trace: o.Trace}
	err := w.run(ctx, rules, o)
	if err != nil {
		w.refused(err)
	}
	return w.result, err
}

// walk is the state of one resolution, named as in the draft.
type walk struct {
	request  Request
	path     string // what is looked up next
	from     *Value // the internal value that path comes from; nil for the request's own
	relative string // what was left behind the keys: later hops come first (relativePathname)
	rough    bool   // relative holds bytes that serialization would change
	query    bool   // an embedded query was found, be it empty (initialQuery)
	params   []param
	fragment string // the first embedded fragment with its "#" (initialHash)
	locked   bool   // a link of the chain keeps its own query
	result   Result
	trace    func(Step)
}

func (w *walk) run(ctx context.Context, rules Ruleset, o Options) error {
	limit := max(o.MaxHops, 0)
	if o.MaxHops == 0 {
		limit = DefaultMaxHops
	}
	for {
		m, ok, err := rules.Longest(ctx, w.path)
		if err != nil {
			return fmt.Errorf("look up path: %w", err)
		}
		if !ok {
			return w.unmatched()
		}
		v, err := w.match(m, o.Variables)
		if err != nil {
			return err
		}
		if !v.Internal() {
			return w.arrive(v)
		}
		if w.result.Hops == limit {
			return ErrTooManyRedirects
		}
		w.follow(v)
	}
}

// match records m, keeps the rest of the path behind its key, and returns its value with placeholders filled in.
func (w *walk) match(m Match, variables func(string) (string, bool)) (*Value, error) {
	if w.result.First.Value == nil {
		w.result.First = m
	} else {
		w.result.Chain = append(w.result.Chain, m)
	}
	w.locked = w.locked || m.Locked
	remaining := ""
	if len(w.path) > len(m.Key)+1 { // the 1 is the path's leading slash (A13)
		remaining = w.path[len(m.Key)+1:]
	}
	w.prepend(remaining)
	w.found(m, remaining)
	if m.Value == nil {
		return nil, ErrInvalidValue
	}
	v, err := m.Value.expand(variables)
	if err != nil {
		return nil, err
	}
	return v, v.err
}

func (w *walk) prepend(remaining string) {
	if w.from != nil {
		remaining = w.from.cut(remaining)
		w.rough = w.rough || w.from.rough && remaining != ""
	}
	if w.relative == "" {
		w.relative = remaining
	} else if remaining != "" {
		w.relative = remaining + w.relative
	}
}

// follow makes an internal value the path to look up. Of embedded queries and fragments the first of each wins, even an empty one.
func (w *walk) follow(v *Value) {
	w.result.Hops++
	w.path, w.from = v.path, v
	if v.hasQuery && !w.query {
		w.query, w.params = true, v.params
	}
	if w.fragment == "" {
		w.fragment = v.fragment
	}
	w.followed(v)
}

// arrive answers with an absolute destination.
func (w *walk) arrive(v *Value) error {
	w.result.Matched = true
	requestQuery, requestFragment := w.effective()
	if w.relative == "" && !w.query && requestQuery == "" && w.fragment == "" && requestFragment == "" {
		w.result.URL = v.href
		if w.locked {
			w.result.URL = v.lockedHref
		}
		w.combined(v)
		return nil
	}
	path, err := w.join(v.path)
	if err != nil {
		return err
	}
	var space [512]byte
	b := append(append(space[:0], v.origin...), path...)
	switch {
	case w.query || requestQuery != "":
		b = appendCombined(b, v.params, w.params, requestQuery)
	case w.locked:
		b = append(b, v.search...)
	default:
		b = append(b, v.query...)
	}
	w.result.URL = string(w.appendFragment(b, requestFragment, v.fragment))
	w.combined(v)
	return nil
}

// unmatched answers with the last path on the request's own origin, whatever it looks like (A4): a path is never parsed for a host.
func (w *walk) unmatched() error {
	base := w.path
	if w.from != nil {
		base = w.from.cut(base)
		w.rough = w.rough || w.from.rough
	}
	w.missed()
	path, err := w.join(base)
	if err != nil {
		return err
	}
	requestQuery, requestFragment := w.effective()
	var space [512]byte
	b := append(append(space[:0], w.request.Origin...), path...)
	if w.query || requestQuery != "" {
		b = appendCombined(b, nil, w.params, requestQuery)
	}
	w.result.URL = string(w.appendFragment(b, requestFragment, ""))
	w.combined(nil)
	return nil
}

// effective is what the request may add: nothing when a link of the chain is locked.
func (w *walk) effective() (query, fragment string) {
	if w.locked {
		return "", ""
	}
	return w.request.Query, w.request.Fragment
}

// join appends the rest of the path to base with one slash between them (A1). The rest must not climb out of base (A11).
func (w *walk) join(base string) (string, error) {
	if w.rough && hasDoubleDot(w.relative) {
		return "", ErrPathTraversal
	}
	path := base
	switch {
	case w.relative == "":
	case base != "" && base[len(base)-1] == '/' && w.relative[0] == '/':
		path = base + w.relative[1:]
	default:
		path = base + w.relative
	}
	if w.rough {
		return serializePath(path)
	}
	return path, nil
}

func (w *walk) appendFragment(b []byte, requested, own string) []byte {
	switch {
	case requested != "":
		return append(append(b, '#'), requested...)
	case w.fragment != "":
		return append(b, w.fragment...)
	}
	return append(b, own...)
}
