package admin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nlnwa/whatwg-url/url"

	"linkfold/redirector/resolve"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// checkLoop refuses a link that would close a circle of internal redirects, and names the circle. Two authors who save its two halves in the
// same moment are not found out here; the limit of redirects ends what they made. The error wraps link.ErrInvalid.
func (a *api) checkLoop(ctx context.Context, l *linkfoldv1.Link, home home) error {
	if l.GetDeleted() || l.GetInactive() {
		return nil
	}
	loop, err := resolve.FindLoop(ctx, saved{a.writer, home, l}, l.GetKey())
	switch {
	case errors.Is(err, resolve.ErrTooManyRedirects):
		return link.Invalid("destination %q begins a chain of more than %d internal redirects: point it nearer to its end", l.GetDestination(), resolve.DefaultMaxHops)
	case err != nil:
		return err
	case loop != nil:
		return link.Invalid("destination %q closes a loop: %s: point one of them elsewhere", l.GetDestination(), strings.Join(loop, " → "))
	}
	return nil
}

// checkOtherName refuses a key that a link of the same website has under its other name: one of the two would never be served.
func (a *api) checkOtherName(ctx context.Context, l *linkfoldv1.Link, names []string) error {
	for _, name := range names {
		if name == l.GetDomain() {
			continue
		}
		now, err := a.writer.Current(ctx, stream.LinkAggregate(name, l.GetKey()))
		if err != nil {
			return err
		}
		if other := now.Event.GetLink(); other != nil && !other.GetDeleted() {
			return link.Invalid("key %q is taken on %s, which is the same website as %s: change that link, or give another key", l.GetKey(), name, l.GetDomain())
		}
	}
	return nil
}

// saved is a place's links as they will be once l is saved. An absolute destination on the place itself counts as a path of it: browsers come
// back with it.
type saved struct {
	writer *Writer
	home   home
	l      *linkfoldv1.Link
}

// Longest implements resolve.Ruleset.
func (s saved) Longest(ctx context.Context, path string) (resolve.Match, bool, error) {
	if s.home.anyCase() {
		path = link.LowerPath(path)
	}
	for key := range resolve.Candidates(path) {
		for _, name := range s.home.names {
			l := s.l
			if key != l.GetKey() || name != l.GetDomain() {
				now, err := s.writer.Current(ctx, stream.LinkAggregate(name, key))
				if err != nil {
					return resolve.Match{}, false, err
				}
				l = now.Event.GetLink()
			}
			if l != nil && !l.GetDeleted() && !l.GetInactive() {
				return resolve.Match{Key: key, Value: resolve.ParseValue(s.home.local(l.GetDestination()))}, true, nil
			}
		}
	}
	return resolve.Match{}, false, nil
}

// local is a destination on the place itself as a path of it; any other stays as it is.
func (h home) local(destination string) string {
	u, err := url.Parse(destination)
	if err != nil || !slices.Contains(h.names, strings.TrimSuffix(strings.Trim(u.Hostname(), "[]"), ".")) {
		return destination
	}
	return u.Pathname()
}

// anyCase reports that the case of requests does not count.
func (h home) anyCase() bool {
	return h.domain.GetGenerator() == linkfoldv1.Generator_GENERATOR_QR
}
