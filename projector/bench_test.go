package projector_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"linkfold/projector"
	"linkfold/projector/internal/fold"
	"linkfold/projector/internal/target"
	"linkfold/schema/event"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// benchLinks is how many links the benchmarks work with; every link has benchVersions events.
const (
	benchLinks    = 100_000
	benchVersions = 2
)

// fill publishes the events of the benchmarks.
func (w *world) fill() {
	w.t.Helper()
	for v := range benchVersions {
		for i := range benchLinks {
			m, err := event.Message(linkEvent("bench.example", fmt.Sprintf("k%06d", i),
				fmt.Sprintf("https://example.com/some/longer/path/%d?version=%d&utm_source=bench", i, v), false))
			if err != nil {
				w.t.Fatal(err)
			}
			// In groups, for the server would else write every event to disk alone: one commit per hundred.
			w.batch(m, i%100, i%100 == 99)
		}
	}
}

// batch adds a message to an atomic batch of a hundred (PIPELINE.md 1.1).
func (w *world) batch(m *nats.Msg, i int, commit bool) {
	w.t.Helper()
	if i == 0 {
		w.batchID++
	}
	m.Header.Set("Nats-Batch-Id", fmt.Sprint("b", w.batchID))
	m.Header.Set("Nats-Batch-Sequence", fmt.Sprint(i+1))
	if commit {
		m.Header.Set("Nats-Batch-Commit", "1")
	}
	if i > 0 && !commit {
		if err := w.nc.PublishMsg(m); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	if r, err := w.nc.RequestMsg(m, 10*time.Second); err != nil || len(r.Data) > 0 && !commit {
		w.t.Fatalf("batch: %v %s", err, r.Data)
	}
}

// BenchmarkProjector compares, on the same servers and data, in one run: raw pipelined SETs of the values (what Redis itself could
// take), a projector catching up with all events (events/s), and a rebuild with its proof (links/s).
func BenchmarkProjector(b *testing.B) {
	w := newWorld(b)
	w.fill()
	b.Run("raw_set", func(b *testing.B) { w.benchRaw(b) })
	b.Run("first_fill", func(b *testing.B) { w.benchFill(b) })
	b.Run("catch_up", func(b *testing.B) { w.benchCatchUp(b) })
	b.Run("rebuild", func(b *testing.B) { w.benchRebuild(b) })
	b.Run("edit_to_redis", func(b *testing.B) { w.benchEdit(b) })
}

// benchRaw writes the values of all links with pipelined SETs and nothing else.
func (w *world) benchRaw(b *testing.B) {
	stop := w.start(projector.Config{})
	w.reach(b)
	stop()
	var records []target.Record
	err := target.Target{Redis: w.rdb, Generation: w.generations().Active}.Each(b.Context(), func(_ context.Context, r target.Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		w.flushAll(b)
		for i := 0; i < len(records); i += 1000 {
			pipe := w.rdb.Pipeline()
			for _, r := range records[i:min(i+1000, len(records))] {
				pipe.Set(b.Context(), "raw:"+r.Name, r.Raw, 0)
			}
			if _, err := pipe.Exec(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(records)*b.N)/b.Elapsed().Seconds(), "values/s")
}

// benchFill measures a projector that finds an empty Redis.
func (w *world) benchFill(b *testing.B) {
	for b.Loop() {
		w.flushAll(b)
		stop := w.start(projector.Config{})
		w.reach(b)
		stop()
	}
	b.ReportMetric(float64(benchLinks*b.N)/b.Elapsed().Seconds(), "links/s")
}

// benchCatchUp measures a projector that has to apply every event: the cursors are at the first event, so nothing may be left out.
func (w *world) benchCatchUp(b *testing.B) {
	live, err := fold.Read(b.Context(), w.js)
	if err != nil {
		b.Fatal(err)
	}
	defer live.Close(b.Context())
	to := target.Target{Redis: w.rdb, Generation: w.generations().Active}
	if err := target.Load(b.Context(), w.rdb); err != nil {
		b.Fatal(err)
	}
	calls := make([]target.Call, 64)
	for i := range calls {
		calls[i] = target.Call{Partition: i, Last: 1}
	}
	for b.Loop() {
		w.flushAll(b)
		if _, err := to.Apply(b.Context(), live.Life, calls); err != nil {
			b.Fatal(err)
		}
		stop := w.start(projector.Config{})
		w.reach(b)
		stop()
	}
	b.ReportMetric(float64(live.Seen*uint64(b.N))/b.Elapsed().Seconds(), "events/s")
}

func (w *world) benchRebuild(b *testing.B) {
	stop := w.start(projector.Config{})
	defer stop()
	w.reach(b)
	var built time.Duration
	for b.Loop() {
		begun := time.Now()
		_, err := projector.Rebuild(b.Context(), w.deps, 0, func(p projector.Progress) {
			if p.Stage == "switch" {
				built += time.Since(begun)
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(benchLinks*b.N)/built.Seconds(), "links/s")
}

// benchEdit measures the way of one edit from its acknowledgement by the stream to Redis.
func (w *world) benchEdit(b *testing.B) {
	stop := w.start(projector.Config{})
	defer stop()
	w.reach(b)
	key := projection.Key(w.generations().Active, stream.LinkAggregate("bench.example", "k000001"))
	var total time.Duration
	for b.Loop() {
		seq := w.publish(linkEvent("bench.example", "k000001", "https://example.com/", false))
		begun := time.Now()
		for sequence := uint64(0); sequence < seq; {
			raw, err := w.rdb.Get(b.Context(), key).Bytes()
			if err != nil {
				b.Fatal(err)
			}
			if sequence, _, _, err = projection.Split(raw); err != nil {
				b.Fatal(err)
			}
		}
		total += time.Since(begun)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "us/edit")
}

func (w *world) flushAll(b *testing.B) {
	if err := w.rdb.FlushAll(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
}

// reach waits until the active generation is at the stream's end.
func (w *world) reach(b *testing.B) {
	live, err := w.js.Stream(b.Context(), "LINKS")
	if err != nil {
		b.Fatal(err)
	}
	last := live.CachedInfo().State.LastSeq
	w.eventually("catch up", func() string {
		gen, err := projection.Active(b.Context(), w.rdb)
		if err != nil {
			return err.Error()
		}
		m, err := target.Target{Redis: w.rdb, Generation: gen}.Metas(b.Context())
		if err != nil {
			return err.Error()
		}
		if m.Lowest() < last {
			return "behind"
		}
		return ""
	})
}
