package worker

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"linkfold/ingest/internal/cursor"
	"linkfold/ingest/internal/sink"
	"linkfold/ingest/internal/source"
)

// lease is the cursor as this worker has read or written it last. It is a right to write only as long as nobody else
// has written: the revision tells.
type lease struct {
	cursor.State
	rev uint64
}

// save writes the state and makes it the lease's. The error wraps cursor.ErrTaken when another ingester was faster.
func (w *Worker) save(ctx context.Context, l *lease, s cursor.State) error {
	s.Owner = w.Owner
	rev, err := w.store.Save(ctx, s, l.rev)
	if err != nil {
		return err
	}
	l.State, l.rev = s, rev
	w.m.done.Set(float64(s.Done))
	return nil
}

// lead works as the active ingester of the stream until an error or the end of ctx.
func (w *Worker) lead(ctx context.Context) error {
	l, err := w.boot(ctx)
	if err != nil {
		return err
	}
	// 2 OPEN. What is pending comes first; then reading goes on behind it. A crash here has changed nothing.
	w.Failpoints.Hit("ingest.open.before")
	if err := w.recover(ctx, &l); err != nil {
		return err
	}
	w.Failpoints.Hit("ingest.open.after")
	w.setStatus(nil)
	w.m.active.Set(1)
	return w.follow(ctx, &l)
}

// follow runs the collector beside the storing of what it has collected, and waits for both.
func (w *Worker) follow(ctx context.Context, l *lease) error {
	c := newCollector(w, l)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.run(gctx) })
	g.Go(func() error {
		for {
			select {
			case <-gctx.Done():
				return gctx.Err()
			case b := <-c.out:
				if err := w.take(gctx, l, b); err != nil {
					return err
				}
				c.free <- b
			}
		}
	})
	return g.Wait()
}

// take stores one batch, or records one gap. Once begun it is carried through although ctx ends: the next start would
// otherwise have to wait until the attempt is certainly dead.
func (w *Worker) take(ctx context.Context, l *lease, b *sink.Batch) error {
	if b.Range.First != l.Done+1 {
		return fmt.Errorf("batch begins at %d and cursor is at %d", b.Range.First, l.Done)
	}
	if b.Gap {
		return w.skip(ctx, l, b)
	}
	return w.commit(ctx, l, b)
}

// skip records a hole in the stream and moves the cursor over it.
func (w *Worker) skip(ctx context.Context, l *lease, b *sink.Batch) error {
	next, err := source.NextAvailable(ctx, w.JS, w.Stream, b.Range.First)
	if err != nil {
		return err
	}
	if next != b.Range.Last+1 {
		return fmt.Errorf("message after hole at %d is %d and not %d", b.Range.First, next, b.Range.Last+1)
	}
	return w.skipTo(ctx, l, b.Range.Last)
}
