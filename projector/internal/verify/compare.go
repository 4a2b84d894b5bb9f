// Package verify compares a generation of the projection with a fold of the stream, while traffic goes on.
//
// What is compared: every value's sequence; its stored checksum term with one computed anew from its content, and with the term of
// the event; that no aggregate is missing or invented; and each partition's count and checksum with the fold at exactly the
// partition's cursor.
package verify

import (
	"iter"

	"linkfold/projector/internal/fold"
	"linkfold/projector/internal/source"
	"linkfold/projector/internal/target"
	"linkfold/schema/projection"
)

// Kind is a sort of difference.
type Kind string

// The kinds of difference.
const (
	Missing  Kind = "missing"  // the stream has the aggregate, Redis has not
	Extra    Kind = "extra"    // Redis has the aggregate, the stream never had
	Stale    Kind = "stale"    // Redis has an older event than the stream, though the cursor says otherwise
	Corrupt  Kind = "corrupt"  // the value is not what the event says
	Checksum Kind = "checksum" // a partition's count or checksum is not that of its events
	Behind   Kind = "behind"   // a partition did not get as far as the stream in time, so it was not compared
)

// Difference is one thing that is not as the stream says.
type Difference struct {
	Kind      Kind
	Partition int
	Name      string // projection.Name of the aggregate; empty when it is about the partition
	// Want and Got are LINKS sequences; for Checksum they are counts when these differ, else checksums.
	Want, Got uint64
}

// maxListed bounds the differences that a report names.
const maxListed = 1000

// Report is the result of a verification.
type Report struct {
	Generation  uint64
	Sequence    uint64 // the fold that values were compared with
	Keys        int    // values compared
	Counts      map[Kind]int
	Differences []Difference // the first 1000
	// Rulesets counts the links of each domain in Redis, deleted ones included, and adds up their checksum terms: the API says the same of
	// the log (GET /v1/domains/{domain}/ruleset).
	Rulesets map[string]fold.Sum
}

// Clean reports whether no difference was found.
func (r *Report) Clean() bool { return len(r.Counts) == 0 }

// Total is the number of differences, also of those that are not listed.
func (r *Report) Total() int {
	n := 0
	for _, c := range r.Counts {
		n += c
	}
	return n
}

func (r *Report) add(d Difference) {
	if r.Counts == nil {
		r.Counts = map[Kind]int{}
	}
	r.Counts[d.Kind]++
	if len(r.Differences) < maxListed {
		r.Differences = append(r.Differences, d)
	}
}

func (r *Report) count(name string, term uint64) {
	if domain, ok := projection.DomainOf(name); ok {
		sum := r.Rulesets[domain]
		r.Rulesets[domain] = fold.Sum{Count: sum.Count + 1, Checksum: projection.AddChecksum(sum.Checksum, term)}
	}
}

// comparison compares values with a fold. It is pure. Every partition's cursor has reached the fold before the first value is read.
type comparison struct {
	fold   *fold.Fold
	at     uint64 // sequence of the fold
	report *Report
	extras map[string]bool // reported; a scan may show a key twice
}

func newComparison(f *fold.Fold, gen uint64) *comparison {
	return &comparison{fold: f, at: f.Seen, report: &Report{Generation: gen, Sequence: f.Seen, Rulesets: map[string]fold.Sum{}}, extras: map[string]bool{}}
}

// value judges one stored value. When it is newer than the fold, only the stream can tell: its sequence is returned, and judge has
// to be called with that event.
func (c *comparison) value(r target.Record) (newer uint64) {
	want, known := c.fold.Get(r.Name)
	if known && want.Marked || c.extras[r.Name] {
		return 0
	}
	c.report.Keys++
	if known {
		c.fold.Mark(r.Name)
	}
	seq, term, state, err := projection.Split(r.Raw)
	c.report.count(r.Name, term)
	d := Difference{Partition: r.Partition, Name: r.Name, Want: want.Seq, Got: seq}
	switch {
	case err != nil || projection.Checksum(r.Name, seq, state) != term:
		d.Kind = Corrupt
	case seq > c.at:
		return seq
	case !known:
		d.Kind = Extra
		c.extras[r.Name] = true
	case seq < want.Seq:
		d.Kind = Stale
	case seq > want.Seq || term != want.Term || r.Partition != int(want.Partition):
		d.Kind = Corrupt
	default:
		return 0
	}
	c.report.add(d)
	return 0
}

// judge judges a value that is newer than the fold by the event with its sequence; ok is false when the stream has no such event.
func (c *comparison) judge(r target.Record, e source.Event, ok bool) {
	seq, term, _, err := projection.Split(r.Raw)
	if err != nil {
		return // value has dealt with it.
	}
	d := Difference{Partition: r.Partition, Name: r.Name, Want: e.Seq, Got: seq, Kind: Corrupt}
	if ok && e.Name == r.Name && e.Partition == r.Partition && e.Value != nil {
		_, want, _, err := projection.Split(e.Value)
		if err == nil && want == term {
			return
		}
	} else if _, known := c.fold.Get(r.Name); !known {
		d.Kind = Extra
	}
	c.report.add(d)
}

// unseen lists the aggregates of the fold for which no value was given.
func (c *comparison) unseen() iter.Seq2[string, fold.Entry] { return c.fold.Unmarked() }

// missing notes that an aggregate has no value.
func (c *comparison) missing(name string, want fold.Entry) {
	c.report.add(Difference{Kind: Missing, Partition: int(want.Partition), Name: name, Want: want.Seq})
}

// partition compares a partition's own count and checksum with those of the fold at its cursor.
func (c *comparison) partition(p int, got projection.Meta, want fold.Sum) {
	switch {
	case got.Count != want.Count:
		c.report.add(Difference{Kind: Checksum, Partition: p, Want: want.Count, Got: got.Count})
	case got.Checksum != want.Checksum:
		c.report.add(Difference{Kind: Checksum, Partition: p, Want: want.Checksum, Got: got.Checksum})
	}
}
