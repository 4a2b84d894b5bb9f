package ingest

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/ingest/internal/cursor"
	"linkfold/ingest/internal/source"
	"linkfold/schema/stream"
)

// StreamPending is how far one stream is stored.
type StreamPending struct {
	Stream string
	Last   uint64 // last sequence in the stream
	Done   uint64 // every message up to this one is in ClickHouse, or in ingest_gaps
	// Pending is Last - Done: messages that are not known to be stored. Those of a batch in flight may be already.
	Pending uint64
}

// Pending tells how far each stream is stored, in the order of Streams. It works whether ingest runs or not, and asks
// NATS only. Streams and cursors are not one snapshot: a message may be counted as pending that was stored just now,
// never the other way round.
func Pending(ctx context.Context, js jetstream.JetStream, c stream.Config) ([]StreamPending, error) {
	kv, err := js.KeyValue(ctx, stream.Cursors)
	if err != nil {
		return nil, fmt.Errorf("open cursors: %w", err)
	}
	var all []StreamPending
	for _, name := range Streams(c) {
		p, err := pendingOf(ctx, js, kv, name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func pendingOf(ctx context.Context, js jetstream.JetStream, kv jetstream.KeyValue, name string) (StreamPending, error) {
	p := StreamPending{Stream: name}
	state, _, err := cursor.NewStore(kv, name).Load(ctx) // before the stream: see Pending
	if err != nil {
		return p, err
	}
	info, err := source.Ask(ctx, js, name)
	if err != nil {
		return p, err
	}
	p.Last = info.Last
	if state.Gen == info.Gen { // else the cursor speaks of an earlier life of the stream
		p.Done = min(state.Done, info.Last)
	}
	p.Pending = p.Last - p.Done
	return p, nil
}
