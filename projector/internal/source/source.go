// Package source reads LINKS in order and turns its messages into what the projection stores.
//
// It uses a plain pull consumer and not nats.go's ordered one: that one replaces itself after trouble, which for a reading of the
// last event per subject would silently change what the reading covers. Here any trouble is an error, and the caller starts again
// from its cursors.
package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/event"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// ErrOrder means that messages were lost between server and client; read again from the cursor.
var ErrOrder = errors.New("events out of order")

const (
	requestTimeout = 5 * time.Second
	closeTimeout   = time.Second
	heartbeat      = time.Second      // silence of two of these is an error
	pullExpiry     = 20 * time.Second // of one pull request
	// unusedAfter is when the server forgets a consumer whose reader died.
	unusedAfter = 30 * time.Second
)

// Prefetch of one reader. Many messages per pull are half as fast again as few (PIPELINE.md 1.2); the byte limit bounds memory.
const (
	pullMessages = 10_000
	pullBytes    = 16 << 20
)

// Event is one message of LINKS.
type Event struct {
	Seq       uint64
	Partition int
	Name      string // projection.Name of the aggregate; empty when the subject is not one of ours
	Value     []byte // projection.Value; nil when Err is set
	Pending   uint64 // messages that the server still had to send
	Err       error  // why the message cannot be applied
}

// Hides reports whether a bad event may hide a good older one of its aggregate, which a reading of last events then misses.
func (e Event) Hides() bool { return e.Err != nil && e.Name != "" }

// Info is what the stream says of itself.
type Info struct {
	Life string // stream.Generation
	Last uint64 // newest sequence
}

// Ask asks the server about LINKS.
func Ask(ctx context.Context, js jetstream.JetStream) (Info, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := js.Stream(ctx, stream.Links)
	if err != nil {
		return Info{}, fmt.Errorf("ask stream: %w", err)
	}
	i := s.CachedInfo()
	return Info{Life: stream.Generation(i), Last: i.State.LastSeq}, nil
}

// Get reads the event with one sequence; the error is jetstream.ErrMsgNotFound when there is none.
func Get(ctx context.Context, js jetstream.JetStream, seq uint64) (Event, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := js.Stream(ctx, stream.Links)
	if err != nil {
		return Event{}, fmt.Errorf("ask stream: %w", err)
	}
	m, err := s.GetMsg(ctx, seq)
	if err != nil {
		return Event{}, fmt.Errorf("read event: %w", err)
	}
	return decode(m.Subject, m.Data, seq), nil
}

// Reader delivers events in order of their sequence. For one goroutine.
type Reader struct {
	// Info is from after the reading began: a reading of last events covers everything once Info.Last was delivered.
	Info Info

	js        jetstream.JetStream
	name      string
	it        jetstream.MessagesContext
	delivered uint64 // consumer sequence
}

// Open starts reading every event from sequence first on.
func Open(ctx context.Context, js jetstream.JetStream, first uint64) (*Reader, error) {
	return open(ctx, js, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(first, 1),
	})
}

// OpenLatest starts with the last event of each subject, in order of sequence, and goes on with new events. Up to some sequence,
// which is at most Info.Last, events that have a successor are left out.
func OpenLatest(ctx context.Context, js jetstream.JetStream) (*Reader, error) {
	return open(ctx, js, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: []string{">"},
	})
}

func open(ctx context.Context, js jetstream.JetStream, c jetstream.ConsumerConfig) (*Reader, error) {
	rctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	c.AckPolicy, c.MemoryStorage, c.Replicas, c.InactiveThreshold = jetstream.AckNonePolicy, true, 1, unusedAfter
	consumer, err := js.CreateConsumer(rctx, stream.Links, c)
	if err != nil {
		return nil, fmt.Errorf("create consumer: %w", err)
	}
	r := &Reader{js: js, name: consumer.CachedInfo().Name}
	r.it, err = consumer.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(pullMessages, pullBytes),
		jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(heartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return nil, fmt.Errorf("start consumer: %w", err)
	}
	if r.Info, err = Ask(ctx, js); err != nil {
		r.Close(ctx)
		return nil, err
	}
	return r, nil
}

// Next waits for the next event. After an error, that of ctx included, the reader is of no more use.
func (r *Reader) Next(ctx context.Context) (Event, error) {
	m, err := r.it.Next(jetstream.NextContext(ctx))
	if err != nil {
		return Event{}, fmt.Errorf("read events: %w", err)
	}
	meta, err := m.Metadata()
	if err != nil {
		return Event{}, fmt.Errorf("read events: %w", err)
	}
	if r.delivered++; meta.Sequence.Consumer != r.delivered {
		return Event{}, fmt.Errorf("message %d of the consumer after %d: %w", meta.Sequence.Consumer, r.delivered-1, ErrOrder)
	}
	e := decode(m.Subject(), m.Data(), meta.Sequence.Stream)
	e.Pending = meta.NumPending
	return e, nil
}

// Close stops reading and removes the consumer. If that cannot be done the server does it later.
func (r *Reader) Close(ctx context.Context) {
	r.it.Stop()
	if !r.js.Conn().IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = r.js.DeleteConsumer(ctx, stream.Links, r.name)
}

func decode(subject string, data []byte, seq uint64) Event {
	e := Event{Seq: seq}
	a, err := stream.ParseSubject(subject)
	if err != nil {
		e.Err = err
		return e
	}
	e.Name, e.Partition = projection.Name(a), projection.Partition(a)
	_, ev, err := event.Decode(subject, data)
	if err != nil {
		e.Err = err
		return e
	}
	e.Value, e.Err = projection.Value(a, seq, ev)
	return e
}
