// Package fold computes from LINKS alone what the projection should hold: the newest event of each aggregate, and the count and
// checksum of each partition. It shares no state and no bookkeeping with the feeder, so that the two can be compared.
package fold

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/projector/internal/source"
	"linkfold/schema/projection"
)

// Entry is what the fold knows of one aggregate.
type Entry struct {
	Seq, Term uint64 // of its newest event
	Partition uint8
	// Marked is for the caller.
	Marked bool
}

// Sum is the content of a partition in two numbers.
type Sum struct{ Count, Checksum uint64 }

// Fold is the state of all aggregates at one sequence. It is pure; memory is about 100 bytes per aggregate.
type Fold struct {
	Seen    uint64 // every event up to here is in
	entries map[string]Entry
	sums    [projection.Partitions]Sum
}

// New is the fold of no events.
func New() *Fold { return &Fold{entries: map[string]Entry{}} }

// Apply folds one event; the newest of an aggregate wins. Unreadable events change nothing.
func (f *Fold) Apply(e source.Event) {
	f.Seen = max(f.Seen, e.Seq)
	if e.Value == nil {
		return
	}
	old, known := f.entries[e.Name]
	if known && old.Seq >= e.Seq {
		return
	}
	_, term, _, err := projection.Split(e.Value)
	if err != nil {
		return // Value made it.
	}
	s := &f.sums[e.Partition]
	if known {
		s.Checksum = projection.AddChecksum(s.Checksum, -old.Term)
	} else {
		s.Count++
	}
	s.Checksum = projection.AddChecksum(s.Checksum, term)
	f.entries[e.Name] = Entry{Seq: e.Seq, Term: term, Partition: uint8(e.Partition), Marked: old.Marked}
}

// Get returns the entry of an aggregate.
func (f *Fold) Get(name string) (Entry, bool) {
	e, ok := f.entries[name]
	return e, ok
}

// Mark sets Marked of a known aggregate.
func (f *Fold) Mark(name string) {
	e := f.entries[name]
	e.Marked = true
	f.entries[name] = e
}

// Unmarked lists the aggregates that were not marked.
func (f *Fold) Unmarked() iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) {
		for name, e := range f.entries {
			if !e.Marked && !yield(name, e) {
				return
			}
		}
	}
}

// Len is the number of aggregates.
func (f *Fold) Len() int { return len(f.entries) }

// Sums are the partitions' sums.
func (f *Fold) Sums() [projection.Partitions]Sum { return f.sums }

// Live is a fold that can be moved forward along the stream. For one goroutine; Close it.
type Live struct {
	*Fold
	Life   string
	reader *source.Reader
}

// Read folds the whole stream, up to what was its end when the reading began.
func Read(ctx context.Context, js jetstream.JetStream) (*Live, error) {
	l, err := read(ctx, js, true)
	if errors.Is(err, errHidden) {
		l, err = read(ctx, js, false)
	}
	if err != nil {
		return nil, fmt.Errorf("fold stream: %w", err)
	}
	return l, nil
}

// errHidden means that a last event is unreadable and all events must be read to find the good one before it.
var errHidden = errors.New("an unreadable event may hide an older one")

func read(ctx context.Context, js jetstream.JetStream, latest bool) (*Live, error) {
	r, err := open(ctx, js, latest)
	if err != nil {
		return nil, err
	}
	l := &Live{Fold: New(), Life: r.Info.Life, reader: r}
	hidden := false
	err = l.Advance(ctx, r.Info.Last, func(e source.Event) bool {
		hidden = hidden || e.Hides()
		return true
	})
	if err == nil && hidden && latest {
		err = errHidden
	}
	if err != nil {
		l.Close(ctx)
		return nil, err
	}
	return l, nil
}

func open(ctx context.Context, js jetstream.JetStream, latest bool) (*source.Reader, error) {
	if latest {
		return source.OpenLatest(ctx, js)
	}
	return source.Open(ctx, js, 1)
}

// Advance folds what the stream holds up to seq, which must exist. visit, if not nil, is called before each event, and leaves it out by
// returning false.
func (l *Live) Advance(ctx context.Context, seq uint64, visit func(source.Event) bool) error {
	for l.Seen < seq {
		e, err := l.reader.Next(ctx)
		if err != nil {
			return err
		}
		if visit != nil && !visit(e) {
			l.Seen = e.Seq
			continue
		}
		l.Apply(e)
	}
	return nil
}

// Close ends the reading.
func (l *Live) Close(ctx context.Context) { l.reader.Close(ctx) }
