// Package projector folds LINKS into Redis, where redirectors read the state of links (DESIGN.md §5).
//
// Most callers want Run: it feeds the active generation, and heals whatever happens to Redis, without an operator. Rebuild builds
// a new generation from the log beside the active one and switches when it has proved to be equal to the log; Verify names every
// difference between Redis and the log; Rollback undoes a switch. All of them may run at once, in any number of processes:
// every write to Redis is refused unless it follows what Redis holds, and every change of generations is a compare-and-set.
//
// Nothing in Redis is state: if in doubt, flush it.
package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"linkfold/projector/internal/feed"
	"linkfold/projector/internal/generation"
	"linkfold/projector/internal/target"
	"linkfold/projector/internal/verify"
	"linkfold/schema/stream"
)

// Errors that callers may match.
var (
	// ErrSuperseded means that another rebuild was faster, or a rollback came between.
	ErrSuperseded = generation.ErrSuperseded
	// ErrNoPrevious means that there is no generation to roll back to.
	ErrNoPrevious = generation.ErrNoPrevious
)

// Report and Difference are the result of Verify.
type (
	Report     = verify.Report
	Difference = verify.Difference
)

// Deps is what a projector works with. It closes none of it.
type Deps struct {
	NATS jetstream.JetStream
	// Redis is one server or a cluster, version 7 or newer. Its read time-out must allow for batches of thousands of writes:
	// seconds, not what a redirector uses.
	Redis redis.UniversalClient
	Log   *slog.Logger
	// Registry gets the metrics; may be nil.
	Registry prometheus.Registerer
	// Check, if not nil, is given the readiness check under its name before Run does anything else.
	Check func(name string, check func(context.Context) error)
}

// Run feeds Redis until ctx ends, and then returns nil. It returns an error only for a configuration that cannot work; servers that
// are away are waited for, whenever and however long that is.
func Run(ctx context.Context, cfg Config, deps Deps) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	s := newSupervisor(cfg, deps)
	if deps.Check != nil {
		deps.Check("projection", s.ready)
	}
	registry, err := s.start(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	s.registry = registry
	return s.run(ctx)
}

// start makes the streams and opens the registry of generations, as often as it takes.
func (s *supervisor) start(ctx context.Context) (generation.Registry, error) {
	for first := true; ; first = false {
		r, err := s.prepare(ctx)
		if err == nil || ctx.Err() != nil {
			return r, nil
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || errors.Is(err, jetstream.ErrBucketExists) {
			return r, err
		}
		if first {
			s.log.Warn("waiting for NATS", "err", err)
		}
		if !pause(ctx, reconcileEvery) {
			return r, nil
		}
	}
}

func (s *supervisor) prepare(ctx context.Context) (generation.Registry, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	if err := stream.Ensure(ctx, s.deps.NATS, s.cfg.Streams); err != nil {
		return generation.Registry{}, err
	}
	return generation.Open(ctx, s.deps.NATS)
}

// Verify compares the active generation with the log while traffic goes on. Differences are in the report, not an error.
func Verify(ctx context.Context, deps Deps) (Report, error) {
	registry, err := generation.Open(ctx, deps.NATS)
	if err != nil {
		return Report{}, err
	}
	for {
		g, err := registry.Current(ctx)
		if err != nil {
			return Report{}, err
		}
		t := target.Target{Redis: deps.Redis, Generation: g.Active}
		r, err := verify.Generation(ctx, deps.NATS, t, verify.DefaultWait)
		if err != nil {
			return Report{}, err
		}
		now, err := registry.Current(ctx)
		if err != nil {
			return Report{}, err
		}
		if now.Fed(g.Active, time.Now()) {
			return *r, nil
		}
		// A rebuild gave the generation up while it was compared: its keys were being removed.
	}
}

// Rollback makes the generation before the last Rebuild the active one again and returns its number. It has been fed all the time,
// so nothing is lost. The error wraps ErrNoPrevious when it is no longer kept.
func Rollback(ctx context.Context, deps Deps, keep time.Duration) (uint64, error) {
	registry, err := generation.Open(ctx, deps.NATS)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	g, err := registry.Rollback(ctx, now, now.Add(keep))
	if err != nil {
		return 0, fmt.Errorf("roll back: %w", err)
	}
	return g.Active, target.Mirror(ctx, deps.Redis, g.Active)
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// unregistered are metrics for feeders of commands, which end before anybody could read them.
func unregistered() *feed.Metrics { return feed.NewMetrics(nil) }
