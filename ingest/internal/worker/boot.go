package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"linkfold/ingest/internal/cursor"
	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
)

// errBehind: the stream has lost messages that ClickHouse holds, so new ones would get sequences that are taken.
var errBehind = errors.New("stream ends before its cursor: it has lost messages; restore it, or make it again")

// boot is step 1: cursor, stream and data must agree before anything is written. A crash anywhere in it is repeated by
// the next boot: what it writes (gap rows, a recovered cursor) it would write again the same way.
func (w *Worker) boot(ctx context.Context) (lease, error) {
	w.Failpoints.Hit("ingest.boot.before")
	var l lease
	info, err := source.Ask(ctx, w.JS, w.Stream)
	if err != nil {
		return l, err
	}
	if l.State, l.rev, err = w.store.Load(ctx); err != nil {
		return l, err
	}
	if err := w.adopt(ctx, &l, info); err != nil {
		return l, err
	}
	if end := l.end(); info.Last < end {
		w.alert(alertBehind, "stream ends before its cursor", "seq", info.Last, "cursor", end)
		return l, errBehind
	}
	if err := w.refill(ctx, &l); err != nil {
		return l, err
	}
	if err := w.reconcile(ctx, &l); err != nil {
		return l, err
	}
	if l.Pend == nil && info.First > l.Done+1 {
		if err := w.skipTo(ctx, &l, info.First-1); err != nil {
			return l, err
		}
	}
	w.Failpoints.Hit("ingest.boot.after")
	return l, nil
}

// end is the last sequence that the cursor speaks of.
func (l *lease) end() uint64 {
	if l.Pend != nil {
		return l.Pend.Last
	}
	return l.Done
}

// adopt makes the cursor one of the stream's present life: a new one when there is none, and a fresh start when the
// stream was made again. Rows carry the generation, so both lives stay apart in the tables.
func (w *Worker) adopt(ctx context.Context, l *lease, info source.Info) error {
	switch {
	case l.rev == 0:
		return w.adoptData(ctx, l, info)
	case l.Gen == info.Gen:
		return nil
	}
	w.alert(alertRecreated, "stream was made again, starting over", "gen", info.Gen, "seq", l.Done)
	lost := clickhouse.Range{Stream: w.Stream, Gen: l.Gen, First: l.Done + 1} // up to where, nobody can tell any more
	if err := clickhouse.RecordGap(ctx, w.ClickHouse, lost, clickhouse.GapRecreated); err != nil {
		return err
	}
	return w.save(ctx, l, cursor.State{Gen: info.Gen})
}

// adoptData makes a cursor where there is none. Without rows this is a new installation. With rows the cursor was lost,
// and an attempt that it spoke of may still be running: nothing is read before the longest attempt must be dead.
func (w *Worker) adoptData(ctx context.Context, l *lease, info source.Info) error {
	top, err := clickhouse.Top(ctx, w.ClickHouse, w.kind.Tables, w.above(info.Gen, 0))
	if err != nil {
		return err
	}
	if top > 0 {
		w.alert(alertCursorLost, "cursor is lost, recovering it from the data", "seq", top)
		pause(ctx, w.Until+w.MaxExecution+w.Grace)
	}
	return w.save(ctx, l, cursor.State{Gen: info.Gen})
}

// above is the range of everything behind a sequence.
func (w *Worker) above(gen string, seq uint64) clickhouse.Range {
	return clickhouse.Range{Stream: w.Stream, Gen: gen, First: seq + 1, Last: math.MaxInt64}
}

