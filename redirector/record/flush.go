package record

import "context"

// flush is the hot path: it sends one batch after the other, or shelves them while the stream does not answer.
func (r *Recorder) flush(ctx, work context.Context, p *publisher) {
	for {
		b := r.take(work)
		if b == nil {
			return
		}
		if r.healthy.Load() {
			b.attempted = true
			err := p.publish(work, b, r.cfg.AckWait, false)
			if err == nil {
				r.acknowledged(b)
				continue
			}
			if r.healthy.Swap(false) && ctx.Err() == nil {
				r.log.Warn("stream does not take hits, keeping them until it does", "err", err, "hits", b.len())
			}
		}
		r.shelve(b)
	}
}

// take waits for a batch and removes it from the queue; nil when ctx ended.
func (r *Recorder) take(ctx context.Context) *batch {
	for {
		r.mu.Lock()
		if len(r.queue) > 0 {
			b := pop(&r.queue)
			r.mu.Unlock()
			return b
		}
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
	}
}

// acknowledged settles a batch that was never shelved.
func (r *Recorder) acknowledged(b *batch) {
	r.mu.Lock()
	r.counts.buffered -= uint64(b.len())
	r.counts.acknowledged += uint64(b.len())
	r.bytes -= b.size()
	r.answered(b)
	r.mu.Unlock()
	b.release()
	r.metrics.batch.Observe(float64(b.len()))
}

// shelve makes a batch durable in the spill directory and answers its visitors; without a directory, or when that fails, the
// batch stays in memory for the drainer.
func (r *Recorder) shelve(b *batch) {
	spilled := false
	if r.spill != nil {
		err := r.spill.append(b)
		if err != nil {
			r.metrics.spillErrors.Inc()
			if !r.spillFails {
				r.log.Error("spill fails, hits stay in memory until it works again", "err", err)
			}
		}
		spilled = err == nil
		r.spillFails = err != nil
	}
	r.mu.Lock()
	r.answered(b)
	if spilled {
		r.bytes -= b.size()
		r.settleSpilled(b)
	} else {
		r.kept = append(r.kept, b)
	}
	r.mu.Unlock()
	// A crash after this line loses nothing of a spilled batch: it was fsynced before its visitors were answered.
	b.release()
	signal(r.retry)
}

// answered is called with the lock held, before the batch is released for the first time.
func (r *Recorder) answered(b *batch) {
	if r.waits() {
		r.counts.unanswered -= uint64(b.len())
	}
}

// settleSpilled is called with the lock held, after spill.append. The drainer sees the batch only from here on, so that it cannot
// settle it before it is counted.
func (r *Recorder) settleSpilled(b *batch) {
	r.counts.buffered -= uint64(b.len())
	r.counts.spilled += uint64(b.len())
	r.spill.commit()
}

// writeOff takes hits out of the spill's counts that turned out to be unreadable. Those of earlier instances are in the accepted
// count of nobody here, so they are not in dropped either.
func (r *Recorder) writeOff(inherited bool, hits uint64) {
	r.metrics.spillErrors.Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	if inherited {
		r.counts.inherited -= hits
		return
	}
	r.counts.spilled -= hits
	r.counts.dropped += hits
}

// pop removes the oldest batch, and the list's hold on its memory.
func pop(list *[]*batch) *batch {
	b := (*list)[0]
	(*list)[0] = nil
	*list = (*list)[1:]
	return b
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
