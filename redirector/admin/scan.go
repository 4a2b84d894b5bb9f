package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of a consumer that reads a stream once.
const (
	forgotten = 30 * time.Second // the server removes one whose reader has died
	goodbye   = time.Second      // for removing one that is done with
)

// message is a message of a stream with its sequence.
type message struct {
	jetstream.Msg
	seq     uint64
	pending uint64 // messages behind it that the consumer would still deliver
}

// scan reads a stream by a consumer of its own until do has had enough, and removes the consumer. When there is nothing to read it does nothing.
func scan(ctx context.Context, s jetstream.Stream, cfg jetstream.OrderedConsumerConfig, do func(message) (more bool, err error)) error {
	cfg.InactiveThreshold = forgotten
	consumer, err := s.OrderedConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	defer func() {
		// After an error, or when it was made anew just now, the server forgets it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		_ = s.DeleteConsumer(ctx, consumer.CachedInfo().Name)
	}()
	info, err := consumer.Info(ctx)
	if err != nil {
		return fmt.Errorf("read consumer: %w", err)
	}
	if info.NumPending == 0 {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("start consumer: %w", err)
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	for {
		m, err := messages.Next()
		if err != nil {
			return fmt.Errorf("read stream: %w", errors.Join(err, ctx.Err()))
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read stream: %w", err)
		}
		if more, err := do(message{m, meta.Sequence.Stream, meta.NumPending}); !more || err != nil {
			return err
		}
	}
}
