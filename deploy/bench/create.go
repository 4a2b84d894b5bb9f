package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// benchCreate measures creating links one after the other through the API, in turns with acknowledged publishes of as much data to a stream
// of the same server, which syncs every one of them to disk, too.
func benchCreate(ctx context.Context, b *bench) (tables []*table, err error) {
	w, err := b.newWorld(ctx, "create", false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	r, err := w.redirector(ctx, "create", "stream")
	if err != nil {
		return nil, err
	}
	_, err = w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "BARE", Subjects: []string{"bare.*"}, Storage: jetstream.FileStorage})
	if err != nil {
		return nil, fmt.Errorf("create stream: %w", err)
	}
	b.say("create: %d links", b.Creates)
	var created, published []float64
	payload := make([]byte, 160) // about an event's size
	for i := range b.Creates {
		begun := time.Now()
		if _, err := w.js.Publish(ctx, fmt.Sprintf("bare.k%d", i), payload); err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
		published = append(published, milliseconds(time.Since(begun)))
		begun = time.Now()
		if _, err := r.create(ctx, fmt.Sprintf("k%d", i), destination); err != nil {
			return nil, err
		}
		created = append(created, milliseconds(time.Since(begun)))
	}
	t := &table{
		Title:   fmt.Sprintf("Create a link, %d times one after the other, milliseconds", b.Creates),
		Columns: []string{"what", "p50 ratio", "p50", "p99"},
		Notes:   []string{"publish: one acknowledged JetStream publish to the same server, synced to disk"},
	}
	for _, c := range []struct {
		name string
		took []float64
	}{{"bare publish", published}, {"linkfold API", created}} {
		t.row(c.name, ratio(c.took, published), percentile(c.took, 50), percentile(c.took, 99))
	}
	return []*table{t}, nil
}
