package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run sends hits until ctx ends, then goes on for Config.Drain, moves what is left to the spill directory, and publishes the
// final totals. Hits that are still only in memory then are lost: they are counted as dropped, and the error says how many. Call it
// once; hits recorded after it are dropped and counted.
func (r *Recorder) Run(ctx context.Context) error {
	flushPub, err := newPublisher(r.nc, r.subject)
	if err != nil {
		return err
	}
	defer flushPub.close()
	drainPub, err := newPublisher(r.nc, r.subject)
	if err != nil {
		return err
	}
	defer drainPub.close()

	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var g errgroup.Group
	g.Go(func() error { r.flush(ctx, work, flushPub); return nil })
	g.Go(func() error { r.drain(work, drainPub); return nil })
	g.Go(func() error { r.publishTotals(work); return nil })
	<-ctx.Done()
	r.awaitEmpty(context.WithoutCancel(ctx))
	stop()
	_ = g.Wait()
	return r.finish(context.WithoutCancel(ctx))
}

// awaitEmpty waits until nothing is left in memory, at most Config.Drain.
func (r *Recorder) awaitEmpty(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Drain)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for r.buffered() > 0 {
		signal(r.wake)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// buffered is how many hits are only in memory.
func (r *Recorder) buffered() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts.buffered
}

// finish gives up what is still only in memory, and says so.
func (r *Recorder) finish(ctx context.Context) error {
	var errs []error
	if err := r.spillKept(); err != nil {
		errs = append(errs, err)
	}
	r.mu.Lock()
	r.closed = true
	for _, b := range append(r.kept, r.queue...) {
		b.release()
	}
	lost := r.counts.buffered
	r.counts.buffered, r.counts.unanswered, r.counts.dropped = 0, 0, r.counts.dropped+lost
	r.kept, r.queue, r.bytes = nil, nil, 0
	r.mu.Unlock()
	if lost > 0 {
		errs = append(errs, fmt.Errorf("%d hits could not be sent before shutdown and are lost: configure a spill directory to keep them", lost))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := r.sendTotals(ctx, true); err != nil {
		// Nothing is lost with them: the ledger counts this instance's hits by their rows then.
		r.log.Warn("final totals not published", "err", err)
	}
	if r.spill != nil {
		errs = append(errs, r.spill.close())
	}
	return errors.Join(errs...)
}

// spillKept is the last chance of hits that found no room in the spill directory earlier. It runs after flusher and drainer.
func (r *Recorder) spillKept() error {
	for r.spill != nil && len(r.kept) > 0 {
		if err := r.spill.append(r.kept[0]); err != nil {
			return err
		}
		r.mu.Lock()
		b := pop(&r.kept)
		r.bytes -= b.size()
		r.settleSpilled(b)
		r.mu.Unlock()
	}
	return nil
}
