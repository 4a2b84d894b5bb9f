package record

import (
	"context"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/devstack"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

func TestHealthyStream(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{ModeStream, ModeAsync} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			cfg := config("")
			cfg.Mode, cfg.AckWait = mode, 5*time.Second
			r := e.run("r1", cfg)
			check := r.identity()
			if n := r.record(0, 1500); n != 1500 {
				t.Errorf("%d accepted", n)
			}
			if mode == ModeStream && r.Totals().GetAcknowledged() != 1500 {
				t.Errorf("answered before acknowledged: %v", r.Totals())
			}
			must(t, r.stop())
			check()
			e.wantOnce(1500)
			if n := len(e.stored()); n != 1500 {
				t.Errorf("%d stored, want no copies", n)
			}
			if r.Record(hit(9999)) || r.Totals().GetDropped() != 1 {
				t.Errorf("a hit after the end must be dropped and counted: %v", r.Totals())
			}
		})
	}
}

// Both ways in which a batch can fail, for both ways of sending it and for both places to keep it.
func TestFaults(t *testing.T) {
	t.Parallel()
	faults := map[string]func(*proxy){
		"failed and not stored": func(p *proxy) { p.dropRequests.Store(true) },
		"failed but stored":     func(p *proxy) { p.dropReplies.Store(true) },
	}
	for name, fault := range faults {
		for _, n := range []int{1, 5, 300} {
			for _, spill := range []bool{false, true} {
				t.Run(strings.ReplaceAll(name, " ", "_")+map[bool]string{false: "/memory/", true: "/spill/"}[spill]+itoa(n), func(t *testing.T) {
					t.Parallel()
					testFault(t, fault, n, spill, name == "failed but stored")
				})
			}
		}
	}
}

func testFault(t *testing.T, fault func(*proxy), n int, spill, stores bool) {
	e := newEnv(t)
	dir := ""
	if spill {
		dir = t.TempDir()
	}
	r := e.run("r1", config(dir))
	check := r.identity()
	fault(e.proxy)
	if got := r.record(0, n); got != n {
		t.Errorf("%d of %d accepted", got, n)
	}
	if c := r.Totals(); c.GetAcknowledged() != 0 || spill && c.GetSpilled() != uint64(n) {
		t.Errorf("during the fault: %v", c)
	}
	e.proxy.heal()
	eventually(t, "all acknowledged", func() bool { return r.Totals().GetAcknowledged() == uint64(n) })
	check()
	must(t, r.stop())
	e.wantOnce(n)
	c := r.Totals()
	if c.GetResent() == 0 || c.GetDropped() != 0 {
		t.Errorf("totals %v", c)
	}
	if !stores && len(e.stored()) != n {
		t.Errorf("%d stored, want no copies", len(e.stored()))
	}
}

func itoa(n int) string { return string(hit(n).GetId()[12:]) }

// An atomic batch that was stored is refused as a whole when it is sent again, and that counts as acknowledged.
func TestStoredBatchIsRecognised(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p, err := newPublisher(e.connect(e.url), stream.HitSubject(0))
	must(t, err)
	defer p.close()
	b := batchOf("r1-1", 0, 200)
	must(t, p.publish(t.Context(), b, 5*time.Second, false))
	must(t, p.publish(t.Context(), b, 5*time.Second, true))
	if got := e.stored(); len(got) != 200 {
		t.Errorf("%d stored, want 200", len(got))
	}
	// A batch that broke off in the middle, too, is taken as a whole when it is sent again.
	b = batchOf("r1-2", 200, 400)
	for i := range 100 {
		m := batchHeader(b, i)
		must(t, p.nc.PublishMsg(message(p.subject, m, b.hit(i))))
	}
	eventually(t, "the batch is taken", func() bool { return p.publish(t.Context(), b, time.Second, true) == nil })
	e.wantOnce(400)
}

// Without a spill directory memory is bounded: visitors are answered in time, and the newest hits are dropped and counted.
func TestBoundedBuffer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	r := e.run("r1", config(""))
	check := r.identity()
	must(t, e.stack.StopServer(context.Background(), devstack.NATS))
	accepted, n := 0, 0
	for r.Totals().GetDropped() < 1000 { // Each round returns: visitors do not wait for NATS.
		accepted += r.record(n, n+1000)
		n += 1000
		if n > 100_000 {
			t.Fatal("memory is not bounded")
		}
	}
	c := r.Totals()
	if c.GetAccepted() != uint64(n) || c.GetBuffered() != uint64(accepted) || c.GetDropped() != uint64(n-accepted) {
		t.Errorf("%d recorded, %d accepted, totals %v", n, accepted, c)
	}
	must(t, e.stack.StartServer(context.Background(), devstack.NATS))
	eventually(t, "the buffer is sent", func() bool { return r.Totals().GetAcknowledged() == uint64(accepted) })
	if n := r.record(n, n+10); n != 10 {
		t.Errorf("%d of 10 accepted when there is room again", n)
	}
	must(t, r.stop())
	check()
	eventually(t, "connected", func() bool { return e.js.Conn().IsConnected() })
	if s := e.stored(); len(s) < accepted+10 {
		t.Errorf("%d stored, want at least %d", len(s), accepted+10)
	}
	last := e.ledger("r1")
	if !last.GetFinal() || last.GetDropped() != c.GetDropped() || last.GetAccepted() != uint64(n+10) {
		t.Errorf("ledger says %v", last)
	}
}

// Hits that cannot be sent before the end are lost without a spill directory, and said to be.
func TestShutdownWithoutStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	cfg := config("")
	cfg.Drain = 10 * time.Millisecond
	r := e.run("r1", cfg)
	must(t, e.stack.StopServer(context.Background(), devstack.NATS))
	r.record(0, 20)
	if err := r.stop(); err == nil || !strings.Contains(err.Error(), "20 hits could not be sent") {
		t.Errorf("Run = %v", err)
	}
	if c := r.Totals(); c.GetDropped() != 20 || c.GetBuffered() != 0 {
		t.Errorf("totals %v", c)
	}
}

func TestTotalsReachTheLedger(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	r := e.run("r1", config(t.TempDir()))
	r.record(0, 100)
	eventually(t, "totals", func() bool { l := e.ledger("r1"); return l.GetAccepted() == 100 && !l.GetFinal() })
	must(t, r.stop())
	l := e.ledger("r1")
	if !l.GetFinal() || l.GetAccepted() != 100 || l.GetAcknowledged()+l.GetSpilled() != 100 || l.GetRedirector() != "r1" || l.GetStartedUs() == 0 {
		t.Errorf("last totals %v", l)
	}
}

// ledger is the newest totals of an instance; empty when there are none.
func (e *env) ledger(id string) *linkfoldv1.Totals {
	e.t.Helper()
	s, err := e.js.Stream(e.t.Context(), stream.Ledger)
	must(e.t, err)
	m, err := s.GetLastMsgForSubject(e.t.Context(), stream.LedgerSubject(id))
	if err != nil {
		return &linkfoldv1.Totals{}
	}
	l, err := event.DecodeTotals(m.Data)
	must(e.t, err)
	return l
}
