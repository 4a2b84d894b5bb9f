package e2e

import (
	"context"
	"fmt"
	"testing"

	"linkfold/deploy/e2e/internal/fleet"
	"linkfold/deploy/e2e/internal/load"
)

// A redirector that is killed while NATS is away starts without it, serves what Redis knows, and sends what its earlier lives left in the
// spill directory once NATS is back.
func TestRedirectorKilledWhileNATSAway(t *testing.T) {
	w := newTown(t, 1, 50)
	w.warm(t, w.keys)
	w.settle(t)
	front := w.Fronts[0]

	w.Kill(fleet.NATS)
	for range 2 {
		w.killUnderLoad(t, front)
		if err := w.Restart(t.Context(), front.Name); err != nil {
			t.Fatal(err)
		}
		if err := front.AwaitAlive(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.mustServe(t, w.keys, 500)
		if n, err := front.Pending(t.Context()); err != nil || n == 0 {
			t.Errorf("with NATS away %d hits are pending, %v", n, err)
		}
	}
	w.checkStored(t)
}

// killUnderLoad kills the redirector in the middle of a second of visits.
func (w *town) killUnderLoad(t *testing.T, front *fleet.Front) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := len(w.crowd.Record().Redirected)
	kept, err := front.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.crowd.Run(ctx, w.keys, 500, 0)
	}()
	eventually(t, "the redirector spills", func(ctx context.Context) error {
		n, err := front.Pending(ctx)
		if err == nil && n < kept+200 {
			err = fmt.Errorf("%d hits pending", n)
		}
		return err
	})
	front.Kill()
	cancel()
	<-ended
	if n := len(w.crowd.Record().Redirected) - before; n < 100 {
		t.Errorf("only %d redirects before the kill", n)
	}
}

// warm lets every redirector load every key.
func (w *town) warm(t *testing.T, keys []string) {
	t.Helper()
	for _, front := range w.Fronts {
		for _, key := range keys {
			if _, err := load.Follow(front.Public, fleet.Domain, key); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// mustServe sends n visitors, each of whom must be redirected.
func (w *town) mustServe(t *testing.T, keys []string, n int) {
	t.Helper()
	before := w.crowd.Record()
	w.crowd.Run(t.Context(), keys, 500, n)
	after := w.crowd.Record()
	if got := len(after.Redirected) - len(before.Redirected); got+after.Slipped-before.Slipped != n {
		t.Errorf("%d of %d visitors were redirected; errors %d, last %v, other answers %v",
			got, n, after.Errors-before.Errors, after.LastError, after.Statuses)
	}
}

// Hot links need nothing but the redirector; cold ones need Redis or NATS. What cannot be sent is kept, counted, and arrives later.
func TestEverythingElseDown(t *testing.T) {
	w := newTown(t, 1, 60)
	hot, viaStream, viaRedis := w.keys[:20], w.keys[20:40], w.keys[40:]
	w.warm(t, hot)
	w.settle(t)
	front := w.Fronts[0]

	w.Kill(fleet.Redis, fleet.ClickHouse, fleet.Ingest+"1", fleet.Projector)
	w.mustServe(t, hot, 500)
	w.mustServe(t, viaStream, 100)

	// Redis is back with all links, and then NATS goes.
	if err := w.Restart(t.Context(), fleet.Redis); err != nil {
		t.Fatal(err)
	}
	eventually(t, "hits are in the stream", func(ctx context.Context) error { return w.pendingIs(ctx, front, 0) })
	w.Kill(fleet.NATS)
	seen := len(w.crowd.Record().Redirected)
	w.mustServe(t, viaRedis, 500)
	w.mustServe(t, hot, 500)
	want := len(w.crowd.Record().Redirected) - seen
	eventually(t, "the redirector says what is pending", func(ctx context.Context) error { return w.pendingIs(ctx, front, want) })

	w.checkStored(t)
}

func (w *town) pendingIs(ctx context.Context, front *fleet.Front, want int) error {
	n, err := front.Pending(ctx)
	if err == nil && n != want {
		err = fmt.Errorf("%d hits pending, want %d", n, want)
	}
	return err
}
