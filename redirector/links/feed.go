package links

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// settle is how long the projector has to apply an event before a Redis partition without it is no longer believed. Events younger
// than this are in the near cache of every redirector anyway.
const settle = 2 * time.Second

// reconnectPause is how long the feed waits before it tries again.
const reconnectPause = time.Second

// feed is what the LINKS consumer knows about the stream's progress.
type feed struct {
	mu     sync.Mutex
	links  jetstream.Stream
	life   string // stream.Generation of LINKS; empty while the feed never ran
	seen   uint64 // newest sequence applied to the cache
	recent uint64 // what seen was at the time since
	old    uint64 // what seen was at least settle ago
	since  time.Time
	caught bool
}

// believes reports whether the answers of a Redis partition count: it must be a fold of this very stream, and have applied what the
// stream held settle ago. While the feed never ran, any partition with a cursor is believed.
func (f *feed) believes(life string, cursor uint64, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.age(now)
	return cursor > 0 && cursor >= f.old && (f.life == "" || f.life == life)
}

// age is called with the lock held. Two steps make sure that nothing younger than settle becomes old.
func (f *feed) age(now time.Time) {
	if now.Sub(f.since) >= settle {
		f.old, f.recent, f.since = f.recent, f.seen, now
	}
}

// advance notes that seq was applied.
func (f *feed) advance(seq uint64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.age(now)
	f.seen = max(f.seen, seq)
}

// begin notes that everything up to seq was in the stream when the consumer started: those events will not come through the feed, so Redis
// must have them. It reports whether this is another stream than before: made anew, its sequences start again.
func (f *feed) begin(life string, seq uint64, now time.Time) (anew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	anew = f.life != "" && f.life != life
	f.seen, f.recent, f.old, f.since, f.caught, f.life = seq, seq, seq, now, true, life
	return anew
}

func (f *feed) ready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.caught
}

// stream is the LINKS stream handle, kept once it is known. The lock is not held while the server is asked: lookups need it.
func (f *feed) stream(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, error) {
	f.mu.Lock()
	s := f.links
	f.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := js.Stream(ctx, stream.Links)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", stream.Links, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.links = s
	return s, nil
}

// Ready reports nil once edits arrive from the stream.
func (s *Store) Ready(context.Context) error {
	if !s.feed.ready() {
		return errors.New("waiting for the LINKS stream")
	}
	return nil
}

// Run keeps the near cache up to date until ctx ends: LINKS events and the switch between generations. It tries again for as long as NATS
// is away; meanwhile entries are served as they are.
func (s *Store) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { return s.retry(ctx, "links feed", s.follow) })
	g.Go(func() error { return s.retry(ctx, "generation watch", s.watchGeneration) })
	return g.Wait()
}

func (s *Store) retry(ctx context.Context, what string, run func(context.Context) error) error {
	for {
		err := run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		s.log.Warn("trying again", "what", what, "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectPause):
		}
	}
}

// follow applies new events until something breaks. Between reading the last sequence and the consumer's start nothing is missed, because it
// starts right behind that sequence.
func (s *Store) follow(ctx context.Context) error {
	links, err := s.js.Stream(ctx, stream.Links)
	if err != nil {
		return fmt.Errorf("open stream %s: %w", stream.Links, err)
	}
	last := links.CachedInfo().State.LastSeq
	consumer, err := links.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: last + 1,
	})
	if err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1000))
	if err != nil {
		return fmt.Errorf("start consumer: %w", err)
	}
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	defer messages.Stop()
	// Whatever changed while nobody listened must be asked for again. In this order: an answer that was asked for before begin, from a
	// source that may lack those changes, is expired by what follows, even if it comes later.
	if s.feed.begin(stream.Generation(links.CachedInfo()), last, time.Now()) {
		s.log.Warn("the LINKS stream was made anew, forgetting all links", "seq", last)
		s.cache.clear()
	}
	s.cache.expire()
	for {
		m, err := messages.Next()
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		s.apply(m)
	}
}

func (s *Store) apply(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		s.log.Error("event without metadata skipped", "subject", m.Subject(), "err", err)
		return
	}
	defer s.feed.advance(meta.Sequence.Stream, time.Now())
	a, ev, err := event.Decode(m.Subject(), m.Data())
	if err != nil {
		s.metrics.badEvents.Inc()
		s.log.Error("event skipped", "seq", meta.Sequence.Stream, "err", err)
		return
	}
	s.Learn(a, meta.Sequence.Stream, ev)
	s.metrics.events.Inc()
}

// Learn takes over the event with a LINKS sequence. The feed brings all of them; who has written one in this process need not wait for that.
func (s *Store) Learn(a stream.Aggregate, seq uint64, ev *linkfoldv1.Event) {
	e := s.entry(a, seq, ev.GetLink(), ev.GetDomain())
	fresh := s.cfg.FreshFor
	if e.Domain == nil && !e.Live() {
		// Kept so that no older state can win, but asked for like a key that was never used.
		fresh = 0
	}
	s.cache.put(a, e, fresh, s.cache.epoch.Load())
}

// watchGeneration follows the switch between generations of the projection.
func (s *Store) watchGeneration(ctx context.Context) error {
	kv, err := s.js.KeyValue(ctx, stream.Projection)
	if err != nil {
		return fmt.Errorf("open bucket %s: %w", stream.Projection, err)
	}
	w, err := kv.Watch(ctx, projection.ActiveEntry)
	if err != nil {
		return fmt.Errorf("watch generations: %w", err)
	}
	defer func() { _ = w.Stop() }() // The connection's end stops it as well.
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Updates():
			if !ok {
				return errors.New("generation watch ended")
			}
			if e == nil || e.Operation() != jetstream.KeyValuePut {
				continue
			}
			g, err := projection.ParseGenerations(e.Value())
			if err != nil {
				s.log.Error("generations entry ignored", "err", err)
				continue
			}
			if old := s.generation.Swap(g.Active); old != g.Active {
				s.log.Info("reading generation", "generation", g.Active)
			}
		}
	}
}
