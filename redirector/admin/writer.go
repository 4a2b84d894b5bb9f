package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// ErrNotFound means that the aggregate never existed or was deleted.
var ErrNotFound = errors.New("not found")

// ErrUnsettled means that the stream did not answer in time: the change may or may not be stored. Sending it again under the same
// command id is safe and settles it.
var ErrUnsettled = errors.New("outcome unknown: repeat the request with the same Idempotency-Key")

// ConflictError means that the aggregate's newest event is not the one that the author saw. Nothing was changed.
type ConflictError struct {
	Aggregate stream.Aggregate
	// Current is the revision of the newest event; 0 when there is none.
	Current uint64
}

func (e *ConflictError) Error() string {
	if e.Current == 0 {
		return "it does not exist: create it first"
	}
	return fmt.Sprintf("it has changed in the meantime: the current revision is %d", e.Current)
}

// writeWait bounds one write with all its attempts; attemptWait bounds one attempt.
const (
	writeWait   = 5 * time.Second
	attemptWait = time.Second
)

// Writer appends events to LINKS with optimistic concurrency: no lock anywhere, the stream itself decides who was first.
type Writer struct {
	js      jetstream.JetStream
	written func(stream.Aggregate, uint64, *linkfoldv1.Event) // may be nil
}

// NewWriter writes through js.
func NewWriter(js jetstream.JetStream) *Writer { return &Writer{js: js} }

// Current is the newest event of an aggregate; a zero State when it never had one.
func (w *Writer) Current(ctx context.Context, a stream.Aggregate) (link.State, error) {
	s, err := w.js.Stream(ctx, stream.Links)
	if err != nil {
		return link.State{}, fmt.Errorf("open stream %s: %w", stream.Links, err)
	}
	m, err := s.GetLastMsgForSubject(ctx, a.Subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return link.State{}, nil
	}
	if err != nil {
		return link.State{}, fmt.Errorf("read last event: %w", err)
	}
	_, ev, err := event.Decode(m.Subject, m.Data)
	if err != nil {
		return link.State{}, err
	}
	return link.State{Revision: m.Sequence, Event: ev}, nil
}

// Write appends ev if the aggregate's newest event is still expected (0: it has none), and returns its revision. A write whose
// acknowledgement is lost is settled by the command id: found in the stream it counts as written, otherwise it is tried
// again, which the expected revision makes harmless. The error is a *ConflictError, or wraps ErrUnsettled.
func (w *Writer) Write(ctx context.Context, ev *linkfoldv1.Event, expected uint64) (uint64, error) {
	ev.PreviousRevision = expected
	ev.TimeUs = time.Now().UnixMicro()
	m, err := event.Message(ev)
	if err != nil {
		return 0, err
	}
	a, err := event.Aggregate(ev)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	for unsure := false; ; {
		attempt, stop := context.WithTimeout(ctx, attemptWait)
		ack, err := w.js.PublishMsg(attempt, m, jetstream.WithExpectLastSequencePerSubject(expected), jetstream.WithRetryAttempts(0))
		stop()
		if err == nil {
			w.tell(a, ack.Sequence, ev)
			return ack.Sequence, nil
		}
		// Only an answer of the stream is certain; any other error leaves open whether the event is stored.
		var refused *jetstream.APIError
		unsure = unsure || !errors.As(err, &refused)
		rev, settled, err := w.settle(ctx, a, ev.GetCommandId(), expected, unsure, err)
		if settled {
			if err == nil {
				w.tell(a, rev, ev)
			}
			return rev, err
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %v", ErrUnsettled, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (w *Writer) tell(a stream.Aggregate, revision uint64, ev *linkfoldv1.Event) {
	if w.written != nil {
		w.written(a, revision, ev)
	}
}

// settle finds out what became of a write that was not acknowledged; unsure when it may be stored all the same. settled is false when it
// has to be tried again.
func (w *Writer) settle(ctx context.Context, a stream.Aggregate, command string, expected uint64, unsure bool, cause error) (rev uint64, settled bool, err error) {
	now, err := w.Current(ctx, a)
	if err != nil {
		return 0, false, errors.Join(cause, err)
	}
	switch {
	case now.Revision != 0 && now.Event.GetCommandId() == command:
		return now.Revision, true, nil
	case now.Revision == expected:
		break
	case unsure:
		// Somebody was faster, or has changed our own write already.
		own, err := w.find(ctx, a, command)
		if err != nil {
			return 0, false, errors.Join(cause, err)
		}
		if own.Revision != 0 {
			return own.Revision, true, nil
		}
		fallthrough
	default:
		return 0, true, &ConflictError{Aggregate: a, Current: now.Revision}
	}
	// Not stored yet as far as anybody can see: it was lost on the way, or another write of the subject is in flight (JetStream's
	// errors 10071 and 10164). Trying again is right in both cases, because the expected revision lets only one write through.
	return 0, false, cause
}

// find looks in an aggregate's history for the event of a command; a zero State when there is none.
func (w *Writer) find(ctx context.Context, a stream.Aggregate, command string) (link.State, error) {
	history, err := w.History(ctx, a)
	if err != nil {
		return link.State{}, err
	}
	for _, s := range history {
		if s.Event.GetCommandId() == command {
			return s, nil
		}
	}
	return link.State{}, nil
}

// History is all events of an aggregate, oldest first.
func (w *Writer) History(ctx context.Context, a stream.Aggregate) ([]link.State, error) {
	s, err := w.js.Stream(ctx, stream.Links)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", stream.Links, err)
	}
	last, err := w.Current(ctx, a)
	if err != nil || last.Revision == 0 {
		return nil, err
	}
	var out []link.State
	err = scan(ctx, s, jetstream.OrderedConsumerConfig{FilterSubjects: []string{a.Subject()}}, func(m message) (bool, error) {
		_, ev, err := event.Decode(m.Subject(), m.Data())
		if err != nil {
			return false, err
		}
		out = append(out, link.State{Revision: m.seq, Event: ev})
		return m.seq < last.Revision, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return out, nil
}