// refill starts over when the cursor speaks of rows and there is not one, nor a gap that explains it: ClickHouse was thrown away. The log
// still has what has not aged out of it; what has becomes a gap. An attempt that the cursor spoke of must be dead first.
func (w *Worker) refill(ctx context.Context, l *lease) error {
	if l.Done == 0 {
		return nil // Nothing was ever finished; recovery deals with what is pending.
	}
	stored := clickhouse.Range{Stream: w.Stream, Gen: l.Gen, First: 1, Last: math.MaxInt64}
	top, err := clickhouse.Top(ctx, w.ClickHouse, w.kind.Tables, stored)
	if err != nil || top > 0 {
		return err
	}
	gaps, err := clickhouse.KnownGaps(ctx, w.ClickHouse, stored)
	if err != nil || len(gaps) > 0 {
		return err
	}
	w.alert(alertEmptied, "clickhouse has lost all rows, storing the stream again", "seq", l.Done)
	if l.Pend != nil {
		pause(ctx, w.Until+w.MaxExecution+w.Grace)
	}
	return w.save(ctx, l, cursor.State{Gen: l.Gen})
}

// reconcile moves a cursor that is behind its data: it was lost, or restored from an old copy. Rows above the cursor
// are taken as a pending range, so that recovery adds what is missing between them and nothing twice.
func (w *Worker) reconcile(ctx context.Context, l *lease) error {
	for {
		above := w.above(l.Gen, l.end())
		top, err := clickhouse.Top(ctx, w.ClickHouse, w.kind.Tables, above)
		if err != nil || top == 0 {
			return err
		}
		w.alert(alertCursorBehind, "cursor is behind the data", "cursor", l.end(), "seq", top)
		if err := w.recover(ctx, l); err != nil { // what is pending comes first; it ends below the rows
			return err
		}
		if err := w.adoptRows(ctx, l, top); err != nil {
			return err
		}
	}
}

// adoptRows takes the next part of the rows between the cursor and top into the cursor.
func (w *Worker) adoptRows(ctx context.Context, l *lease, top uint64) error {
	part := clickhouse.Range{Stream: w.Stream, Gen: l.Gen, First: l.Done + 1, Last: min(top, l.Done+uint64(w.MaxRows))}
	seqs, err := clickhouse.Stored(ctx, w.ClickHouse, w.kind.Tables, part)
	if err != nil {
		return err
	}
	if prefix := contiguous(l.Done, seqs); prefix > l.Done {
		return w.save(ctx, l, l.Skipped(prefix))
	}
	s, err := clickhouse.AskServer(ctx, w.ClickHouse)
	if err != nil {
		return err
	}
	if err := w.save(ctx, l, l.Pended(part.Last, s.Now.Add(w.Until))); err != nil {
		return err
	}
	return w.recover(ctx, l)
}

// contiguous is the last of the sequences that follow on done without a hole; done when there is none.
func contiguous(done uint64, seqs []uint64) uint64 {
	for i, seq := range seqs {
		if seq != done+uint64(i)+1 {
			return done + uint64(i)
		}
	}
	return done + uint64(len(seqs))
}

// skipTo records that the messages behind the cursor up to last cannot be read, and moves the cursor over them. The
// gap is recorded first: a crash in between records it once more, which replaces the row.
func (w *Worker) skipTo(ctx context.Context, l *lease, last uint64) error {
	lost := clickhouse.Range{Stream: w.Stream, Gen: l.Gen, First: l.Done + 1, Last: last}
	if err := w.recordGap(ctx, lost); err != nil {
		return err
	}
	return w.save(ctx, l, l.Skipped(last))
}

func (w *Worker) recordGap(ctx context.Context, lost clickhouse.Range) error {
	known, err := clickhouse.KnownGaps(ctx, w.ClickHouse, lost)
	if err != nil {
		return err
	}
	if slices.Contains(known, lost) {
		return nil
	}
	w.alert(alertGap, "messages left the stream before they were stored", "first", lost.First, "last", lost.Last)
	w.m.lost.Add(float64(lost.Len()))
	if err := clickhouse.RecordGap(ctx, w.ClickHouse, lost, clickhouse.GapTrimmed); err != nil {
		return fmt.Errorf("skip to %d: %w", lost.Last, err)
	}
	return nil
}
