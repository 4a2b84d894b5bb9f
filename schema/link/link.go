// Package link holds the state of a link, what may be saved as one, and the fold of its events.
//
// Everything here is pure: the redirector's API, the projector's checks and the tests use the same rules.
package link

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"linkfold/schema/linkfoldv1"
)

// Limits of what can be saved, in bytes unless said otherwise.
const (
	MaxKey         = 255
	MaxSegments    = 32   // of a key, counted; bounds how many prefixes of a path are looked for
	MaxDestination = 2048 // fwd4.me rule 1, RULINGS D1 1g
	MaxDomain      = 253  // RFC 1035
	MaxTitle       = 512
	MaxTags        = 32
	MaxTag         = 64
)

// ErrInvalid is what every refusal is (errors.Is); the message of the refusal says what to change.
var ErrInvalid = errors.New("invalid")

// refusal is an ErrInvalid with a message for authors.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) Unwrap() error   { return ErrInvalid }

// Invalid makes a refusal.
func Invalid(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// Normalize checks a link that is about to be saved and brings domain, key and destination into the form in which they are
// compared and served. The error wraps ErrInvalid.
func Normalize(l *linkfoldv1.Link) error {
	var err error
	if l.Domain, err = NormalizeDomain(l.GetDomain()); err != nil {
		return err
	}
	if l.Key, err = NormalizeKey(l.GetKey()); err != nil {
		return err
	}
	if l.Destination, err = NormalizeDestination(l.GetDestination()); err != nil {
		return err
	}
	return checkLabels(l)
}

func checkLabels(l *linkfoldv1.Link) error {
	if len(l.GetTitle()) > MaxTitle || !printable(l.GetTitle()) {
		return Invalid("title must be at most %d bytes of printable UTF-8", MaxTitle)
	}
	if len(l.GetTags()) > MaxTags {
		return Invalid("%d tags: give at most %d", len(l.GetTags()), MaxTags)
	}
	for _, t := range l.GetTags() {
		if t == "" || len(t) > MaxTag || !printable(t) {
			return Invalid("tag %q must be 1 to %d bytes of printable UTF-8", t, MaxTag)
		}
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Change names the event that turns before into after. It returns EVENT_TYPE_UNSPECIFIED when nothing changed.
// before is nil when the key was never used; a deleted link that is saved again counts as created.
func Change(before, after *linkfoldv1.Link) linkfoldv1.EventType {
	switch {
	case before == nil || before.GetDeleted() && !after.GetDeleted():
		return linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED
	case !before.GetDeleted() && after.GetDeleted():
		return linkfoldv1.EventType_EVENT_TYPE_LINK_DELETED
	case before.GetDestination() != after.GetDestination():
		return linkfoldv1.EventType_EVENT_TYPE_LINK_RETARGETED
	case !before.GetInactive() && after.GetInactive():
		return linkfoldv1.EventType_EVENT_TYPE_LINK_DEACTIVATED
	case before.GetInactive() && !after.GetInactive():
		return linkfoldv1.EventType_EVENT_TYPE_LINK_REACTIVATED
	case before.GetLockQuery() != after.GetLockQuery(), before.GetTitle() != after.GetTitle() || !slices.Equal(before.GetTags(), after.GetTags()):
		return linkfoldv1.EventType_EVENT_TYPE_LINK_CHANGED
	}
	return linkfoldv1.EventType_EVENT_TYPE_UNSPECIFIED
}

// State is an aggregate after its newest event.
type State struct {
	// Revision is the LINKS sequence of that event: the ETag of the API and link_rev of hits.
	Revision uint64
	Event    *linkfoldv1.Event
}

// Fold is the newest event of each aggregate. It is the whole definition of current state: projections must equal it.
type Fold[K comparable] map[K]State

// Apply folds one event. Order does not matter and repeating is harmless, because the higher sequence wins.
func (f Fold[K]) Apply(key K, seq uint64, ev *linkfoldv1.Event) {
	if seq > f[key].Revision {
		f[key] = State{Revision: seq, Event: ev}
	}
}
