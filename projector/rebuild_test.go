package projector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"linkfold/projector"
	"linkfold/projector/internal/target"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// editing publishes edits until the returned function is called.
func (w *world) editing() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			w.publish(linkEvent("go", fmt.Sprintf("k%d", i%70), fmt.Sprintf("https://example.com/%d", i), i%11 == 0))
		}
	})
	return func() { cancel(); wg.Wait() }
}

func TestRebuildUnderEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(100)
	w.start(projector.Config{})
	w.whole("fill")
	stop := w.editing()
	var stages []string
	for want := uint64(2); want < 4; want++ {
		gen, err := projector.Rebuild(t.Context(), w.deps, time.Hour, func(p projector.Progress) {
			if len(stages) == 0 || stages[len(stages)-1] != p.Stage {
				stages = append(stages, p.Stage)
			}
		})
		if err != nil || gen != want {
			t.Fatalf("Rebuild = %d, %v; want %d", gen, err, want)
		}
		r, err := projector.Verify(t.Context(), w.deps)
		if err != nil || !r.Clean() || r.Generation != want {
			t.Fatalf("Verify after rebuild = %+v, %v", r, err)
		}
	}
	stop()
	w.whole("after two rebuilds")
	if got := strings.Join(stages, " "); got != "build verify switch done build verify switch done" {
		t.Errorf("stages %q", got)
	}
	g := w.generations()
	if g.Previous != 2 {
		t.Fatalf("generations %+v, want previous 2", g)
	}
	w.eventually("the previous generation is fed", func() string { return w.differs(2) })
	w.eventually("the first generation is removed", func() string { return w.leftover(1) })
	if back, err := projector.Rollback(t.Context(), w.deps, time.Hour); err != nil || back != 2 {
		t.Fatalf("Rollback = %d, %v", back, err)
	}
	w.some(5)
	w.whole("after rollback")
}

func (w *world) leftover(gen uint64) string {
	keys, err := w.rdb.Keys(w.t.Context(), projection.KeyPattern(gen)).Result()
	if err != nil {
		return err.Error()
	}
	if len(keys) > 0 {
		return fmt.Sprintf("%d keys are left", len(keys))
	}
	return ""
}

func TestRollbackWithoutPrevious(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := projector.Rollback(t.Context(), w.deps, time.Hour); !errors.Is(err, projector.ErrNoPrevious) {
		t.Errorf("Rollback = %v, want ErrNoPrevious", err)
	}
}

func TestInterruptedRebuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(200)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := projector.Rebuild(ctx, w.deps, time.Hour, func(p projector.Progress) {
		if p.Stage == "verify" {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("an interrupted rebuild reported success")
	}
	w.start(projector.Config{})
	w.whole("fill of the first generation")
	if g := w.generations(); g.Active != 1 {
		t.Errorf("generations %+v, want 1 active", g)
	}
	w.eventually("leftovers", func() string { return w.leftover(2) })
}

// A rebuild that died without cleaning up leaves keys behind that a projector removes.
func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(20)
	kv, err := w.js.KeyValue(t.Context(), stream.Projection)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), projection.ActiveEntry, projection.Generations{Active: 1, Next: 5}.Encode()); err != nil {
		t.Fatal(err)
	}
	if err := w.rdb.Set(t.Context(), projection.Key(4, stream.LinkAggregate("go", "x")), "left", 0).Err(); err != nil {
		t.Fatal(err)
	}
	w.start(projector.Config{})
	w.whole("fill")
	w.eventually("leftovers", func() string { return w.leftover(4) })
}

func TestRebuildsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(100)
	w.start(projector.Config{})
	w.whole("fill")
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() { _, errs[i] = projector.Rebuild(t.Context(), w.deps, 0, nil) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, projector.ErrSuperseded):
			t.Errorf("Rebuild = %v", err)
		}
	}
	if won == 0 {
		t.Error("no rebuild succeeded")
	}
	w.some(3)
	w.whole("after rebuilds at once")
}

func TestRebuildEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(projector.Config{})
	if _, err := projector.Rebuild(t.Context(), w.deps, 0, nil); err != nil {
		t.Fatal(err)
	}
	w.publish(linkEvent("go", "a", "https://example.com/", false))
	w.whole("first event after an empty rebuild")
}

func TestVerifyFindsEachKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(40)
	stop := w.start(projector.Config{})
	w.whole("fill")
	stop()
	ctx := t.Context()
	key := func(k string) string { return projection.Key(1, stream.LinkAggregate("go", k)) }
	value := func(k string, seq uint64, dest string) []byte {
		v, err := projection.Value(stream.LinkAggregate("go", k), seq, linkEvent("go", k, dest, false))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	raw, err := w.rdb.Get(ctx, key("k3")).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	seq, _, _, err := projection.Split(raw)
	if err != nil {
		t.Fatal(err)
	}
	meta := projection.MetaKey(1, projection.Partition(stream.LinkAggregate("go", "k9")))
	pipe := w.rdb.TxPipeline()
	pipe.Del(ctx, key("k1"))
	pipe.Set(ctx, key("invented"), value("invented", 3, "https://example.com/"), 0)
	pipe.Set(ctx, key("k5"), value("k5", 1, "https://example.com/old"), 0)
	pipe.Set(ctx, key("k3"), raw, 0)
	pipe.Set(ctx, key("k39"), "short", 0)
	pipe.Set(ctx, key("k37"), value("k37", seq+10_000, "https://example.com/future"), 0)
	pipe.HSet(ctx, meta, projection.MetaChecksum, 12345)
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := projector.Verify(ctx, w.deps)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range r.Differences {
		got[d.Name] += string(d.Kind)
	}
	for name, kind := range map[string]string{
		"l:go/k1": "missing", "l:go/invented": "extra", "l:go/k5": "stale", "l:go/k3": "corrupt", "l:go/k39": "corrupt", "l:go/k37": "corrupt",
		"": "checksum",
	} {
		if got[name] != kind {
			t.Errorf("%q is reported as %q, want %q", name, got[name], kind)
		}
	}
	if r.Total() != 7 || r.Clean() {
		t.Errorf("report has %d differences %v, want 7", r.Total(), r.Differences)
	}
}

func TestVerifyTellsBehindFromWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(5)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := projector.Verify(ctx, w.deps) // nobody feeds
	if err != nil || r.Total() == 0 || r.Total() != r.Counts["behind"] {
		t.Errorf("Verify = %+v, %v; want only behind", r.Counts, err)
	}
	if err := (target.Target{Redis: w.rdb, Generation: 1}).Disown(ctx); err != nil {
		t.Error(err)
	}
}
