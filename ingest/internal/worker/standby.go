package worker

import (
	"context"
	"time"

	"linkfold/ingest/internal/source"
)

// standby waits until the active ingester of the stream makes no progress: there is something to store, and the cursor
// has had one revision for as long as Takeover. Then it returns, and lead tries; if the other is alive after all, the
// compare-and-set and the fence keep both apart, and one of the two stands by again. Until then it asks twice per
// Takeover and holds no messages.
func (w *Worker) standby(ctx context.Context) {
	w.Log.Info("another ingester is active, standing by")
	w.m.active.Set(0)
	var seen uint64
	var since time.Time
	for ctx.Err() == nil {
		pause(ctx, jitter(w.Takeover/2))
		rev, waiting, err := w.look(ctx)
		switch {
		case err != nil || rev != seen || !waiting:
			seen, since = rev, time.Now()
		case time.Since(since) >= w.Takeover:
			w.Log.Info("no progress seen, taking over", "revision", rev)
			return
		}
	}
}

// look returns the revision of the cursor and whether there is anything to store.
func (w *Worker) look(ctx context.Context) (rev uint64, waiting bool, err error) {
	state, rev, err := w.store.Load(ctx)
	if err != nil {
		return 0, false, err
	}
	info, err := source.Ask(ctx, w.JS, w.Stream)
	if err != nil {
		return 0, false, err
	}
	return rev, state.Pend != nil || info.Last > state.Done || info.Gen != state.Gen, nil
}
