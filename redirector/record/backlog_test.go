package record

import (
	"testing"
	"time"
)

// A full or failing directory leaves hits in memory; they are spilled at the end if there is room again.
func TestSpillFullInRecorder(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	cfg := config(t.TempDir())
	cfg.SpillBytes, cfg.Drain = segmentBytes, 10*time.Millisecond
	r := e.run("r1", cfg)
	check := r.identity()
	e.proxy.dropRequests.Store(true)
	r.record(0, 100)
	r.spill.max = 0 // Nothing fits from here on. The flusher reads it only after it has taken the next batch.
	r.record(100, 200)
	if c := r.Totals(); c.GetSpilled() != 100 || c.GetBuffered() != 100 {
		t.Errorf("totals %v", c)
	}
	r.spill.max = segmentBytes
	if err := r.stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	check()
	if c := r.Totals(); c.GetSpilled() != 200 || c.GetDropped() != 0 {
		t.Errorf("totals %v", c)
	}
	e.proxy.heal()
	next := e.run("r2", config(cfg.SpillDir))
	eventually(t, "recovery", func() bool { return next.Totals().GetRecovered() == 200 })
	if c := next.Totals(); c.GetInherited() != 0 || c.GetAccepted() != 0 {
		t.Errorf("totals %v", c)
	}
	e.wantOnce(200)
	for _, s := range e.stored() {
		if !s.resent {
			t.Errorf("recovered hit %s is not marked", s.id)
		}
	}
	must(t, next.stop())
}

// The backlog does not hold up new hits: they are acknowledged while most of it is still there.
func TestBacklogBesideLiveTraffic(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	dir := t.TempDir()
	const backlog = 5000
	s, _ := openTestSpill(t, dir, 1<<30)
	for i := 0; i < backlog; i += 100 {
		put(t, s, i, i+100)
	}
	must(t, s.close())
	cfg := config(dir)
	cfg.AckWait = 10 * time.Second
	r := e.run("r1", cfg)
	for i := range 5 {
		r.record(backlog+i, backlog+i+1)
	}
	eventually(t, "recovery", func() bool { return r.Totals().GetRecovered() == backlog })
	must(t, r.stop())
	e.wantOnce(backlog + 5)
	for i, s := range e.stored() {
		if s.id == string(hit(backlog).GetId()) && i == backlog {
			t.Error("the first new hit came after the whole backlog")
		}
	}
}
