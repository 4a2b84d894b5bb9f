package record

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// totalsEvery is how often changed totals are published.
const totalsEvery = time.Second

// counts is the ledger of this instance; see linkfoldv1.Totals for what each means.
type counts struct {
	accepted, acknowledged, dropped, buffered, spilled, recovered, resent, inherited uint64

	// unanswered are buffered hits whose visitors wait for durability. They are not accepted yet: if the process is killed now, those visitors
	// get no answer, and the ledger must not look for their hits.
	unanswered uint64
}

// Totals is this instance's part of the ledger at this moment: accepted = acknowledged + buffered + spilled + dropped. Hits whose visitors
// still wait for durability are in none of them.
func (r *Recorder) Totals() *linkfoldv1.Totals {
	r.mu.Lock()
	c := r.counts
	r.mu.Unlock()
	return &linkfoldv1.Totals{
		Redirector: r.id, StartedUs: r.started.UnixMicro(), TimeUs: time.Now().UnixMicro(),
		Accepted: c.accepted - c.unanswered, Acknowledged: c.acknowledged, Dropped: c.dropped, Buffered: c.buffered - c.unanswered, Spilled: c.spilled,
		Recovered: c.recovered, Resent: c.resent, Inherited: c.inherited,
	}
}

// publishTotals sends the totals to the LEDGER stream whenever they have changed, until ctx ends. What could not be sent while the
// stream was away, dropped hits above all, is in the next message that can.
func (r *Recorder) publishTotals(ctx context.Context) {
	tick := time.NewTicker(totalsEvery)
	defer tick.Stop()
	var sent counts
	var dropped uint64
	first := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		now := r.counts
		r.mu.Unlock()
		if now.dropped > dropped {
			r.log.Error("hits dropped and counted, memory is full", "hits", now.dropped-dropped)
			dropped = now.dropped
		}
		if now == sent && !first {
			continue
		}
		if err := r.sendTotals(ctx, false); err != nil {
			r.metrics.totalsErrors.Inc()
			r.log.Debug("totals not published, will try again", "err", err)
			continue
		}
		sent, first = now, false
	}
}

func (r *Recorder) sendTotals(ctx context.Context, final bool) error {
	t := r.Totals()
	t.Final = final
	data, err := proto.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode totals: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, totalsEvery)
	defer cancel()
	m, err := r.nc.RequestWithContext(ctx, stream.LedgerSubject(r.id), data)
	if err != nil {
		return fmt.Errorf("publish totals: %w", err)
	}
	return ackError(m)
}
