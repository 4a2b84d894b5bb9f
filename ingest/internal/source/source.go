// Package source reads messages of a stream in order, and tells what the stream still holds.
package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/stream"
)

// Message is one message of a stream.
type Message struct {
	Seq     uint64
	Time    time.Time // when the stream stored it, UTC
	Subject string
	Header  nats.Header
	Data    []byte
}

// timeout bounds one request to JetStream.
const timeout = 5 * time.Second

// Prefetch of one reader. 10,000 messages per pull is half as fast again as 500 (PIPELINE.md 1.2); the byte limit bounds
// memory when messages are large.
const (
	pullMessages = 10_000
	pullBytes    = 16 << 20
)

// Info is what the stream says of itself now.
type Info struct {
	Gen         string
	First, Last uint64 // First is Last+1 when the stream is empty
}

// Ask asks the server about a stream.
func Ask(ctx context.Context, js jetstream.JetStream, name string) (Info, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := js.Stream(ctx, name)
	if err != nil {
		return Info{}, fmt.Errorf("ask stream: %w", err)
	}
	i := s.CachedInfo()
	return Info{Gen: stream.Generation(i), First: i.State.FirstSeq, Last: i.State.LastSeq}, nil
}

// NextAvailable is the first sequence at or above seq that the stream still holds, 0 when there is none.
func NextAvailable(ctx context.Context, js jetstream.JetStream, name string, seq uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := js.Stream(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("ask stream: %w", err)
	}
	m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(">"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for next message: %w", err)
	}
	return m.Sequence, nil
}

// Reader delivers the messages of a stream from one sequence on, in order, without acknowledging anything: an ordered
// consumer, so the cursor is ours alone. For one goroutine; Close may be called from any.
type Reader struct{ it jetstream.MessagesContext }

// Open starts reading at first, or at the oldest message if that is later.
func Open(ctx context.Context, js jetstream.JetStream, name string, first uint64) (*Reader, error) {
	c, err := js.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   max(first, 1),
	})
	if err != nil {
		return nil, fmt.Errorf("open consumer: %w", err)
	}
	it, err := c.Messages(jetstream.PullMaxMessagesWithBytesLimit(pullMessages, pullBytes))
	if err != nil {
		return nil, fmt.Errorf("open consumer: %w", err)
	}
	return &Reader{it: it}, nil
}

// Next waits for the next message. After Close it returns an error.
func (r *Reader) Next() (Message, error) {
	m, err := r.it.Next()
	if err != nil {
		return Message{}, fmt.Errorf("read stream: %w", err)
	}
	meta, err := m.Metadata()
	if err != nil {
		return Message{}, fmt.Errorf("read stream: %w", err)
	}
	return Message{
		Seq: meta.Sequence.Stream, Time: meta.Timestamp.UTC(), Subject: m.Subject(), Header: m.Headers(), Data: m.Data(),
	}, nil
}

// Close ends reading and wakes Next.
func (r *Reader) Close() { r.it.Stop() }
