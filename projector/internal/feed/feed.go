// Package feed keeps one generation of the projection equal to the fold of LINKS.
//
// A feeder works in sessions. A session reads the 64 cursors, starts reading LINKS behind the lowest of them, and applies what
// comes. Whatever goes wrong (a partition lost events, Redis or NATS fails, messages arrive out of order) ends the session, and the
// next one starts from the cursors again: there is one way to start and one way to heal. What makes this safe is the apply
// function, which refuses every batch that does not follow what the partition holds.
//
// With an empty partition the session is a sweep: it reads the last event of each subject only, which is enough because events carry the
// full state, and completes the cursors when the sweep has reached what was the stream's end when it began.
package feed

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"linkfold/projector/internal/target"
)

// ErrUnwanted means that the generation is no longer one that anybody feeds.
var ErrUnwanted = errors.New("generation is no longer fed")

// Pauses before a new session: short at first, since most troubles are over at once, and longer while sessions do not last.
const (
	firstPause = 20 * time.Millisecond
	maxPause   = time.Second
	lasted     = 3 * time.Second
)

// Feeder feeds one generation. Run may be called again after it has returned.
type Feeder struct {
	JS         jetstream.JetStream
	Redis      redis.UniversalClient
	Generation uint64
	Log        *slog.Logger
	Metrics    *Metrics
	// Wanted is asked before every session; nil from it means yes, an ErrUnwanted ends Run.
	Wanted func(context.Context) error
	// Until, when not 0, ends Run as soon as every partition is complete to there; outside a sweep nothing beyond it is applied.
	Until uint64

	full     bool // last events are not enough: one of them is unreadable, so read all
	status   atomic.Pointer[Status]
	keysDone atomic.Uint64
	keysLeft atomic.Uint64
}

// Status is where a feeder stands.
type Status struct {
	Cursor uint64 // every partition is complete up to here
	Target uint64 // newest sequence of the stream, as far as known
	Live   bool   // was at the stream's end in this session
}

// Lag is how many events of the stream are not applied yet.
func (s Status) Lag() uint64 { return s.Target - min(s.Cursor, s.Target) }

// Status may be called at any time.
func (f *Feeder) Status() Status {
	if s := f.status.Load(); s != nil {
		return *s
	}
	return Status{}
}

// Progress is how many events were applied since the feeder was made, and how many the stream still had to send.
func (f *Feeder) Progress() (done, left uint64) { return f.keysDone.Load(), f.keysLeft.Load() }

func (f *Feeder) target() target.Target {
	return target.Target{Redis: f.Redis, Generation: f.Generation}
}

// Run feeds until ctx ends or Until is reached, and returns nil then. The error wraps ErrSpoiled or ErrUnwanted; everything else
// is tried again for as long as it takes.
func (f *Feeder) Run(ctx context.Context) error {
	pause, troubled := firstPause, false
	for {
		begun := time.Now()
		err := f.session(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrSpoiled), errors.Is(err, ErrUnwanted):
			return err
		}
		f.status.Store(&Status{Target: f.Status().Target})
		if time.Since(begun) > lasted {
			pause, troubled = firstPause, false
		}
		f.report(err, troubled)
		troubled = true
		if !sleep(ctx, pause) {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// report logs why a session ended; while the trouble lasts, more of the same is not worth a line each.
func (f *Feeder) report(err error, again bool) {
	level := slog.LevelWarn
	if again {
		level = slog.LevelDebug
	}
	if errors.Is(err, errGap) {
		f.Metrics.gaps.Inc()
	}
	f.Metrics.rewinds.Inc()
	f.Log.Log(context.Background(), level, "reading again from the cursors", "generation", f.Generation, "err", err)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
