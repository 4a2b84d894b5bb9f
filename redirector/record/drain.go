package record

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	drainWait  = 5 * time.Second // for one batch that is sent again
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// drain sends again what could not be sent in time: first what is only in memory, then the spill, oldest first. The first success
// shows that the stream answers, and new hits go there directly again, beside the backlog.
func (r *Recorder) drain(ctx context.Context, p *publisher) {
	backoff := minBackoff
	for ctx.Err() == nil {
		b, fromSpill, err := r.oldest()
		if err != nil {
			r.metrics.spillErrors.Inc()
			r.log.Error("spill cannot be read, hits stay there", "err", err)
		}
		if b == nil {
			// Nothing to do, or nothing readable: then look again after a while.
			wait(ctx, r.retry, maxBackoff)
			continue
		}
		if err := p.publish(ctx, b, drainWait, b.attempted); err != nil {
			b.attempted = true
			wait(ctx, nil, backoff/2+rand.N(backoff))
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		backoff = minBackoff
		r.recovered(b, fromSpill)
	}
}

// oldest is the next batch to send again; nil when there is none. A batch in memory is copied out by reference: only this goroutine
// removes it.
func (r *Recorder) oldest() (b *batch, fromSpill bool, err error) {
	r.mu.Lock()
	if len(r.kept) > 0 {
		b = r.kept[0]
	}
	r.mu.Unlock()
	if b != nil || r.spill == nil {
		return b, false, nil
	}
	b, err = r.spill.next()
	return b, true, err
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
		r.kept = r.kept[1:]
		r.bytes -= b.size()
		r.counts.buffered -= n
		r.counts.acknowledged += n
	}
	if b.attempted {
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
