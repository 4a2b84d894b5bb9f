package links

import (
	"strconv"
	"testing"
	"time"

	"linkfold/schema/stream"
)

func key(i int) stream.Aggregate { return stream.LinkAggregate("go", strconv.Itoa(i)) }

func TestNewerRevisionWins(t *testing.T) {
	t.Parallel()
	c := newCache(1000)
	for _, step := range []struct{ put, want uint64 }{{5, 5}, {3, 5}, {0, 5}, {6, 6}, {6, 6}} {
		if got := c.put(key(1), Entry{Revision: step.put}, time.Minute, 0); got.Revision != step.want {
			t.Errorf("put %d returned %d, want %d", step.put, got.Revision, step.want)
		}
		if got, _, _ := c.get(key(1), time.Now()); got.Revision != step.want {
			t.Errorf("after put %d: %d, want %d", step.put, got.Revision, step.want)
		}
	}
}

func TestEvictionIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache(10 * shards)
	for i := range 50_000 {
		c.put(key(i), Entry{Revision: 1}, time.Minute, 0)
	}
	if n := c.len(); n > 10*shards || n < 5*shards {
		t.Errorf("%d entries, want at most %d", n, 10*shards)
	}
}

// Misses, which live shortly, go before links.
func TestEvictionPrefersShortLived(t *testing.T) {
	t.Parallel()
	c := newCache(10 * shards)
	for i := range 100 {
		c.put(key(i), Entry{Revision: 1}, time.Hour, 0)
	}
	for i := range 50_000 {
		c.put(key(1000+i), Entry{}, time.Second, 0)
	}
	left := 0
	for i := range 100 {
		if _, known, _ := c.get(key(i), time.Now()); known {
			left++
		}
	}
	if left < 90 {
		t.Errorf("%d of 100 links survived a flood of misses", left)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	c := newCache(1000)
	c.put(key(1), Entry{Revision: 1}, time.Minute, 0)
	epoch := c.epoch.Load()
	c.expire()
	if _, known, fresh := c.get(key(1), time.Now()); !known || fresh {
		t.Errorf("after expire: known %v, fresh %v", known, fresh)
	}
	c.put(key(2), Entry{Revision: 2}, time.Minute, epoch) // Asked for before.
	if _, known, fresh := c.get(key(2), time.Now()); !known || fresh {
		t.Errorf("late answer: known %v, fresh %v", known, fresh)
	}
	c.put(key(1), Entry{Revision: 1}, time.Minute, c.epoch.Load())
	if _, _, fresh := c.get(key(1), time.Now()); !fresh {
		t.Error("a new answer is not fresh")
	}
}

// No event younger than settle is asked of Redis; every one older is, after two steps.
func TestSettle(t *testing.T) {
	t.Parallel()
	var f feed
	t0 := time.Unix(1000, 0)
	if !f.believes("x", 1, t0) || f.believes("x", 0, t0) {
		t.Error("before the feed ran, a cursor is all it takes")
	}
	f.begin("x", 10, t0)
	for _, c := range []struct {
		after   time.Duration
		advance uint64
		cursor  uint64
		life    string
		want    bool
	}{
		{0, 0, 9, "x", false}, {0, 0, 10, "x", true}, {0, 0, 10, "y", false},
		{time.Second, 20, 10, "x", true}, {2 * settle, 30, 10, "x", true}, {3*settle - time.Second, 0, 10, "x", true},
		{3 * settle, 0, 19, "x", false}, {3 * settle, 0, 20, "x", true}, {5 * settle, 0, 29, "x", false}, {5 * settle, 0, 30, "x", true},
	} {
		now := t0.Add(c.after)
		if c.advance > 0 {
			f.advance(c.advance, now)
		}
		if got := f.believes(c.life, c.cursor, now); got != c.want {
			t.Errorf("after %v: cursor %d of %s believed %v, want %v", c.after, c.cursor, c.life, got, c.want)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for i, change := range []func(*Config){
		func(c *Config) { c.CacheEntries = shards - 1 }, func(c *Config) { c.FreshFor = 0 }, func(c *Config) { c.MissFor = -1 },
		func(c *Config) { c.RedisWait = 0 }, func(c *Config) { c.StreamWait = 0 },
	} {
		c := config()
		change(&c)
		if c.Validate() == nil {
			t.Errorf("change %d is accepted", i)
		}
	}
}

// What was asked for in another life of the stream is not kept, however high its revision.
func TestAnswersOfAnotherLifeAreNotKept(t *testing.T) {
	t.Parallel()
	c := newCache(shards)
	a := stream.LinkAggregate("go", "k")
	before := c.epoch.Load()
	c.clear()
	c.put(a, Entry{Revision: 1000}, time.Minute, before)
	c.put(a, Entry{Revision: 3}, time.Minute, c.epoch.Load())
	if e, known, fresh := c.get(a, time.Now()); !known || !fresh || e.Revision != 3 {
		t.Errorf("%v, known %v, fresh %v", e, known, fresh)
	}
}
