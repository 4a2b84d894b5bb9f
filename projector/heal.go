package projector

import (
	"context"
	"fmt"
	"time"

	"linkfold/projector/internal/target"
	"linkfold/projector/internal/verify"
)

// patrolPause is between two verifications that must agree before a difference counts: Redis losing data in the middle of the
// first looks like one, and is healed by then.
const patrolPause = 3 * time.Second

// askHeal has generation gen replaced; asking again while that goes on is harmless.
func (s *supervisor) askHeal(gen uint64) {
	select {
	case s.heals <- gen:
	default:
	}
}

// heal replaces generations that cannot be healed by reading events again, one at a time, until ctx ends.
func (s *supervisor) heal(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case gen := <-s.heals:
			if err := s.replace(ctx, gen); err != nil && ctx.Err() == nil {
				s.log.Error("generation not replaced yet", "generation", gen, "err", err)
				pause(ctx, healPause)
			}
		}
	}
}

// replace rebuilds in place of gen, unless it is no longer active or somebody else is at it.
func (s *supervisor) replace(ctx context.Context, gen uint64) error {
	g, err := s.registry.Current(ctx)
	if err != nil || g.Active != gen {
		return err
	}
	builds, err := s.registry.Builds(ctx, time.Now())
	if err != nil {
		return err
	}
	if len(builds) > 0 {
		return nil // The reconciler asks again if that one does not succeed.
	}
	// Without its cursors redirectors do not believe the generation, and ask the stream until the new one is there.
	t := target.Target{Redis: s.deps.Redis, Generation: gen}
	if err := t.Disown(ctx); err != nil {
		return err
	}
	s.log.Warn("rebuilding", "generation", gen)
	next, err := Rebuild(ctx, s.deps, 0, nil)
	if err != nil {
		return err
	}
	s.log.Info("generation replaced", "old", gen, "generation", next)
	return nil
}

// patrol verifies now and then, because a lost value does not show in any cursor.
func (s *supervisor) patrol(ctx context.Context) {
	if s.cfg.VerifyEvery == 0 {
		return
	}
	for pause(ctx, s.cfg.VerifyEvery) {
		gen, bad := s.inspect(ctx)
		if bad && pause(ctx, patrolPause) {
			again, still := s.inspect(ctx)
			if still && again == gen {
				s.askHeal(gen)
			}
		}
	}
}

// inspect verifies the active generation once and reports whether it has differences that only a rebuild cures.
func (s *supervisor) inspect(ctx context.Context) (gen uint64, bad bool) {
	r, err := Verify(ctx, s.deps)
	switch {
	case err != nil && ctx.Err() == nil:
		s.log.Warn("verification not finished", "err", err)
	case err == nil && !r.Clean():
		s.log.Error("redis differs from the log", "generation", r.Generation, "differences", r.Total(), "first", first(r))
	}
	return r.Generation, err == nil && r.Total() > r.Counts[verify.Behind]
}

// first names one difference for the log.
func first(r Report) string {
	if len(r.Differences) == 0 {
		return ""
	}
	d := r.Differences[0]
	return fmt.Sprintf("%s %s in partition %d", d.Kind, d.Name, d.Partition)
}
