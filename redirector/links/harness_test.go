package links

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"linkfold/deploy/devstack"
	"linkfold/deploy/service"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// env is a real NATS with the streams and a real Redis with the projector's function, and a store over both.
type env struct {
	t     *testing.T
	stack *devstack.Stack
	js    jetstream.JetStream
	rdb   redis.UniversalClient
	life  string
	store *Store
	stop  func()
}

func config() Config {
	return Config{CacheEntries: 1000, FreshFor: time.Minute, MissFor: time.Minute, RedisWait: time.Second, StreamWait: time.Second}
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{t: t, stack: devstack.ForTest(t, devstack.NATS, devstack.Redis)}
	nc, err := nats.Connect(e.stack.NATSURL(), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	must(t, err)
	t.Cleanup(nc.Close)
	e.js, err = jetstream.New(nc)
	must(t, err)
	must(t, stream.Ensure(t.Context(), e.js, stream.Config{Partitions: 1, HitsMaxAge: time.Hour, Replicas: 1}))
	s, err := e.js.Stream(t.Context(), stream.Links)
	must(t, err)
	e.life = stream.Generation(s.CachedInfo())
	e.rdb, err = service.OpenRedis(e.stack.RedisURL(), service.RedisOptions{})
	must(t, err)
	t.Cleanup(func() { _ = e.rdb.Close() })
	must(t, e.rdb.FunctionLoadReplace(t.Context(), projection.Function).Err())
	return e
}

// open makes a store and runs it.
func (e *env) open(cfg Config) {
	e.t.Helper()
	e.openStopped(cfg)
	e.run()
	eventually(e.t, "ready", func() bool { return e.store.Ready(e.t.Context()) == nil })
}

// run runs the store until stop is called or the test ends.
func (e *env) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.store.Run(ctx) }()
	e.stop = sync.OnceFunc(func() { cancel(); must(e.t, <-done) })
	e.t.Cleanup(e.stop)
}

// openStopped makes a store that does not run.
func (e *env) openStopped(cfg Config) {
	e.t.Helper()
	var err error
	e.store, err = New(cfg, e.js, e.rdb, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	must(e.t, err)
}

func linkEvent(key, destination string) *linkfoldv1.Event {
	return &linkfoldv1.Event{Type: linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED, TimeUs: 1, CommandId: "c", State: &linkfoldv1.Event_Link{
		Link: &linkfoldv1.Link{Domain: "go", Key: key, Destination: destination}}}
}

// write appends an event of a link to LINKS and returns its revision.
func (e *env) write(key, destination string) uint64 {
	e.t.Helper()
	m, err := event.Message(linkEvent(key, destination))
	must(e.t, err)
	ack, err := e.js.PublishMsg(e.t.Context(), m)
	must(e.t, err)
	return ack.Sequence
}

// project applies one value to its partition, as a projector whose cursor goes from prev to last does.
func (e *env) project(gen uint64, key, destination string, prev, seq, last uint64) {
	e.t.Helper()
	e.projectAs(e.life, gen, key, destination, prev, seq, last)
}

func (e *env) projectAs(life string, gen uint64, key, destination string, prev, seq, last uint64) {
	e.t.Helper()
	a := stream.LinkAggregate("go", key)
	v, err := projection.Value(a, seq, linkEvent(key, destination))
	must(e.t, err)
	e.fcall(life, gen, a, prev, last, []string{projection.Key(gen, a)}, v)
}

// idle moves the cursor of key's partition without values.
func (e *env) idle(gen uint64, key string, prev, last uint64) {
	e.t.Helper()
	e.fcall(e.life, gen, stream.LinkAggregate("go", key), prev, last, nil)
}

func (e *env) fcall(life string, gen uint64, a stream.Aggregate, prev, last uint64, keys []string, values ...any) {
	e.t.Helper()
	keys = append([]string{projection.MetaKey(gen, projection.Partition(a))}, keys...)
	args := append([]any{life, prev, last, 0}, values...)
	got, err := e.rdb.FCall(e.t.Context(), projection.ApplyFunction, keys, args...).Slice()
	must(e.t, err)
	if got[0] != projection.StatusOK {
		e.t.Fatalf("apply: %v", got)
	}
	must(e.t, e.rdb.Set(e.t.Context(), projection.ActiveKey, 1, 0).Err())
}

// get returns the destination and the revision; "" for a link that does not exist.
func (e *env) get(key string) (string, uint64) {
	e.t.Helper()
	got, err := e.store.Get(e.t.Context(), stream.LinkAggregate("go", key))
	if err != nil {
		e.t.Fatal(err)
	}
	return got.Link.GetDestination(), got.Revision
}

func (e *env) want(key, destination string, rev uint64, source prometheus.Counter) {
	e.t.Helper()
	before := testutil.ToFloat64(source)
	if d, r := e.get(key); d != destination || r != rev {
		e.t.Errorf("%s = %q, revision %d; want %q, %d", key, d, r, destination, rev)
	}
	if testutil.ToFloat64(source) != before+1 {
		m := e.store.metrics
		e.t.Errorf("%s came from another source: cache %v, redis %v, stream %v, stale %v", key,
			testutil.ToFloat64(m.cacheHits), testutil.ToFloat64(m.redisHits), testutil.ToFloat64(m.streamHits), testutil.ToFloat64(m.stale))
	}
}

func (e *env) unavailable(key string) {
	e.t.Helper()
	if got, err := e.store.Get(e.t.Context(), stream.LinkAggregate("go", key)); !errors.Is(err, ErrUnavailable) {
		e.t.Errorf("Get(%s) = %v, %v; want ErrUnavailable", key, got, err)
	}
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
