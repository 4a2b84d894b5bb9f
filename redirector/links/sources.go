package links

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// errSkipped means that Redis failed a moment ago and was not asked.
var errSkipped = errors.New("redis failed a moment ago")

// fromRedis reads values and their partition's cursor in one round trip. current tells whether the partition is far enough for the answers,
// a missing key above all, to be believed.
func (s *Store) fromRedis(ctx context.Context, as []stream.Aggregate) (entries []Entry, current bool, err error) {
	if !s.breaker.allow(time.Now()) {
		return nil, false, errSkipped
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RedisWait)
	defer cancel()
	gen, err := s.activeGeneration(ctx)
	if err != nil {
		return nil, false, err
	}
	keys := make([]string, len(as))
	for i, a := range as {
		keys[i] = projection.Key(gen, a)
	}
	pipe := s.rdb.Pipeline()
	values := pipe.MGet(ctx, keys...)
	meta := pipe.HMGet(ctx, projection.MetaKey(gen, projection.Partition(as[0])), projection.MetaFields()...)
	if _, err := pipe.Exec(ctx); err != nil {
		s.metrics.redisErrors.Inc()
		s.breaker.failed(time.Now())
		return nil, false, fmt.Errorf("read redis: %w", err)
	}
	s.breaker.worked()
	m, err := projection.ParseMeta(meta.Val()) // Zero when the partition is empty or was lost.
	if err != nil {
		return nil, false, fmt.Errorf("read redis: %w", err)
	}
	entries, err = s.decodeValues(as, values.Val())
	return entries, s.feed.believes(m.Life, m.Cursor, time.Now()), err
}

// decodeValues reads the answer of MGET: strings, and nil for keys that are not there.
func (s *Store) decodeValues(as []stream.Aggregate, values []any) ([]Entry, error) {
	entries := make([]Entry, len(as))
	for i, v := range values {
		raw, ok := v.(string)
		if !ok {
			continue
		}
		var err error
		if entries[i], err = s.decodeValue(as[i], []byte(raw)); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

func (s *Store) decodeValue(a stream.Aggregate, raw []byte) (Entry, error) {
	seq, _, state, err := projection.Split(raw)
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", projection.Name(a), err)
	}
	if a.Kind == stream.KindDomain {
		d := &linkfoldv1.Domain{}
		if err := proto.Unmarshal(state, d); err != nil {
			return Entry{}, fmt.Errorf("read %s: %w", projection.Name(a), err)
		}
		return s.entry(a, seq, nil, d), nil
	}
	l := &linkfoldv1.Link{}
	if err := proto.Unmarshal(state, l); err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", projection.Name(a), err)
	}
	return s.entry(a, seq, l, nil), nil
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

// fromStream reads the last event of each aggregate's subject, in order, and stops behind the first live link. On a single server it is
// current; in a cluster a follower may answer that is a moment behind, and the feed brings what it lacked.
func (s *Store) fromStream(ctx context.Context, as []stream.Aggregate) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StreamWait)
	defer cancel()
	if !s.js.Conn().IsConnected() {
		return nil, errors.New("not connected to NATS")
	}
	links, err := s.feed.stream(ctx, s.js)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(as))
	for _, a := range as {
		e, err := s.lastEvent(ctx, links, a)
		if err != nil {
			s.metrics.streamErrors.Inc()
			return nil, err
		}
		if entries = append(entries, e); e.Live() {
			break
		}
	}
	return entries, nil
}

func (s *Store) lastEvent(ctx context.Context, links jetstream.Stream, a stream.Aggregate) (Entry, error) {
	m, err := links.GetLastMsgForSubject(ctx, a.Subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Entry{}, nil
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read last event: %w", err)
	}
	_, ev, err := event.Decode(m.Subject, m.Data)
	if err != nil {
		return Entry{}, err
	}
	return s.entry(a, m.Sequence, ev.GetLink(), ev.GetDomain()), nil
}

// breaker keeps a dead Redis from costing every request its time-out: after a failure it is left alone for a while.
type breaker struct{ until atomic.Int64 }

const breakerPause = 500 * time.Millisecond

func (b *breaker) allow(now time.Time) bool { return now.UnixNano() >= b.until.Load() }
func (b *breaker) failed(now time.Time)     { b.until.Store(now.Add(breakerPause).UnixNano()) }
func (b *breaker) worked()                  { b.until.Store(0) }
