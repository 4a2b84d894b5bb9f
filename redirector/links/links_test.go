package links

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"linkfold/deploy/devstack"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// Redis is believed only as far as its partition's cursor goes.
func TestRedisCursorDecides(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, k := range []string{"lost", "behind", "current"} {
		e.write(k, "https://"+k+".example/") // 1, 2, 3
	}
	last := e.write("other", "https://other.example/")
	e.project(1, "behind", "https://outdated.example/", 0, 2, last-1)
	e.project(1, "current", "https://redis.example/", 0, 3, last)
	e.projectAs("another stream", 1, "alien", "https://alien.example/", 0, last+5, last+5)
	e.idle(1, "absent", 0, last)
	e.open(config())
	e.want("lost", "https://lost.example/", 1, e.store.metrics.streamHits)
	e.want("behind", "https://behind.example/", 2, e.store.metrics.streamHits)
	e.want("current", "https://redis.example/", 3, e.store.metrics.redisHits)
	e.want("alien", "", 0, e.store.metrics.streamHits)
	e.want("absent", "", 0, e.store.metrics.redisHits)
	e.want("current", "https://redis.example/", 3, e.store.metrics.cacheHits)

	must(t, e.rdb.FlushAll(t.Context()).Err())
	must(t, e.rdb.Set(t.Context(), projection.ActiveKey, 1, 0).Err())
	e.store.cache.clear()
	e.want("current", "https://current.example/", 3, e.store.metrics.streamHits)
}

// Partitions of the test's keys must differ where their cursors do.
func TestKeysAreInDifferentPartitions(t *testing.T) {
	t.Parallel()
	seen := map[int]string{}
	for _, k := range []string{"lost", "behind", "current", "alien", "absent"} {
		p := projection.Partition(stream.LinkAggregate("go", k))
		if seen[p] != "" {
			t.Errorf("%s and %s are both in partition %d", k, seen[p], p)
		}
		seen[p] = k
	}
}

// An unknown key is remembered as unknown, and the event that creates it ends that.
func TestNegativeCaching(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.open(config())
	e.want("k", "", 0, e.store.metrics.streamHits)
	e.want("k", "", 0, e.store.metrics.cacheHits)
	rev := e.write("k", "https://one.example/")
	eventually(t, "the link", func() bool { d, r := e.get("k"); return d == "https://one.example/" && r == rev })
	rev = e.write("k", "https://two.example/")
	eventually(t, "the edit", func() bool { d, r := e.get("k"); return d == "https://two.example/" && r == rev })
	if n := testutil.ToFloat64(e.store.metrics.streamHits); n != 1 {
		t.Errorf("the stream was asked %v times, want once: events carry the state", n)
	}
}

func TestGenerationSwitch(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	last := e.write("k", "https://stream.example/")
	e.project(1, "k", "https://one.example/", 0, 1, last)
	e.project(2, "k", "https://two.example/", 0, 1, last)
	e.open(config())
	e.want("k", "https://one.example/", 1, e.store.metrics.redisHits) // From the copy in Redis.
	kv, err := e.js.KeyValue(t.Context(), stream.Projection)
	must(t, err)
	put := func(g projection.Generations) {
		t.Helper()
		_, err := kv.Put(t.Context(), projection.ActiveEntry, g.Encode())
		must(t, err)
	}
	put(projection.Generations{Active: 2, Previous: 1, Next: 3})
	eventually(t, "the switch", func() bool { return e.store.generation.Load() == 2 })
	e.store.cache.clear()
	e.want("k", "https://two.example/", 1, e.store.metrics.redisHits)
	put(projection.Generations{Active: 7, Next: 3}) // Makes no sense.
	put(projection.Generations{Active: 1, Previous: 2, Next: 3})
	eventually(t, "the way back", func() bool { return e.store.generation.Load() == 1 })
	e.store.cache.clear()
	e.want("k", "https://one.example/", 1, e.store.metrics.redisHits)
}

// With no source to ask, what is known is served, however old; what was never known is unavailable.
func TestNothingCanBeAsked(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	last := e.write("hot", "https://hot.example/")
	e.open(config())
	e.want("hot", "https://hot.example/", last, e.store.metrics.streamHits)
	must(t, e.stack.StopServer(context.Background(), devstack.NATS))
	must(t, e.stack.KillServer(devstack.Redis))
	eventually(t, "disconnected", func() bool { return !e.js.Conn().IsConnected() })
	e.store.cache.expire()
	e.want("hot", "https://hot.example/", last, e.store.metrics.stale)
	e.want("hot", "https://hot.example/", last, e.store.metrics.cacheHits) // Not every request asks in vain.
	e.unavailable("cold")
}

// A projection that is behind is better than nothing, when the stream cannot be asked. A missing key says nothing then.
func TestStaleRedisWithoutStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.write("k", "https://old.example/")
	e.project(1, "k", "https://old.example/", 0, 1, 1)
	e.write("k", "https://new.example/")
	e.open(config())
	must(t, e.stack.StopServer(context.Background(), devstack.NATS))
	eventually(t, "disconnected", func() bool { return !e.js.Conn().IsConnected() })
	e.want("k", "https://old.example/", 1, e.store.metrics.stale)
	e.unavailable("missing")
}

// A start without NATS: Redis is all there is, and is believed.
func TestStartWithoutStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.project(1, "k", "https://redis.example/", 0, 5, 9)
	must(t, e.stack.StopServer(context.Background(), devstack.NATS))
	eventually(t, "disconnected", func() bool { return !e.js.Conn().IsConnected() })
	e.openStopped(config())
	e.want("k", "https://redis.example/", 5, e.store.metrics.redisHits)
	if e.store.Ready(t.Context()) == nil {
		t.Error("ready without the stream")
	}
}

// While the feed is away edits are missed; when it is back, entries are asked for again.
func TestReturnOfTheStream(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.write("k", "https://one.example/")
	e.open(config())
	e.get("k")
	e.stop()
	rev := e.write("k", "https://two.example/")
	e.want("k", "https://one.example/", 1, e.store.metrics.cacheHits)
	e.run()
	eventually(t, "the edit", func() bool { _, r := e.get("k"); return r == rev })
}

// A stream that was made anew starts at 1 again: what is remembered of the old one must not win by its higher revision.
func TestStreamMadeAnew(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.write("k", "https://one.example/")
	e.write("k", "https://two.example/")
	e.open(config())
	e.get("k")
	e.stop()
	must(t, e.js.DeleteStream(t.Context(), stream.Links))
	must(t, stream.Ensure(t.Context(), e.js, stream.Config{Partitions: 1, HitsMaxAge: time.Hour, Replicas: 1}))
	e.write("k", "https://anew.example/")
	e.run()
	eventually(t, "the new stream's link", func() bool { d, r := e.get("k"); return d == "https://anew.example/" && r == 1 })
}

func TestConcurrentLookupsAreOne(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.write("k", "https://one.example/")
	e.open(config())
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { e.get("k") })
	}
	wg.Wait()
	m := e.store.metrics
	if n := testutil.ToFloat64(m.streamHits) + testutil.ToFloat64(m.redisHits); n > 5 {
		t.Errorf("100 lookups at once asked %v times", n)
	}
}
