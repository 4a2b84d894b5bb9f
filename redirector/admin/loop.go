package admin

import (
	"context"
	"errors"
	"strings"

	"linkfold/redirector/resolve"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// checkLoop refuses a link that would close a circle of internal redirects, and names the circle. Two authors who save its two halves in the
// same moment are not found out here; the limit of redirects ends what they made. The error wraps link.ErrInvalid.
func (a *api) checkLoop(ctx context.Context, l *linkfoldv1.Link, names []string) error {
	if l.GetDeleted() || l.GetInactive() || !strings.HasPrefix(l.GetDestination(), "/") {
		return nil
	}
	loop, err := resolve.FindLoop(ctx, saved{a.writer, names, l}, l.GetKey())
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

// saved is a website's links as they will be once l is saved.
type saved struct {
	writer *Writer
	names  []string // of the website
	l      *linkfoldv1.Link
}

// Longest implements resolve.Ruleset.
func (s saved) Longest(ctx context.Context, path string) (resolve.Match, bool, error) {
	for key := range resolve.Candidates(path) {
		for _, name := range s.names {
			l := s.l
			if key != l.GetKey() || name != l.GetDomain() {
				now, err := s.writer.Current(ctx, stream.LinkAggregate(name, key))
				if err != nil {
					return resolve.Match{}, false, err
				}
				l = now.Event.GetLink()
			}
			if l != nil && !l.GetDeleted() && !l.GetInactive() {
				return resolve.Match{Key: key, Value: resolve.ParseValue(l.GetDestination())}, true, nil
			}
		}
	}
	return resolve.Match{}, false, nil
}
