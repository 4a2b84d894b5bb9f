package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/projector/internal/fold"
	"linkfold/projector/internal/source"
	"linkfold/projector/internal/target"
	"linkfold/schema/projection"
)

// DefaultWait is how long partitions have to reach the stream's end before they count as behind.
const DefaultWait = 10 * time.Second

const (
	askEvery   = 20 * time.Millisecond
	fillAtOnce = 1000 // values asked for by name in one round trip
)

// Generation compares one generation with the stream. Partitions that do not reach the fold within wait are reported as Behind,
// and values are not compared then: they would all be false alarms.
func Generation(ctx context.Context, js jetstream.JetStream, t target.Target, wait time.Duration) (*Report, error) {
	live, err := fold.Read(ctx, js)
	if err != nil {
		return nil, err
	}
	defer live.Close(ctx)
	c := newComparison(live.Fold, t.Generation)
	metas, err := settled(ctx, t, live.Seen, live.Life, wait)
	if err != nil {
		return nil, err
	}
	if c.behind(metas, live.Life) {
		return c.report, nil
	}
	if err := values(ctx, js, t, c); err != nil {
		return nil, err
	}
	return c.report, partitions(ctx, t, live, c, wait)
}

// settled reads the partitions until all of them have reached seq and none is ahead of its cursor, or the time is over.
func settled(ctx context.Context, t target.Target, seq uint64, life string, wait time.Duration) (*target.Metas, error) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	deadline := time.Now().Add(wait)
	for {
		metas, err := t.Metas(ctx)
		if err != nil {
			return nil, err
		}
		done := true
		for _, m := range metas {
			done = done && reached(m, seq, life)
		}
		if done || time.Now().After(deadline) {
			return metas, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

func reached(m projection.Meta, seq uint64, life string) bool {
	return m.Cursor >= seq && m.Settled() && (m.Life == life || seq == 0)
}

// behind reports the partitions that have not reached the fold.
func (c *comparison) behind(metas *target.Metas, life string) bool {
	found := false
	for p, m := range metas {
		if !reached(m, c.at, life) {
			found = true
			c.report.add(Difference{Kind: Behind, Partition: p, Want: c.at, Got: m.Cursor})
		}
	}
	return found
}

// values compares every value. Because the cursors have reached the fold, a value older than the fold is wrong for certain, and one
// that is newer can be checked against the event that it names.
func values(ctx context.Context, js jetstream.JetStream, t target.Target, c *comparison) error {
	look := func(ctx context.Context, r target.Record) error {
		newer := c.value(r)
		if newer == 0 {
			return nil
		}
		e, err := source.Get(ctx, js, newer)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		}
		c.judge(r, e, err == nil)
		return nil
	}
	if err := t.Each(ctx, look); err != nil {
		return err
	}
	return missing(ctx, t, c, look)
}

// missing asks by name for what the scan did not show; a scan of a cluster that moves slots may miss some.
func missing(ctx context.Context, t target.Target, c *comparison, look func(context.Context, target.Record) error) error {
	var records []target.Record
	var found []target.Record // looked at afterwards: looking marks, and marking changes what is listed
	flush := func() error {
		if err := t.Fill(ctx, records); err != nil {
			return err
		}
		for _, r := range records {
			if r.Raw != nil {
				found = append(found, r)
				continue
			}
			want, _ := c.fold.Get(r.Name)
			c.missing(r.Name, want)
		}
		records = records[:0]
		return nil
	}
	for name, want := range c.unseen() {
		records = append(records, target.Record{Partition: int(want.Partition), Name: name})
		if len(records) == fillAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	for _, r := range found {
		if err := look(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// partitions compares each partition's sums with the fold at exactly the partition's cursor: the fold is moved forward through the
// events that came meanwhile, leaving out those that are beyond their own partition's cursor.
func partitions(ctx context.Context, t target.Target, live *fold.Live, c *comparison, wait time.Duration) error {
	metas, err := settled(ctx, t, c.at, live.Life, wait)
	if err != nil {
		return err
	}
	if c.behind(metas, live.Life) {
		return nil
	}
	end := uint64(0)
	for _, m := range metas {
		end = max(end, m.Cursor)
	}
	err = live.Advance(ctx, end, func(e source.Event) bool { return e.Value == nil || e.Seq <= metas[e.Partition].Cursor })
	if err != nil {
		return fmt.Errorf("fold stream: %w", err)
	}
	for p, want := range live.Sums() {
		c.partition(p, metas[p], want)
	}
	return nil
}
