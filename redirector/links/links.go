// Package links answers "what does this link or domain say now?" for the request path (DESIGN.md §4).
//
// Three sources, asked in this order:
//
//  1. the near cache, in memory: it applies LINKS events as they happen, so an edit is live within milliseconds and hot
//     links need nothing else;
//  2. Redis, the projection: one round trip. Its answer counts only when the partition has applied what the stream held two seconds
//     ago; after FLUSHALL, or with the projector down, it does not;
//  3. JetStream: the last event of the subject, read directly from the stream.
//
// When none of them can be asked, a stale entry or a stale Redis value is better than no redirect. Only with nothing at all the error is
// ErrUnavailable.
package links

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"linkfold/redirector/resolve"
	"linkfold/redirector/website"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// ErrUnavailable means that no source could be asked and nothing is known about the aggregate.
var ErrUnavailable = errors.New("no source of links answers")

// ErrRules means that a domain's rules cannot be used; it was logged when they were loaded.
var ErrRules = errors.New("rules cannot be used")

// Config sizes the near cache and bounds how long the sources may take.
type Config struct {
	CacheEntries int           `help:"Links and domains kept in memory." default:"200000"`
	FreshFor     time.Duration `help:"How long a cached entry is served without asking again; events replace it at once." default:"60s"`
	MissFor      time.Duration `help:"How long an unknown key is remembered as unknown." default:"5s"`
	RedisWait    time.Duration `help:"How long to wait for Redis before asking JetStream." default:"100ms"`
	StreamWait   time.Duration `help:"How long to wait for JetStream's answer." default:"250ms"`
}

// Validate names the setting that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.CacheEntries < shards:
		return fmt.Errorf("cache of %d entries: give at least %d", c.CacheEntries, shards)
	case c.FreshFor <= 0, c.MissFor <= 0, c.RedisWait <= 0, c.StreamWait <= 0:
		return errors.New("link lookup times must be longer than 0")
	}
	return nil
}

// staleFor is how long an old entry is served without asking again, after no source could be asked.
const staleFor = 500 * time.Millisecond

// Entry is the state of an aggregate as this redirector knows it. It is shared and must not be changed.
type Entry struct {
	// Revision is the LINKS sequence of the newest event; 0 when the aggregate never had one.
	Revision uint64
	// Link is the state of a link; nil for a domain and for an aggregate without events.
	Link *linkfoldv1.Link
	// Value is the link's destination, taken apart; nil when Link is.
	Value *resolve.Value
	// Domain is the state of a domain; nil for a link and for an aggregate without events.
	Domain *linkfoldv1.Domain
	// Sites is what its rules make of requests; nil when it has none.
	Sites *website.Domain
	// Err says why its rules cannot be used; nil nearly always.
	Err error
}

// Live reports a link that is there and switched on. Nothing else may be told apart from a key that was never used.
func (e *Entry) Live() bool { return e.Link != nil && !e.Link.GetDeleted() && !e.Link.GetInactive() }

// Store looks links and domains up. Run must be running for edits to arrive.
type Store struct {
	cfg     Config
	cache   *cache
	js      jetstream.JetStream
	rdb     redis.UniversalClient
	log     *slog.Logger
	metrics *metrics

	loads      singleflight.Group
	generation atomic.Uint64 // of the projection; 0 while unknown
	breaker    breaker
	feed       feed
}

// New makes a store with an empty cache.
func New(cfg Config, js jetstream.JetStream, rdb redis.UniversalClient, reg prometheus.Registerer, log *slog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, cache: newCache(cfg.CacheEntries), js: js, rdb: rdb, log: log}
	s.metrics = newMetrics(reg, s)
	return s, nil
}

// Get returns the entry of a; an aggregate that never had an event has revision 0. The error wraps ErrUnavailable. The strings of
// a are not kept, so they may be views of a request buffer.
func (s *Store) Get(ctx context.Context, a stream.Aggregate) (Entry, error) {
	e, known, fresh := s.cache.get(a, time.Now())
	if fresh {
		s.metrics.cacheHits.Inc()
		return e, nil
	}
	a = clone(a)
	loaded, err := s.load(ctx, projection.Name(a), []stream.Aggregate{a})
	if err == nil {
		return loaded[0], nil
	}
	if known {
		s.metrics.stale.Inc()
		// Not every request needs to wait for sources that do not answer.
		return s.cache.put(a, e, staleFor, s.cache.epoch.Load()), nil
	}
	return Entry{}, fmt.Errorf("look up %s: %w: %v", projection.Name(a), ErrUnavailable, err)
}

// load asks Redis for all aggregates at once, then JetStream, and caches the answers. All are of one partition. JetStream is asked in order,
// and only until it knows a live link: the answers end there. Requests that ask for the same at one time, by name, share one load; it must
// not end with the first asker's request, so it has a context of its own.
func (s *Store) load(ctx context.Context, name string, as []stream.Aggregate) ([]Entry, error) {
	v, err, _ := s.loads.Do(name, func() (any, error) { return s.loadNow(context.WithoutCancel(ctx), as) })
	if err != nil {
		return nil, err
	}
	return v.([]Entry), nil
}

func (s *Store) loadNow(ctx context.Context, as []stream.Aggregate) ([]Entry, error) {
	epoch := s.cache.epoch.Load()
	fromRedis, current, redisErr := s.fromRedis(ctx, as)
	if redisErr == nil && current {
		s.metrics.redisHits.Inc()
		return s.keep(as, fromRedis, epoch), nil
	}
	entries, err := s.fromStream(ctx, as)
	if err == nil {
		s.metrics.streamHits.Inc()
		return s.keep(as, entries, epoch), nil
	}
	if redisErr == nil && slices.ContainsFunc(fromRedis, func(e Entry) bool { return e.Revision > 0 }) {
		// The projection is behind, and the stream cannot be asked: an old destination beats none. Ask again soon.
		s.metrics.stale.Inc()
		for i, e := range fromRedis {
			if e.Revision > 0 {
				fromRedis[i] = s.cache.put(as[i], e, s.cfg.MissFor, epoch)
			}
		}
		return fromRedis, nil
	}
	return nil, errors.Join(redisErr, err)
}

// keep caches entries and returns the newest that is known of each.
func (s *Store) keep(as []stream.Aggregate, entries []Entry, epoch uint64) []Entry {
	for i, e := range entries {
		entries[i] = s.cache.put(as[i], e, s.ttl(e), epoch)
	}
	return entries
}

// ttl is the same for keys that were never used and for links that are switched off: how long a lookup takes must not tell them apart.
func (s *Store) ttl(e Entry) time.Duration {
	if e.Domain != nil || e.Live() {
		return s.cfg.FreshFor
	}
	return s.cfg.MissFor
}

// entry makes the state of an aggregate ready to answer. What the cache has ready at the same revision is used again: a domain's rules are
// compiled once per change. Exactly one of l and d is not nil.
func (s *Store) entry(a stream.Aggregate, seq uint64, l *linkfoldv1.Link, d *linkfoldv1.Domain) Entry {
	if e, known, _ := s.cache.get(a, time.Time{}); known && e.Revision == seq {
		return e
	}
	e := Entry{Revision: seq, Link: l, Domain: d}
	if l != nil {
		e.Value = resolve.ParseValue(l.GetDestination())
	}
	if d == nil {
		return e
	}
	var err error
	if e.Sites, err = website.Load(d); err != nil {
		s.log.Error("rules of a domain cannot be used", "domain", d.GetName(), "revision", seq, "err", err)
		e.Err = fmt.Errorf("%w: %v", ErrRules, err)
	}
	return e
}
