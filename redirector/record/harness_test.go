package record

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"linkfold/deploy/devstack"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

var streams = stream.Config{Partitions: 1, HitsMaxAge: time.Hour, Replicas: 1}

// env is a real NATS with the streams, a direct connection to it, and one through a proxy.
type env struct {
	t     *testing.T
	stack *devstack.Stack
	proxy *proxy
	url   string // through the proxy
	js    jetstream.JetStream
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{t: t, stack: devstack.ForTest(t, devstack.NATS)}
	e.proxy, e.url = newProxy(t, e.stack.NATSURL())
	nc := e.connect(e.stack.NATSURL())
	var err error
	e.js, err = jetstream.New(nc)
	must(t, err)
	must(t, stream.Ensure(t.Context(), e.js, streams))
	return e
}

func (e *env) connect(url string) *nats.Conn {
	e.t.Helper()
	nc, err := nats.Connect(url, nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	must(e.t, err)
	e.t.Cleanup(nc.Close)
	return nc
}

func config(dir string) Config {
	return Config{Mode: ModeStream, AckWait: 50 * time.Millisecond, BufferBytes: 1 << 20, SpillDir: dir, SpillBytes: 1 << 30, Drain: 5 * time.Second}
}

// running is a recorder that runs, connected through the proxy.
type running struct {
	*Recorder
	t    *testing.T
	stop func() error // ends Run and returns its error
}

func (e *env) run(id string, cfg Config) *running {
	e.t.Helper()
	r, err := New(cfg, id, stream.HitSubject(0), e.connect(e.url), prometheus.NewRegistry(), testLog(e.t))
	must(e.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	e.t.Cleanup(func() { _ = stop() })
	return &running{Recorder: r, t: e.t, stop: stop}
}

func testLog(t *testing.T) *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return slog.New(slog.DiscardHandler)
}

// hit has an id made of n.
func hit(n int) *linkfoldv1.Hit {
	return &linkfoldv1.Hit{Id: fmt.Appendf(nil, "%016d", n), TimeUs: 1, Key: "k", UserAgent: "a user agent of some length, as they are"}
}

// record records hits from..to-1 from as many goroutines and returns how many were accepted.
func (r *running) record(from, to int) int {
	var wg sync.WaitGroup
	ok := make([]bool, to-from)
	for i := range ok {
		wg.Go(func() { ok[i] = r.Record(hit(from + i)) })
	}
	wg.Wait()
	n := 0
	for _, o := range ok {
		if o {
			n++
		}
	}
	return n
}

// stored is one message of HITS_0.
type stored struct {
	id     string
	resent bool
}

func (e *env) stored() []stored {
	e.t.Helper()
	s, err := e.js.Stream(e.t.Context(), stream.HitsName(0))
	must(e.t, err)
	var out []stored
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(e.t.Context(), seq)
		must(e.t, err)
		h, err := event.DecodeHit(m.Data)
		must(e.t, err)
		out = append(out, stored{string(h.GetId()), m.Header.Get(stream.HeaderResent) != ""})
	}
	return out
}

// wantOnce checks that hits 0..n-1 are in the stream, and that every copy beyond the first carries the mark.
func (e *env) wantOnce(n int) {
	e.t.Helper()
	seen := map[string]int{}
	for _, s := range e.stored() {
		if seen[s.id]++; seen[s.id] > 1 && !s.resent {
			e.t.Errorf("hit %s is stored again without a mark", s.id)
		}
	}
	for i := range n {
		if id := string(hit(i).GetId()); seen[id] == 0 {
			e.t.Errorf("hit %s is not stored", id)
		}
	}
	if len(seen) != n {
		e.t.Errorf("%d hits stored, want %d", len(seen), n)
	}
}

// identity samples the totals until the returned function is called and checks the ledger's equation at every sample.
func (r *running) identity() (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			t := r.Totals()
			if t.GetAccepted() != t.GetAcknowledged()+t.GetBuffered()+t.GetSpilled()+t.GetDropped() ||
				max(t.GetAcknowledged(), t.GetBuffered(), t.GetSpilled(), t.GetDropped()) > t.GetAccepted() {
				r.t.Errorf("ledger does not balance: %v", t)
				return
			}
			select {
			case <-quit:
				return
			case <-time.After(50 * time.Microsecond):
			}
		}
	})
	return func() { close(quit); wg.Wait() }
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("never happened: ", what)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
