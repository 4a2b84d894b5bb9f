package links

import (
	"context"
	"fmt"
	"strings"
	"time"

	"linkfold/redirector/resolve"
	"linkfold/schema/link"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// Found is the link with the longest key that is a prefix of a path.
type Found struct {
	// Key is the link's key; a part of the path that was asked for. Empty when there is no such link.
	Key   string
	Entry Entry
	// Inactive is the longest key on the way to it that belongs to a link that is switched off; empty when there is none. It counts as
	// unknown, and is told for the record only.
	Inactive      string
	InactiveEntry Entry
}

// see takes the next shorter candidate into account and reports whether it is the one.
func (f *Found) see(key string, e Entry) bool {
	switch {
	case e.Live():
		f.Key, f.Entry = key, e
		return true
	case f.Inactive == "" && e.Link != nil && !e.Link.GetDeleted():
		f.Inactive, f.InactiveEntry = key, e
	}
	return false
}

// candidate is a key that the near cache cannot settle, with what it knows.
type candidate struct {
	key   string
	entry Entry
	known bool
}

// Longest finds the live link of domain whose key is the longest prefix of path at a slash, or all of it. path begins with a slash. What the
// near cache does not know costs one round trip to Redis for all candidates together: they share a partition. The error wraps
// ErrUnavailable. The strings are not kept.
func (s *Store) Longest(ctx context.Context, domain, path string) (Found, error) {
	var f Found
	var open []candidate // longer than anything that is settled, longest first
	now := time.Now()
candidates:
	for key := range resolve.Candidates(path) {
		if len(key) > link.MaxKey || len(key) > link.MaxSegments && strings.Count(key, "/") >= link.MaxSegments {
			continue // No key is like this.
		}
		e, known, fresh := s.cache.get(stream.LinkAggregate(domain, key), now)
		switch {
		case !fresh, len(open) > 0: // What is settled counts only once the longer ones are.
			open = append(open, candidate{key, e, known})
			if fresh && e.Live() {
				break candidates
			}
		case f.see(key, e):
			break candidates
		}
	}
	if len(open) == 0 {
		s.metrics.cacheHits.Inc()
		return f, nil
	}
	err := s.settle(ctx, domain, open, &f)
	return f, err
}

// settle asks for candidates that the near cache does not know; they follow each other in the path.
func (s *Store) settle(ctx context.Context, domain string, open []candidate, f *Found) error {
	as := make([]stream.Aggregate, len(open))
	for i, c := range open {
		as[i] = clone(stream.LinkAggregate(domain, c.key))
	}
	for asked := 0; asked < len(as); {
		rest := as[asked:]
		// The first and the last name all between them. Requests that ask for less or more of the same path have a load of their own.
		entries, err := s.load(ctx, projection.Name(rest[0])+" "+rest[len(rest)-1].Key, rest)
		if err != nil {
			return s.settleStale(as, open, f, err)
		}
		for i, e := range entries {
			if f.see(open[asked+i].key, e) {
				return nil
			}
		}
		// Mostly all. Fewer, when the link at which the load ended was switched off in the meantime.
		asked += len(entries)
	}
	return nil
}

// settleStale is for when nothing can be asked: the longest candidate that is known to be live has to do, unless nothing is known of a longer
// one, since another link may be meant.
func (s *Store) settleStale(as []stream.Aggregate, open []candidate, f *Found, cause error) error {
	for i, c := range open {
		if !c.known {
			break
		}
		if f.see(c.key, s.cache.put(as[i], c.entry, staleFor, s.cache.epoch.Load())) {
			s.metrics.stale.Inc()
			return nil
		}
	}
	return fmt.Errorf("look up %s: %w: %v", projection.Name(as[0]), ErrUnavailable, cause)
}
