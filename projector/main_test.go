package projector_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"linkfold/deploy/devstack"
	"linkfold/deploy/service"
	"linkfold/projector"
	"linkfold/projector/internal/fold"
	"linkfold/projector/internal/target"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

func TestMain(m *testing.M) {
	if devstack.RunChild() {
		return
	}
	service.LogRedis(slog.New(slog.DiscardHandler)) // else a line per refused dial while a server is killed
	goleak.VerifyTestMain(m)
}

// world is one test's servers and connections.
type world struct {
	t     testing.TB
	stack *devstack.Stack
	nc    *nats.Conn
	js    jetstream.JetStream
	rdb   *redis.Client
	deps  projector.Deps

	batchID int // of the last atomic batch
}

func streams() stream.Config {
	return stream.Config{Partitions: 1, HitsMaxAge: 24 * time.Hour, Replicas: 1}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, stack: devstack.ForTest(t, devstack.NATS, devstack.Redis)}
	nc, err := nats.Connect(w.stack.NATSURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	o, err := redis.ParseURL(w.stack.RedisURL())
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.DialerRetries, o.DialTimeout = -1, 1, 500*time.Millisecond
	w.nc, w.rdb = nc, redis.NewClient(o)
	t.Cleanup(func() { w.rdb.Close() })
	if w.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	if err := stream.Ensure(t.Context(), w.js, streams()); err != nil {
		t.Fatal(err)
	}
	w.deps = projector.Deps{NATS: w.js, Redis: w.rdb, Log: testLog(t)}
	return w
}

// testLog writes to the standard error output in verbose runs; a server that is killed under a projector makes it complain.
func testLog(t testing.TB) *slog.Logger {
	if !testing.Verbose() || os.Getenv("LINKFOLD_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("test", t.Name())
}

// start runs a projector until the test ends or the returned function is called.
func (w *world) start(cfg projector.Config) (stop func()) {
	w.t.Helper()
	cfg.Streams = streams()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- projector.Run(ctx, cfg, w.deps) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

func linkEvent(domain, key, destination string, deleted bool) *linkfoldv1.Event {
	typ := linkfoldv1.EventType_EVENT_TYPE_LINK_RETARGETED
	if deleted {
		typ = linkfoldv1.EventType_EVENT_TYPE_LINK_DELETED
	}
	return &linkfoldv1.Event{Type: typ, CommandId: key, Actor: "test", TimeUs: 1, State: &linkfoldv1.Event_Link{
		Link: &linkfoldv1.Link{Domain: domain, Key: key, Destination: destination, Deleted: deleted}}}
}

// publish adds events in order and returns the last sequence.
func (w *world) publish(events ...*linkfoldv1.Event) uint64 {
	w.t.Helper()
	var seq uint64
	for _, e := range events {
		m, err := event.Message(e)
		if err != nil {
			w.t.Fatal(err)
		}
		ack, err := w.js.PublishMsg(w.t.Context(), m)
		if err != nil {
			w.t.Fatal(err)
		}
		seq = ack.Sequence
	}
	return seq
}

func (w *world) generations() projection.Generations {
	w.t.Helper()
	kv, err := w.js.KeyValue(w.t.Context(), stream.Projection)
	if err != nil {
		w.t.Fatal(err)
	}
	g, _, err := projection.ReadGenerations(w.t.Context(), kv)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// eventually polls until ok is true; it gives up, with what the last problem was, after a time no healthy run needs.
func (w *world) eventually(what string, ok func() string) {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		problem := ok()
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %s", what, problem)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// whole waits until the active generation in Redis equals the fold of the stream, and its n and sum are those of its content.
func (w *world) whole(what string) {
	w.t.Helper()
	w.eventually(what, func() string {
		g, err := projection.Active(w.t.Context(), w.rdb)
		if err != nil {
			return err.Error()
		}
		if want := w.generations().Active; g != want {
			return "mirror is not the active generation"
		}
		return w.differs(g)
	})
}

// differs compares a generation with the fold by the simplest means, and names the first difference.
func (w *world) differs(gen uint64) string {
	w.t.Helper()
	ctx := w.t.Context()
	live, err := fold.Read(ctx, w.js)
	if err != nil {
		return err.Error()
	}
	defer live.Close(ctx)
	to := target.Target{Redis: w.rdb, Generation: gen}
	metas, err := to.Metas(ctx)
	if err != nil {
		return err.Error()
	}
	sums := live.Sums()
	for p, m := range metas {
		if m.Cursor != live.Seen {
			return "a cursor is not at the end"
		}
		if m.Count != sums[p].Count || m.Checksum != sums[p].Checksum {
			return "n or sum differs"
		}
	}
	found := map[string]bool{}
	problem := ""
	err = to.Each(ctx, func(_ context.Context, r target.Record) error {
		found[r.Name] = true
		want, ok := live.Get(r.Name)
		seq, term, state, err := projection.Split(r.Raw)
		if !ok || err != nil || seq != want.Seq || term != want.Term || projection.Checksum(r.Name, seq, state) != term {
			problem = "value of " + r.Name + " differs"
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	if problem == "" && len(found) != live.Len() {
		return "keys are missing"
	}
	return problem
}
