package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"linkfold/redirector/resolve"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// checkLoop refuses a link that would close a circle of internal redirects, and names the circle. Two authors who save its two halves in the
// same moment are not found out here; the limit of redirects ends what they made. The error wraps link.ErrInvalid.
func (a *api) checkLoop(ctx context.Context, l *linkfoldv1.Link) error {
	if l.GetDeleted() || l.GetInactive() || !strings.HasPrefix(l.GetDestination(), "/") {
		return nil
	}
	loop, err := resolve.FindLoop(ctx, saved{a.writer, l}, l.GetKey())
	switch {
	case errors.Is(err, resolve.ErrTooManyRedirects):
		return fmt.Errorf("destination %q begins a chain of more than %d internal redirects: point it nearer to its end: %w", l.GetDestination(), resolve.DefaultMaxHops, link.ErrInvalid)
	case err != nil:
		return err
	case loop != nil:
		return fmt.Errorf("destination %q closes a loop: %s: point one of them elsewhere: %w", l.GetDestination(), strings.Join(loop, " → "), link.ErrInvalid)
	}
	return nil
}

// saved is a domain's links as they will be once l is saved.
type saved struct {
	writer *Writer
	l      *linkfoldv1.Link
}

// Longest implements resolve.Ruleset.
func (s saved) Longest(ctx context.Context, path string) (resolve.Match, bool, error) {
	for key := range resolve.Candidates(path) {
		l := s.l
		if key != l.GetKey() {
			now, err := s.writer.Current(ctx, stream.LinkAggregate(l.GetDomain(), key))
			if err != nil {
				return resolve.Match{}, false, err
			}
			l = now.Event.GetLink()
		}
		if l != nil && !l.GetDeleted() && !l.GetInactive() {
			return resolve.Match{Key: key, Value: resolve.ParseValue(l.GetDestination())}, true, nil
		}
	}
	return resolve.Match{}, false, nil
}
