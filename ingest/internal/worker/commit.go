package worker

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"linkfold/ingest/internal/cursor"
	"linkfold/ingest/internal/sink"
	"linkfold/schema/clickhouse"
)

// attempt is what this process knows of the last attempt it made.
type attempt struct {
	// pend is the cursor's word that allows the attempt. Together with the owner it is unique: while the cursor says so,
	// no other process has made an attempt after this one.
	pend cursor.Pend
	// ended: no row of the attempt can come to ClickHouse any more. Its rows either are there or never will be.
	ended bool
	// The server on which the insert was opened, and when its process had certainly started, by the local clock.
	server    uuid.UUID
	startedBy time.Time
}

// commit stores a batch: steps 4, 5 and 7, and 6 if there is any doubt.
func (w *Worker) commit(ctx context.Context, l *lease, b *sink.Batch) error {
	begun := time.Now()
	if err := b.Settle(ctx, w.ClickHouse); err != nil {
		return err
	}
	s, err := clickhouse.AskServer(ctx, w.ClickHouse)
	if err != nil {
		return err
	}
	through := context.WithoutCancel(ctx) // see take; every call is bounded by itself
	if err := w.pend(through, l, l.Pended(b.Range.Last, s.Now.Add(w.Until))); err != nil {
		return err
	}
	if err := w.insert(through, l, b); err != nil {
		w.Log.Warn("insert failed or is in doubt", "err", err, "seq", l.Pend.First, "attempt", l.Pend.Attempt)
		if err := w.recover(ctx, l); err != nil {
			return err
		}
	} else if err := w.finish(through, l); err != nil {
		return err
	}
	w.m.stored(b, time.Since(begun))
	return nil
}

// pend is step 4. The exact range is durable before the first row of it can be in ClickHouse. A crash before leaves
// nothing; a crash after leaves a range that step 6 finds without rows. Losing the compare-and-set means that another
// ingester is active: this one has written nothing and steps back.
func (w *Worker) pend(ctx context.Context, l *lease, s cursor.State) error {
	w.Failpoints.Hit("ingest.pend.before")
	w.mine = attempt{pend: *s.Pend, ended: true} // nothing is sent yet, also when the answer to save is lost
	if err := w.save(ctx, l, s); err != nil {
		return err
	}
	w.Failpoints.Hit("ingest.pend.after")
	return nil
}

// insert is step 5: one fenced block per table. A crash before, within or after leaves the pending range with none,
// some or all of its rows; step 6 counts them. nil means that all rows are on ClickHouse's disk.
func (w *Worker) insert(ctx context.Context, l *lease, b *sink.Batch) error {
	w.Failpoints.Hit("ingest.insert.before")
	begun := time.Now()
	a := clickhouse.Attempt{
		Range: l.Range(w.Stream), Number: l.Pend.Attempt, Until: l.Pend.UntilTime(), MaxExecution: w.MaxExecution,
		Opened: w.opened,
	}
	for i, rows := range b.Blocks() {
		if i > 0 && rows.Len() > 0 {
			w.Failpoints.Hit("ingest.insert.between")
		}
		if err := w.insertBlock(ctx, rows, a); err != nil {
			return err
		}
	}
	w.m.insertSeconds.Observe(time.Since(begun).Seconds())
	w.Failpoints.Hit("ingest.insert.after")
	return nil
}

// insertBlock inserts one block and keeps account of whether the attempt has certainly ended.
func (w *Worker) insertBlock(ctx context.Context, rows clickhouse.Rows, a clickhouse.Attempt) error {
	// Not a deadline: clickhouse-go would send it as the execution limit. It is later than the server's own limit, so it
	// only ends the wait for a server that has stopped answering.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(w.MaxExecution+w.Grace, cancel).Stop()
	w.mine.ended = false
	err := clickhouse.Insert(ctx, w.ClickHouse, rows, a)
	w.mine.ended = err == nil || errors.Is(err, clickhouse.ErrNotSent) || errors.Is(err, clickhouse.ErrRefused)
	return err
}

// opened notes which life of which server an insert runs on. Asked after the insert was opened: the answer is about
// that life of the server or a later one.
func (w *Worker) opened(ctx context.Context) {
	w.mine.server, w.mine.startedBy = uuid.Nil, time.Time{}
	if s, err := clickhouse.AskServer(ctx, w.ClickHouse); err == nil {
		w.mine.server, w.mine.startedBy = s.ID, time.Now().Add(-s.Uptime)
	}
}

// finish is step 7: the cursor moves last, when all it speaks of is in ClickHouse. A crash before leaves the pending
// range, which step 6 finds complete; a crash after leaves nothing to do.
func (w *Worker) finish(ctx context.Context, l *lease) error {
	w.Failpoints.Hit("ingest.done.before")
	if err := w.save(ctx, l, l.Finished()); err != nil {
		return err
	}
	w.Failpoints.Hit("ingest.done.after")
	return nil
}
