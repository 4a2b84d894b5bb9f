package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"linkfold/projector/internal/feed"
	"linkfold/projector/internal/generation"
	"linkfold/projector/internal/target"
	"linkfold/schema/projection"
)

const (
	// reconcileEvery is how often the service looks which generations are to be fed.
	reconcileEvery = 500 * time.Millisecond
	prepareTimeout = 10 * time.Second
	// healPause is between attempts to build a generation in place of a spoiled one.
	healPause = 2 * time.Second
)

// supervisor makes what runs equal to what the registry says: one feeder per fed generation, the copy of the active generation in
// Redis, no keys of other generations, and, when the active generation is spoiled, a rebuild.
type supervisor struct {
	cfg      Config
	deps     Deps
	log      *slog.Logger
	metrics  *feed.Metrics
	registry generation.Registry

	feeders map[uint64]*feeding // for the reconciling goroutine alone
	spoiled map[uint64]bool     // generations not to be fed any more; likewise
	tidied  projection.Generations

	wait   sync.WaitGroup // for every goroutine that is not a feeder
	heals  chan uint64    // generation to replace
	active atomic.Pointer[feed.Feeder]
	caught atomic.Bool // the active generation was live once
}

// feeding is a feeder at work.
type feeding struct {
	feeder *feed.Feeder
	stop   context.CancelFunc
	done   chan error
}

func newSupervisor(cfg Config, deps Deps) *supervisor {
	s := &supervisor{
		cfg: cfg, deps: deps, log: deps.Log, metrics: feed.NewMetrics(deps.Registry),
		feeders: map[uint64]*feeding{}, spoiled: map[uint64]bool{}, heals: make(chan uint64, 1),
	}
	s.register(deps.Registry)
	return s
}

// run reconciles until ctx ends, and waits for everything it started.
func (s *supervisor) run(ctx context.Context) error {
	s.wait.Go(func() { s.heal(ctx) })
	s.wait.Go(func() { s.patrol(ctx) })
	defer s.wait.Wait()
	defer s.stopAll()
	tick := time.NewTicker(reconcileEvery)
	defer tick.Stop()
	var last string
	for {
		if err := s.reconcile(ctx); err != nil && ctx.Err() == nil {
			if err.Error() != last { // the same trouble twice a second is one line
				s.log.Warn("reconciling again soon", "err", err)
			}
			last = err.Error()
		} else {
			last = ""
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *supervisor) reconcile(ctx context.Context) error {
	g, err := s.registry.Current(ctx)
	if err != nil {
		return err
	}
	s.reap()
	if g, err = s.expire(ctx, g); err != nil {
		return err
	}
	for gen := range s.feeders {
		if !g.Fed(gen, time.Now()) {
			s.stop(gen)
		}
	}
	s.feed(ctx, g.Active)
	if g.Previous != 0 {
		s.feed(ctx, g.Previous)
	}
	s.watchActive(g.Active)
	if s.spoiled[g.Active] {
		s.askHeal(g.Active)
	}
	mctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := target.Mirror(mctx, s.deps.Redis, g.Active); err != nil {
		return err
	}
	return s.tidy(ctx, g)
}

// expire gives up the previous generation when its time is over or it cannot be healed.
func (s *supervisor) expire(ctx context.Context, g projection.Generations) (projection.Generations, error) {
	if g.Previous == 0 || g.Fed(g.Previous, time.Now()) && !s.spoiled[g.Previous] {
		return g, nil
	}
	s.log.Info("previous generation given up", "generation", g.Previous)
	return s.registry.DropPrevious(ctx, g.Previous)
}

// reap takes note of feeders that ended by themselves.
func (s *supervisor) reap() {
	for gen, f := range s.feeders {
		select {
		case err := <-f.done:
			delete(s.feeders, gen)
			f.stop()
			if errors.Is(err, feed.ErrSpoiled) {
				s.spoiled[gen] = true
				s.log.Error("generation cannot be healed in place", "generation", gen, "err", err)
			}
		default:
		}
	}
}

// feed starts a feeder for a generation that has none.
func (s *supervisor) feed(ctx context.Context, gen uint64) {
	if s.feeders[gen] != nil || s.spoiled[gen] {
		return
	}
	fctx, stop := context.WithCancel(ctx)
	f := &feeding{stop: stop, done: make(chan error, 1), feeder: &feed.Feeder{
		JS: s.deps.NATS, Redis: s.deps.Redis, Generation: gen, Log: s.log, Metrics: s.metrics,
		Wanted: func(ctx context.Context) error { return s.wanted(ctx, gen) },
	}}
	s.feeders[gen] = f
	s.log.Info("feeding generation", "generation", gen)
	go func() { f.done <- f.feeder.Run(fctx) }()
}

// wanted keeps a projector that was paused for long from filling a generation that was given up meanwhile.
func (s *supervisor) wanted(ctx context.Context, gen uint64) error {
	g, err := s.registry.Current(ctx)
	if err != nil {
		return err
	}
	if !g.Fed(gen, time.Now()) {
		return feed.ErrUnwanted
	}
	return nil
}

// stop ends a feeder and waits for it.
func (s *supervisor) stop(gen uint64) {
	f := s.feeders[gen]
	delete(s.feeders, gen)
	f.stop()
	<-f.done
}

func (s *supervisor) stopAll() {
	for gen := range s.feeders {
		s.stop(gen)
	}
}

// watchActive points metrics and readiness to the active generation's feeder.
func (s *supervisor) watchActive(gen uint64) {
	if f := s.feeders[gen]; f != nil {
		s.active.Store(f.feeder)
		if f.feeder.Status().Live {
			s.caught.Store(true)
		}
	}
}

// ready says what the projector waits for, until it was at the stream's end once.
func (s *supervisor) ready(context.Context) error {
	f := s.active.Load()
	switch {
	case s.caught.Load():
		return nil
	case f == nil:
		return errors.New("waiting for NATS")
	case f.Status().Live:
		return nil
	}
	st := f.Status()
	return fmt.Errorf("catching up with the log: %d events behind", st.Lag())
}

// tidy removes the keys of generations that are not fed, once after every change and when nothing is being built.
func (s *supervisor) tidy(ctx context.Context, g projection.Generations) error {
	if g == s.tidied {
		return nil
	}
	builds, err := s.registry.Builds(ctx, time.Now())
	if err != nil || len(builds) > 0 {
		return err // Once they have ended.
	}
	keep := map[uint64]bool{g.Active: true, g.Previous: true}
	// Numbers from Next on are of rebuilds that began after g was read.
	removed, err := target.Remove(ctx, s.deps.Redis, func(gen uint64) bool { return keep[gen] || gen >= g.Next })
	if err != nil {
		return err
	}
	if removed > 0 {
		s.log.Info("keys of old generations removed", "keys", removed)
	}
	for gen := range s.spoiled {
		if !keep[gen] {
			delete(s.spoiled, gen)
		}
	}
	s.tidied = g
	return nil
}
