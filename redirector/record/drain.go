package record

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	drainWait  = 2 * time.Second // for one batch that is sent again
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// drain sends again what could not be sent in time: first what is only in memory, then the spill, oldest first. The first success
// shows that the stream answers, and new hits go there directly again, beside the backlog: they have a publisher of their own, and the
// drainer has one batch in flight at a time, so they wait for one batch at most.
func (r *Recorder) drain(ctx context.Context, p *publisher) {
	backoff := minBackoff
	var b *batch // kept until it is acknowledged: what is sent again must be the same batch under the same id
	var fromSpill bool
	for ctx.Err() == nil {
		if b == nil {
			if b, fromSpill = r.oldest(); b == nil {
				wait(ctx, r.retry, maxBackoff)
				continue
			}
		}
		// Marked always: whatever an earlier attempt, of this instance or of one before it, has brought into the stream, the later copy is
		// found by its mark.
		if err := p.publish(ctx, b, drainWait, true); err != nil {
			b.retried = true
			wait(ctx, nil, backoff/2+rand.N(backoff))
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		backoff = minBackoff
		r.recovered(b, fromSpill)
		b = nil
	}
}

// oldest is the next batch to send again; nil when there is none that can be read. Small batches are joined, because a batch costs the
// stream an fsync, however small.
func (r *Recorder) oldest() (b *batch, fromSpill bool) {
	if b = r.oldestKept(); b == nil && r.spill != nil {
		var err error
		if b, err = r.spill.next(); err != nil {
			r.metrics.spillErrors.Inc()
			r.log.Error("spill cannot be read, hits stay there", "err", err)
			// Nobody would find out that the stream answers again: let new hits try.
			r.healthy.Store(true)
		}
		fromSpill = true
	}
	if b != nil && b.parts > 1 {
		r.mu.Lock()
		b.id = r.newID()
		r.mu.Unlock()
	}
	return b, fromSpill
}

// oldestKept joins the oldest batches that are only in memory. They stay in the list until recovered; only the drainer removes them.
func (r *Recorder) oldestKept() *batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) == 0 {
		return nil
	}
	b := r.kept[0].copy()
	for _, o := range r.kept[1:] {
		if !b.joins(o) {
			break
		}
		b.join(o)
	}
	return b
}

// recovered settles a batch that was shelved and is now in the stream.
func (r *Recorder) recovered(b *batch, fromSpill bool) {
	n := uint64(b.len())
	if fromSpill {
		// A crash before this line sends the batch once more, marked: ingest sets the copy aside.
		r.spill.advance()
	}
	r.mu.Lock()
	switch {
	case b.inherited:
		r.counts.inherited -= n
		r.counts.recovered += n
	case fromSpill:
		r.counts.spilled -= n
		r.counts.acknowledged += n
	default:
		for range b.parts {
			pop(&r.kept)
		}
		r.bytes -= b.size()
		r.counts.buffered -= n
		r.counts.acknowledged += n
	}
	if b.attempted || b.retried || b.inherited {
		r.counts.resent += n
	}
	r.mu.Unlock()
	if !r.healthy.Swap(true) {
		r.log.Info("stream takes hits again")
	}
}

// wait returns when c is signalled, after d, or when ctx ends.
func wait(ctx context.Context, c <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-c:
	case <-t.C:
	}
}
