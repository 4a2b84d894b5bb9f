package visitor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/stream"
)

const saltDay = 24 * time.Hour

// Salts hands out the salt of each UTC day. All redirectors share it through the bucket stream.Salts, where it expires. While NATS has
// never been reachable on a day, a salt of this process stands in: unique visitors may then be counted once per redirector.
type Salts struct {
	js  jetstream.JetStream
	log *slog.Logger

	mu   sync.RWMutex
	days map[int64]daySalt // by days since the epoch; at most yesterday, today and tomorrow
}

type daySalt struct {
	salt   *Salt
	shared bool
}

// NewSalts makes an empty set; call Run, and Load once before serving.
func NewSalts(js jetstream.JetStream, log *slog.Logger) *Salts {
	return &Salts{js: js, log: log, days: map[int64]daySalt{}}
}

// At is the salt of the day of now.
func (s *Salts) At(now time.Time) *Salt {
	day := now.Unix() / int64(saltDay/time.Second)
	s.mu.RLock()
	d, ok := s.days[day]
	s.mu.RUnlock()
	if ok {
		return d.salt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok = s.days[day]; !ok {
		d = daySalt{salt: newSalt()}
		s.days[day] = d
		s.log.Warn("shared visitor salt not known yet, using one of this process", "day", day)
	}
	return d.salt
}

// Run fetches the salts of today and tomorrow ahead of time, until ctx ends.
func (s *Salts) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		if err := s.Load(ctx, time.Now()); err != nil && ctx.Err() == nil {
			s.log.Warn("visitor salts not loaded, will try again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Load gets the salts of now's day and the next from the bucket, creating them when this is the first redirector to ask, and forgets
// those of days gone by.
func (s *Salts) Load(ctx context.Context, now time.Time) error {
	s.forget(now)
	today := now.Unix() / int64(saltDay/time.Second)
	for _, day := range []int64{today, today + 1} {
		s.mu.RLock()
		shared := s.days[day].shared
		s.mu.RUnlock()
		if shared {
			continue
		}
		salt, err := s.fetch(ctx, day)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.days[day] = daySalt{salt: salt, shared: true}
		s.mu.Unlock()
	}
	return nil
}

// late is how long after midnight a request of the day before may still be at work.
const late = time.Minute

// forget drops the salts of days gone by, be NATS there or not: from then on nobody can tell whose hash it was.
func (s *Salts) forget(now time.Time) {
	oldest := now.Add(-late).Unix() / int64(saltDay/time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	for day := range s.days {
		if day < oldest {
			delete(s.days, day)
		}
	}
}

// fetch reads a day's salt, or creates it: the bucket lets only the first creation through.
func (s *Salts) fetch(ctx context.Context, day int64) (*Salt, error) {
	kv, err := s.js.KeyValue(ctx, stream.Salts)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", stream.Salts, err)
	}
	key := time.Unix(day*int64(saltDay/time.Second), 0).UTC().Format(time.DateOnly)
	fresh := newSalt()
	if _, err := kv.Create(ctx, key, fresh[:]); err == nil {
		return fresh, nil
	} else if !errors.Is(err, jetstream.ErrKeyExists) {
		return nil, fmt.Errorf("create salt of %s: %w", key, err)
	}
	e, err := kv.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read salt of %s: %w", key, err)
	}
	if len(e.Value()) != len(Salt{}) {
		return nil, fmt.Errorf("salt of %s has %d bytes", key, len(e.Value()))
	}
	return (*Salt)(e.Value()), nil
}

func newSalt() *Salt {
	var s Salt
	_, _ = rand.Read(s[:]) // Never fails: see crypto/rand.
	return &s
}
