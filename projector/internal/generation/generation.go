// Package generation changes which generations of the projection exist: every change is one compare-and-set on one key, so
// any number of projectors and rebuilds may run at once.
package generation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// ErrSuperseded means that somebody else changed the generations, so the change no longer makes sense.
var ErrSuperseded = errors.New("the active generation was changed by somebody else")

// ErrNoPrevious means that there is no generation to roll back to.
var ErrNoPrevious = errors.New("no previous generation is kept any longer")

const requestTimeout = 5 * time.Second

// LeaseAge is how old a rebuild's sign of life may be until its generation counts as left over. It must be renewed well before.
const LeaseAge = time.Minute

const leasePrefix = "rebuild."

// Registry is the stream.Projection bucket.
type Registry struct{ kv jetstream.KeyValue }

// Open opens the registry; the bucket must exist (stream.Ensure).
func Open(ctx context.Context, js jetstream.JetStream) (Registry, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	kv, err := js.KeyValue(ctx, stream.Projection)
	if err != nil {
		return Registry{}, fmt.Errorf("open bucket %s: %w", stream.Projection, err)
	}
	return Registry{kv: kv}, nil
}

// Current reads the generations, and makes the first when there are none.
func (r Registry) Current(ctx context.Context) (projection.Generations, error) {
	g, _, err := r.read(ctx)
	return g, err
}

func (r Registry) read(ctx context.Context) (projection.Generations, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	g, rev, err := projection.ReadGenerations(ctx, r.kv)
	if !errors.Is(err, projection.ErrNoGenerations) {
		return g, rev, err
	}
	_, err = r.kv.Create(ctx, projection.ActiveEntry, projection.FirstGenerations().Encode())
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return g, 0, fmt.Errorf("create generations: %w", err)
	}
	return projection.ReadGenerations(ctx, r.kv)
}

// change applies edit to the newest state until the compare-and-set succeeds. A compare-and-set with an unknown outcome is
// settled by the next reading, so edit must be one that is harmless to find done already.
func (r Registry) change(ctx context.Context, edit func(*projection.Generations) error) (projection.Generations, error) {
	for {
		g, rev, err := r.read(ctx)
		if err != nil {
			return g, err
		}
		before := g
		if err := edit(&g); err != nil || g == before {
			return g, err
		}
		err = r.update(ctx, g, rev)
		if err == nil {
			return g, nil
		}
		if !conflict(err) {
			return g, fmt.Errorf("change generations: %w", err)
		}
	}
}

func (r Registry) update(ctx context.Context, g projection.Generations, rev uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := r.kv.Update(ctx, projection.ActiveEntry, g.Encode(), rev)
	return err
}

// conflict reports a lost compare-and-set; a replicated stream has a second code for it (PIPELINE.md 1.1).
func conflict(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) ||
		errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == 10164)
}

// Reserve takes a generation number that nobody ever used, and returns the generation that is active now. The lease is written
// before the number is taken, so that no collector sees the one without the other.
func (r Registry) Reserve(ctx context.Context) (gen, active uint64, err error) {
	g, err := r.change(ctx, func(g *projection.Generations) error {
		gen, active = g.Next, g.Active
		if err := r.Renew(ctx, gen); err != nil {
			return err
		}
		g.Next++
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return g.Next - 1, active, nil
}

// Switch makes gen the active generation in place of old. The old one is kept until the given time, or not at all when that is zero.
// The error wraps ErrSuperseded when old is no longer the active one.
func (r Registry) Switch(ctx context.Context, gen, old uint64, until time.Time) error {
	_, err := r.change(ctx, func(g *projection.Generations) error {
		if g.Active == gen {
			return nil
		}
		if g.Active != old {
			return fmt.Errorf("switch from %d to %d while %d is active: %w", old, gen, g.Active, ErrSuperseded)
		}
		g.Active, g.Previous, g.PreviousUntilUnix = gen, 0, 0
		if !until.IsZero() {
			g.Previous, g.PreviousUntilUnix = old, until.Unix()
		}
		return nil
	})
	return err
}

// Rollback makes the previous generation the active one again and keeps the other until the given time. The error wraps ErrNoPrevious.
func (r Registry) Rollback(ctx context.Context, now, until time.Time) (projection.Generations, error) {
	target := uint64(0)
	return r.change(ctx, func(g *projection.Generations) error {
		if target != 0 && g.Active == target {
			return nil // The first attempt's answer was lost.
		}
		if g.Previous == 0 || now.Unix() >= g.PreviousUntilUnix {
			return ErrNoPrevious
		}
		target = g.Previous
		g.Active, g.Previous, g.PreviousUntilUnix = g.Previous, g.Active, until.Unix()
		return nil
	})
}

// DropPrevious gives up the previous generation if it is gen.
func (r Registry) DropPrevious(ctx context.Context, gen uint64) (projection.Generations, error) {
	return r.change(ctx, func(g *projection.Generations) error {
		if g.Previous == gen {
			g.Previous, g.PreviousUntilUnix = 0, 0
		}
		return nil
	})
}

func leaseKey(gen uint64) string { return leasePrefix + strconv.FormatUint(gen, 10) }

// Renew says that generation gen is being built.
func (r Registry) Renew(ctx context.Context, gen uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := r.kv.Put(ctx, leaseKey(gen), nil); err != nil {
		return fmt.Errorf("renew lease of generation %d: %w", gen, err)
	}
	return nil
}

// Release says that generation gen is no longer being built.
func (r Registry) Release(ctx context.Context, gen uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := r.kv.Purge(ctx, leaseKey(gen)); err != nil {
		return fmt.Errorf("release generation %d: %w", gen, err)
	}
	return nil
}

// Building reports whether gen has a lease that is not too old. Ages compare the server's time with this machine's, which may
// differ by a good part of LeaseAge without harm.
func (r Registry) Building(ctx context.Context, gen uint64, now time.Time) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	e, err := r.kv.Get(ctx, leaseKey(gen))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read lease of generation %d: %w", gen, err)
	}
	return now.Sub(e.Created()) < LeaseAge, nil
}

// Builds lists the generations with a lease that is not too old.
func (r Registry) Builds(ctx context.Context, now time.Time) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	keys, err := r.kv.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	var gens []uint64
	for _, k := range keys {
		gen, ok := leased(k)
		if !ok {
			continue
		}
		building, err := r.Building(ctx, gen, now)
		if err != nil {
			return nil, err
		}
		if building {
			gens = append(gens, gen)
		}
	}
	return gens, nil
}

func leased(key string) (uint64, bool) {
	if len(key) <= len(leasePrefix) || key[:len(leasePrefix)] != leasePrefix {
		return 0, false
	}
	gen, err := strconv.ParseUint(key[len(leasePrefix):], 10, 64)
	return gen, err == nil
}
