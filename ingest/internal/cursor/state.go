// Package cursor keeps how far a stream is stored: a small state with pure transitions, and a store in a NATS key-value
// bucket in which every write is a compare-and-set (PIPELINE.md 2.4).
//
// The state promises: every sequence up to Done is in ClickHouse exactly once (or recorded as a gap); only sequences of
// Pend may be there besides; nothing above Pend is.
package cursor

import (
	"time"

	"linkfold/schema/clickhouse"
)

// CodecVersion is the version of how messages become rows; it is kept with a pending range for people who look at it.
const CodecVersion = 1

// State is one stream's cursor, kept as JSON.
type State struct {
	// Gen is the generation of the stream that the sequences belong to.
	Gen string `json:"gen"`
	// Done is the last sequence of the prefix that is stored; 0 at the start.
	Done uint64 `json:"done"`
	// Pend is the range that is being stored, nil between batches.
	Pend *Pend `json:"pend"`
	// Owner is the process that wrote this state: it makes equal states of two processes different.
	Owner string `json:"owner"`
}

// Pend is a range whose rows may be in ClickHouse or not.
type Pend struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// N is how many messages of the range can be stored: all, less those that have left the stream.
	N uint64 `json:"n"`
	// Attempt counts the tries, from 0.
	Attempt uint32 `json:"att"`
	// Until is when the fence of the attempt closes: Unix seconds on ClickHouse's clock.
	Until int64 `json:"until"`
	// Codec is the CodecVersion of the writer.
	Codec int `json:"codec_version"`
}

// UntilTime is Until as a time.
func (p Pend) UntilTime() time.Time { return time.Unix(p.Until, 0).UTC() }

// Range is the pending range of the stream.
func (s State) Range(stream string) clickhouse.Range {
	return clickhouse.Range{Stream: stream, Gen: s.Gen, First: s.Pend.First, Last: s.Pend.Last}
}

// Pended is the state before a first attempt on the messages up to last (step 4).
func (s State) Pended(last uint64, until time.Time) State {
	first := s.Done + 1
	s.Pend = &Pend{First: first, Last: last, N: last - first + 1, Until: until.Unix(), Codec: CodecVersion}
	return s
}

// Retried is the state before another attempt; n is how many messages can still be stored (step 6).
func (s State) Retried(n uint64, until time.Time) State {
	p := *s.Pend
	p.N, p.Attempt, p.Until, p.Codec = n, p.Attempt+1, until.Unix(), CodecVersion
	s.Pend = &p
	return s
}

// Finished is the state after the pending range is stored (step 7).
func (s State) Finished() State {
	s.Done, s.Pend = s.Pend.Last, nil
	return s
}

// Skipped is the state after the messages up to last were recorded as a gap.
func (s State) Skipped(last uint64) State {
	s.Done = last
	return s
}

// Verdict is what the data says about a pending range.
type Verdict int

// The verdicts.
const (
	// Incomplete: some messages are not stored.
	Incomplete Verdict = iota
	// Complete: all messages are stored, each once.
	Complete
	// Doubled: all messages are stored, and some more than once. Never seen while the fence holds.
	Doubled
)

// Judge compares what ClickHouse counted in the pending range with what should be there.
func (p Pend) Judge(rows, distinct uint64) Verdict {
	switch {
	case distinct < p.N:
		return Incomplete
	case rows > distinct:
		return Doubled
	}
	return Complete
}
