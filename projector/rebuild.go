package projector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linkfold/projector/internal/feed"
	"linkfold/projector/internal/fold"
	"linkfold/projector/internal/generation"
	"linkfold/projector/internal/source"
	"linkfold/projector/internal/target"
)

// ErrNotEqual means that the new generation was not equal to the log, and was not switched to. Redis losing data meanwhile is one
// reason; then trying again helps.
var ErrNotEqual = errors.New("new generation differs from the log")

// DefaultKeep is how long a generation is kept after a switch when nothing else is said.
const DefaultKeep = time.Hour

const (
	renewEvery    = generation.LeaseAge / 6
	progressEvery = 200 * time.Millisecond
	// handover is how long the new generation is fed by its builder after the switch: projectors notice within reconcileEvery.
	handover = 2 * reconcileEvery
)

// Progress says how far a rebuild is. Left is an estimate, 0 when there is nothing to base one on.
type Progress struct {
	Generation  uint64
	Stage       string // "build", "verify", "switch" or "done"
	Done, Total uint64 // keys
	Rate        float64
	Left        time.Duration
}

// Rebuild builds a new generation from the log, proves that its counts and checksums are those of the log, and makes it the active one;
// redirects and projectors go on all the time. It returns the new generation's number. The one before is kept fed for keep, for
// Rollback; with keep 0 it is given up at once. progress may be nil.
//
// An interrupted rebuild changes nothing; its keys are removed by the next one or by a running projector. The error wraps
// ErrNotEqual, ErrSuperseded, or is about a server that could not be asked.
func Rebuild(ctx context.Context, deps Deps, keep time.Duration, progress func(Progress)) (uint64, error) {
	registry, err := generation.Open(ctx, deps.NATS)
	if err != nil {
		return 0, err
	}
	gen, old, err := registry.Reserve(ctx)
	if err != nil {
		return 0, err
	}
	b := &build{deps: deps, registry: registry, gen: gen, old: old, keep: keep, progress: progress}
	b.feeder = feed.Feeder{JS: deps.NATS, Redis: deps.Redis, Generation: gen, Log: deps.Log, Metrics: unregistered()}
	if err := b.run(ctx); err != nil {
		return 0, fmt.Errorf("rebuild generation %d: %w", gen, err)
	}
	return gen, nil
}

// build is one rebuild.
type build struct {
	deps     Deps
	registry generation.Registry
	gen, old uint64
	keep     time.Duration
	progress func(Progress)
	feeder   feed.Feeder
	keepKeys bool // the generation is, or may be, the active one

	mu    sync.Mutex // around stage and calls of progress
	stage string
	begun time.Time
}

// run does the steps with the lease renewed beside them, and cleans up when it failed.
func (b *build) run(ctx context.Context) error {
	bctx, stop := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { b.renew(bctx); return nil })
	g.Go(func() error { b.observe(bctx); return nil })
	err := b.steps(bctx)
	stop()
	if e := g.Wait(); err == nil {
		err = e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), prepareTimeout)
	defer cancel()
	if !b.keepKeys {
		_, _ = target.Remove(ctx, b.deps.Redis, func(gen uint64) bool { return gen != b.gen }) // Else a projector does it later.
	}
	_ = b.registry.Release(ctx, b.gen) // Else it ends by its age.
	return err
}

func (b *build) steps(ctx context.Context) error {
	// The number is new, but an earlier life of the registry may have used it.
	if _, err := target.Remove(ctx, b.deps.Redis, func(gen uint64) bool { return gen != b.gen }); err != nil {
		return err
	}
	b.tell("build")
	info, err := source.Ask(ctx, b.deps.NATS)
	if err != nil {
		return err
	}
	if err := b.feedTo(ctx, info.Last); err != nil {
		return err
	}
	b.tell("verify")
	if err := b.prove(ctx); err != nil {
		return err
	}
	return b.change(ctx)
}

// feedTo feeds the generation until it is complete to seq.
func (b *build) feedTo(ctx context.Context, seq uint64) error {
	if seq == 0 {
		return nil // An empty stream: nothing to build.
	}
	b.feeder.Until = seq
	if err := b.feeder.Run(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

// prove compares the generation with an independent reading of the log at the same sequence. Nobody else feeds the generation, so it
// can be brought to exactly where the fold ended.
func (b *build) prove(ctx context.Context) error {
	live, err := fold.Read(ctx, b.deps.NATS)
	if err != nil {
		return err
	}
	defer live.Close(ctx)
	if err := b.feedTo(ctx, live.Seen); err != nil {
		return err
	}
	metas, err := target.Target{Redis: b.deps.Redis, Generation: b.gen}.Metas(ctx)
	if err != nil {
		return err
	}
	return compare(metas, live)
}

func compare(metas *target.Metas, live *fold.Live) error {
	for p, want := range live.Sums() {
		m := metas[p]
		if m.Cursor != live.Seen || !m.Settled() || m.Life != "" && m.Life != live.Life {
			return fmt.Errorf("partition %d is at %d, not at %d: %w", p, m.Cursor, live.Seen, ErrNotEqual)
		}
		if m.Count != want.Count || m.Checksum != want.Checksum {
			return fmt.Errorf("partition %d has %d keys with checksum %x, the log %d with %x: %w",
				p, m.Count, m.Checksum, want.Count, want.Checksum, ErrNotEqual)
		}
	}
	return nil
}

// change follows the log live, switches, and goes on for a moment until projectors have taken over.
func (b *build) change(ctx context.Context) error {
	b.tell("switch")
	b.feeder.Until = 0
	fctx, stop := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { return b.feeder.Run(fctx) })
	err := b.commit(ctx)
	if err == nil {
		pause(ctx, handover)
	}
	stop()
	return errors.Join(err, g.Wait())
}

// commit is the switch. A crash before it changes nothing; after it, the copy in Redis is a projector's to write.
func (b *build) commit(ctx context.Context) error {
	var until time.Time
	if b.keep > 0 {
		until = time.Now().Add(b.keep)
	}
	err := b.registry.Switch(ctx, b.gen, b.old, until)
	b.keepKeys = !errors.Is(err, ErrSuperseded) // After any other error the switch may have been made.
	if err != nil {
		return err
	}
	b.tell("done")
	return target.Mirror(ctx, b.deps.Redis, b.gen)
}

// renew says that the rebuild is alive. A lost lease would cost this generation its keys, and the proof would find that.
func (b *build) renew(ctx context.Context) {
	for pause(ctx, renewEvery) {
		if err := b.registry.Renew(ctx, b.gen); err != nil && ctx.Err() == nil {
			b.deps.Log.Warn("rebuild lease not renewed", "generation", b.gen, "err", err)
		}
	}
}

// observe reports progress while the rebuild goes on.
func (b *build) observe(ctx context.Context) {
	for pause(ctx, progressEvery) {
		b.tell("")
	}
}

// tell reports progress in a new stage, or in the same one when stage is empty.
func (b *build) tell(stage string) {
	if b.progress == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case stage != "":
		b.stage = stage
	case b.stage == "done" || b.stage == "":
		return
	}
	if b.begun.IsZero() {
		b.begun = time.Now()
	}
	done, left := b.feeder.Progress()
	p := Progress{Generation: b.gen, Stage: b.stage, Done: done, Total: done + left}
	if s := time.Since(b.begun).Seconds(); s > 0 && b.stage == "build" {
		p.Rate = float64(done) / s
	}
	if p.Rate > 0 {
		p.Left = time.Duration(float64(left) / p.Rate * float64(time.Second))
	}
	b.progress(p)
}
