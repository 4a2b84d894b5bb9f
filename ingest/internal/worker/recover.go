package worker

import (
	"context"
	"slices"
	"time"

	"linkfold/ingest/internal/cursor"
	"linkfold/ingest/internal/sink"
	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
)

// poll is how often recovery looks again while an attempt may still be running.
const poll = 500 * time.Millisecond

// recover is step 6: after any doubt the data decides, never a token or an error message. It returns when nothing is
// pending. It only reads until it is certain that no attempt can add rows any more, and then begins an attempt of its
// own with a new number; a crash anywhere in it is a crash in the steps 4, 5 or 7 of that attempt.
func (w *Worker) recover(ctx context.Context, l *lease) error {
	if l.Pend == nil {
		return nil
	}
	w.Failpoints.Hit("ingest.recover.before")
	w.m.recoveries.Inc()
	w.Log.Info("recovering pending range", "seq", l.Pend.First, "last", l.Pend.Last, "attempt", l.Pend.Attempt)
	for l.Pend != nil && ctx.Err() == nil {
		// In this order: what is counted after the last attempt has ended is final.
		ended, err := w.ended(ctx, l)
		if err != nil {
			return err
		}
		verdict, err := w.judge(ctx, l)
		switch {
		case err != nil:
			return err
		case verdict == cursor.Doubled:
			w.alert(alertDoubled, "messages are stored twice", "first", l.Pend.First, "last", l.Pend.Last)
		}
		switch {
		case verdict != cursor.Incomplete:
			// All rows are there. That also proves that the last attempt has done all it could, whether it has ended or not:
			// an attempt inserts only messages that were missing when it began.
			err = w.finish(ctx, l)
		case ended:
			err = w.retry(ctx, l)
		default:
			err = w.waitForEnd(ctx, l)
		}
		if err != nil {
			return err
		}
	}
	w.Failpoints.Hit("ingest.recover.after")
	return ctx.Err()
}

func (w *Worker) judge(ctx context.Context, l *lease) (cursor.Verdict, error) {
	rows, distinct, err := clickhouse.Count(ctx, w.ClickHouse, w.kind.Tables, l.Range(w.Stream))
	return l.Pend.Judge(rows, distinct), err
}

// ended reports whether no attempt on the pending range can add rows any more.
//
//   - The attempt was this process's, and it knows how it ended.
//   - The clock: after Until the fence refuses every new block, and one that it let pass before is written or dead
//     MaxExecution later. Grace covers a server clock that was set back.
//   - The attempt was this process's and its server has started again since: what was running there is gone, and only
//     this process could send it once more. (Not for an attempt of another process: that one may still be sending.)
func (w *Worker) ended(ctx context.Context, l *lease) (bool, error) {
	mine := l.Owner == w.Owner && *l.Pend == w.mine.pend
	if mine && w.mine.ended {
		return true, nil
	}
	asked := time.Now()
	s, err := clickhouse.AskServer(ctx, w.ClickHouse)
	if err != nil {
		return false, err
	}
	if s.Now.After(l.Pend.UntilTime().Add(w.MaxExecution + w.Grace)) {
		return true, nil
	}
	return mine && w.mine.restarted(s, asked), nil
}

// restarted reports whether the same server's process is certainly younger than the one that the insert was opened on.
// Uptime has whole seconds, so the start is known to a second; two more keep clocks that drift apart from mattering.
func (a attempt) restarted(s clickhouse.Server, asked time.Time) bool {
	const certainty = 3 * time.Second
	return !a.startedBy.IsZero() && s.ID == a.server && asked.Add(-s.Uptime).After(a.startedBy.Add(certainty))
}

// waitForEnd waits a moment, and gives up when another ingester moves the cursor meanwhile.
func (w *Worker) waitForEnd(ctx context.Context, l *lease) error {
	pause(ctx, min(poll, w.Until))
	_, rev, err := w.store.Load(ctx)
	if err == nil && rev != l.rev {
		return cursor.ErrTaken
	}
	return err
}

// retry makes another attempt on the messages of the pending range that are missing. What has left the stream meanwhile
// is recorded as lost.
func (w *Worker) retry(ctx context.Context, l *lease) error {
	r := l.Range(w.Stream)
	have, err := clickhouse.Stored(ctx, w.ClickHouse, w.kind.Tables, r)
	if err != nil {
		return err
	}
	b := sink.NewBatch(w.kind)
	lost, err := w.reread(ctx, r, have, b)
	if err != nil {
		return err
	}
	for _, gap := range lost {
		if err := w.recordGap(ctx, gap); err != nil {
			return err
		}
	}
	if err := b.Settle(ctx, w.ClickHouse); err != nil {
		return err
	}
	s, err := clickhouse.AskServer(ctx, w.ClickHouse)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	n := uint64(len(have) + b.Len())
	if err := w.pend(ctx, l, l.Retried(n, s.Now.Add(w.Until))); err != nil {
		return err
	}
	if err := w.insert(ctx, l, b); err != nil {
		w.Log.Warn("insert failed or is in doubt", "err", err, "seq", l.Pend.First, "attempt", l.Pend.Attempt)
		pause(ctx, jitter(minBackoff))
	}
	return nil // the caller counts again, whatever the outcome was
}

// rereadTimeout bounds reading a pending range again; what is left of it then is tried from the start.
const rereadTimeout = 2 * time.Minute

// reread fills the batch with those messages of the range that are not among have, and returns the runs of messages
// that the stream has no more.
func (w *Worker) reread(ctx context.Context, r clickhouse.Range, have []uint64, b *sink.Batch) (lost []clickhouse.Range, err error) {
	ctx, cancel := context.WithTimeout(ctx, rereadTimeout)
	defer cancel()
	b.Reset(r.Stream, r.Gen, r.First)
	next, err := source.NextAvailable(ctx, w.JS, w.Stream, r.First)
	if err != nil {
		return nil, err
	}
	if next == 0 || next > r.Last {
		return missing(r, have), nil
	}
	in, err := source.Open(ctx, w.JS, w.Stream, next)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	defer context.AfterFunc(ctx, in.Close)()
	for seq := r.First; seq <= r.Last; {
		m, err := in.Next()
		if err != nil {
			return nil, err
		}
		if m.Seq > seq {
			hole := clickhouse.Range{Stream: r.Stream, Gen: r.Gen, First: seq, Last: min(m.Seq-1, r.Last)}
			lost = append(lost, missing(hole, have)...)
		}
		if _, stored := slices.BinarySearch(have, m.Seq); !stored && m.Seq <= r.Last {
			b.Add(m)
		}
		seq = m.Seq + 1
	}
	return lost, nil
}

// missing lists the runs of the range that are not among the ascending sequences have.
func missing(r clickhouse.Range, have []uint64) (runs []clickhouse.Range) {
	i, _ := slices.BinarySearch(have, r.First)
	next := r.First
	for ; i < len(have) && have[i] <= r.Last; i++ {
		if have[i] > next {
			runs = append(runs, clickhouse.Range{Stream: r.Stream, Gen: r.Gen, First: next, Last: have[i] - 1})
		}
		next = have[i] + 1
	}
	if next <= r.Last {
		runs = append(runs, clickhouse.Range{Stream: r.Stream, Gen: r.Gen, First: next, Last: r.Last})
	}
	return runs
}
