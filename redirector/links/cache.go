package links

import (
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"linkfold/schema/stream"
)

// shards spreads the cache's locks; a power of two.
const shards = 64

// aLife is what clear adds to the epoch.
const aLife = 1 << 32

// cache maps aggregates to entries. It is bounded: a full shard forgets an entry of its choice, preferring one that was not used
// lately.
type cache struct {
	seed   maphash.Seed
	limit  int           // entries per shard
	epoch  atomic.Uint64 // counts calls of expire, and in its upper half those of clear
	shards [shards]shard
}

type shard struct {
	mu      sync.RWMutex
	entries map[stream.Aggregate]cached
}

type cached struct {
	entry Entry
	until int64 // Unix nanoseconds; served without asking until then
}

func newCache(entries int) *cache {
	c := &cache{seed: maphash.MakeSeed(), limit: entries / shards}
	for i := range c.shards {
		c.shards[i].entries = map[stream.Aggregate]cached{}
	}
	return c
}

// get reports what is known about a, and whether it may be served without asking a source.
func (c *cache) get(a stream.Aggregate, now time.Time) (e Entry, known, fresh bool) {
	sh := c.shard(a)
	sh.mu.RLock()
	v, ok := sh.entries[a]
	sh.mu.RUnlock()
	return v.entry, ok, ok && now.UnixNano() < v.until
}

// put stores e for ttl, shortened by up to a tenth so that entries loaded together do not expire together, unless a newer revision
// is there already. It returns the newer of the two. epoch is the cache's when e was asked for: if everything has expired since, e
// may be as old as what expired, and does not count as fresh; if everything was cleared since, it is of another life of the stream, and is
// not kept. a must not be a view.
func (c *cache) put(a stream.Aggregate, e Entry, ttl time.Duration, epoch uint64) Entry {
	sh := c.shard(a)
	until := time.Now().Add(ttl - rand.N(ttl/10+1)).UnixNano()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch now := c.epoch.Load(); {
	case epoch/aLife != now/aLife:
		return e
	case epoch != now:
		until = 0
	}
	old, ok := sh.entries[a]
	if ok && old.entry.Revision > e.Revision {
		return old.entry
	}
	if !ok && len(sh.entries) >= c.limit {
		sh.evict()
	}
	sh.entries[a] = cached{entry: e, until: until}
	return e
}

// expire makes every entry ask its source before it is served again; it stays as a fallback.
func (c *cache) expire() {
	c.epoch.Add(1)
	for i := range c.shards {
		sh := &c.shards[i]
		sh.mu.Lock()
		for a, v := range sh.entries {
			v.until = 0
			sh.entries[a] = v
		}
		sh.mu.Unlock()
	}
}

// clear forgets everything.
func (c *cache) clear() {
	c.epoch.Add(aLife)
	for i := range c.shards {
		sh := &c.shards[i]
		sh.mu.Lock()
		clear(sh.entries)
		sh.mu.Unlock()
	}
}

func (c *cache) len() int {
	n := 0
	for i := range c.shards {
		sh := &c.shards[i]
		sh.mu.RLock()
		n += len(sh.entries)
		sh.mu.RUnlock()
	}
	return n
}

// evict forgets the one of a few random entries (map order is random) that would expire first: misses and idle links go before hot
// ones.
func (sh *shard) evict() {
	var victim stream.Aggregate
	first, tries := int64(0), 0
	for a, v := range sh.entries {
		if tries == 0 || v.until < first {
			victim, first = a, v.until
		}
		if tries++; tries == 8 {
			break
		}
	}
	delete(sh.entries, victim)
}

func (c *cache) shard(a stream.Aggregate) *shard {
	h := maphash.String(c.seed, a.Key) ^ maphash.String(c.seed, a.Domain)*31
	return &c.shards[h%shards]
}

func clone(a stream.Aggregate) stream.Aggregate {
	a.Domain, a.Key = strings.Clone(a.Domain), strings.Clone(a.Key)
	return a
}
