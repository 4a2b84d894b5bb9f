package links

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// errSkipped means that Redis failed a moment ago and was not asked.
var errSkipped = errors.New("redis failed a moment ago")

// fromRedis reads a value and its partition's cursor in one round trip. current tells whether the partition is far enough for the answer,
// a missing key above all, to be believed.
func (s *Store) fromRedis(ctx context.Context, a stream.Aggregate) (e Entry, current bool, err error) {
	if !s.breaker.allow(time.Now()) {
		return Entry{}, false, errSkipped
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RedisWait)
	defer cancel()
	gen, err := s.activeGeneration(ctx)
	if err != nil {
		return Entry{}, false, err
	}
	pipe := s.rdb.Pipeline()
	value := pipe.Get(ctx, projection.Key(gen, a))
	meta := pipe.HMGet(ctx, projection.MetaKey(gen, projection.Partition(a)), projection.MetaFields()...)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		s.metrics.redisErrors.Inc()
		s.breaker.failed(time.Now())
		return Entry{}, false, fmt.Errorf("read redis: %w", err)
	}
	s.breaker.worked()
	m, err := projection.ParseMeta(meta.Val()) // Zero when the partition is empty or was lost.
	if err != nil {
		return Entry{}, false, fmt.Errorf("read redis: %w", err)
	}
	current = s.feed.believes(m.Life, m.Cursor, time.Now())
	raw, err := value.Bytes()
	if errors.Is(err, redis.Nil) {
		return Entry{}, current, nil
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("read redis: %w", err)
	}
	e, err = decodeValue(a, raw)
	return e, current, err
}

func decodeValue(a stream.Aggregate, raw []byte) (Entry, error) {
	seq, _, state, err := projection.Split(raw)
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", projection.Name(a), err)
	}
	e := Entry{Revision: seq}
	var m proto.Message
	if a.Kind == stream.KindDomain {
		e.Domain = &linkfoldv1.Domain{}
		m = e.Domain
	} else {
		e.Link = &linkfoldv1.Link{}
		m = e.Link
	}
	if err := proto.Unmarshal(state, m); err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", projection.Name(a), err)
	}
	return e, nil
}

// activeGeneration is the one that the feed has seen, or, before it has, the copy that the projector keeps in Redis.
func (s *Store) activeGeneration(ctx context.Context) (uint64, error) {
	if gen := s.generation.Load(); gen > 0 {
		return gen, nil
	}
	gen, err := projection.Active(ctx, s.rdb)
	if err != nil && !errors.Is(err, projection.ErrNoGenerations) {
		s.metrics.redisErrors.Inc()
		s.breaker.failed(time.Now())
	}
	return gen, err
}

// fromStream reads the last event of the aggregate's subject. On a single server it is current; in a cluster a follower may answer that
// is a moment behind, and the feed brings what it lacked.
func (s *Store) fromStream(ctx context.Context, a stream.Aggregate) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StreamWait)
	defer cancel()
	if !s.js.Conn().IsConnected() {
		return Entry{}, errors.New("not connected to NATS")
	}
	links, err := s.feed.stream(ctx, s.js)
	if err != nil {
		return Entry{}, err
	}
	m, err := links.GetLastMsgForSubject(ctx, a.Subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Entry{}, nil
	}
	if err != nil {
		s.metrics.streamErrors.Inc()
		return Entry{}, fmt.Errorf("read last event: %w", err)
	}
	_, ev, err := event.Decode(m.Subject, m.Data)
	if err != nil {
		return Entry{}, err
	}
	return entry(m.Sequence, ev), nil
}

func entry(seq uint64, ev *linkfoldv1.Event) Entry {
	return Entry{Revision: seq, Link: ev.GetLink(), Domain: ev.GetDomain()}
}

// breaker keeps a dead Redis from costing every request its time-out: after a failure it is left alone for a while.
type breaker struct{ until atomic.Int64 }

const breakerPause = 500 * time.Millisecond

func (b *breaker) allow(now time.Time) bool { return now.UnixNano() >= b.until.Load() }
func (b *breaker) failed(now time.Time)     { b.until.Store(now.Add(breakerPause).UnixNano()) }
func (b *breaker) worked()                  { b.until.Store(0) }
