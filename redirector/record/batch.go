package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Most hits and bytes of a batch. A JetStream atomic batch may hold 1,000 messages; 500 is where throughput levels off
// (PIPELINE.md 1.2).
const (
	batchHits  = 500
	batchBytes = 1 << 20
)

// batch is a group of encoded hits that is sent, spilled and settled as one. It is written by one goroutine at a time: Record's
// callers (under Recorder.mu) while it is the newest of the queue, then the flusher, then the drainer.
type batch struct {
	id        string
	data      []byte // the hits, back to back
	ends      []int  // where each ends in data
	attempted bool   // sent by the flusher: its messages may be in the stream, or still on their way
	retried   bool   // sent by the drainer before, without an answer
	inherited bool   // found in the spill directory at start
	parts     int    // shelved batches that were joined into this one

	released chan struct{} // closed once the visitors of these hits may be answered
	once     sync.Once
	timer    *time.Timer
}

func (b *batch) len() int   { return len(b.ends) }
func (b *batch) size() int  { return len(b.data) }
func (b *batch) room() bool { return len(b.ends) < batchHits && len(b.data) < batchBytes }

func (b *batch) add(hit []byte) {
	b.data = append(b.data, hit...)
	b.ends = append(b.ends, len(b.data))
}

func (b *batch) hit(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]:b.ends[i]]
}

// joins reports whether o can be sent as a part of b. A batch that the flusher has sent cannot: if it arrives after all, late, the server
// recognises it by its message ids only while the re-send carries the same.
func (b *batch) joins(o *batch) bool {
	return !b.attempted && !o.attempted && b.inherited == o.inherited &&
		b.len()+o.len() <= batchHits && b.size()+o.size() <= batchBytes
}

// join makes o a part of b, which then needs an id of its own.
func (b *batch) join(o *batch) {
	for i := range o.len() {
		b.add(o.hit(i))
	}
	b.parts += o.parts
}

// copy is b without the visitors that wait for it, to join others to.
func (b *batch) copy() *batch {
	return &batch{id: b.id, data: slices.Clone(b.data), ends: slices.Clone(b.ends), attempted: b.attempted, inherited: b.inherited, parts: b.parts}
}

// release lets the visitors go; the timer is not needed any more.
func (b *batch) release() {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.open()
}

func (b *batch) open() { b.once.Do(func() { close(b.released) }) }

var errBatch = errors.New("malformed spilled batch")

// encode is the payload of a spill record: attempted (1 byte), id and hits, each with its length in 4 bytes, little endian.
func (b *batch) encode() []byte {
	out := make([]byte, 0, 16+len(b.id)+len(b.data)+4*len(b.ends))
	if b.attempted {
		out = append(out, 1)
	} else {
		out = append(out, 0)
	}
	out = appendField(out, []byte(b.id))
	for i := range b.ends {
		out = appendField(out, b.hit(i))
	}
	return out
}

func appendField(out, field []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(field))), field...)
}

// decodeBatch is the inverse of encode; the error wraps errBatch.
func decodeBatch(p []byte) (*batch, error) {
	if len(p) < 1 {
		return nil, errBatch
	}
	b := &batch{attempted: p[0] == 1, parts: 1, released: make(chan struct{})}
	id, rest, err := cutField(p[1:])
	if err != nil {
		return nil, err
	}
	b.id = string(id)
	for len(rest) > 0 {
		var hit []byte
		if hit, rest, err = cutField(rest); err != nil {
			return nil, err
		}
		b.add(hit)
	}
	if b.len() > batchHits {
		return nil, fmt.Errorf("%d hits, more than the stream takes at once: %w", b.len(), errBatch)
	}
	return b, nil
}

func cutField(p []byte) (field, rest []byte, err error) {
	if len(p) < 4 || uint64(len(p)-4) < uint64(binary.LittleEndian.Uint32(p)) {
		return nil, nil, fmt.Errorf("field cut short: %w", errBatch)
	}
	n := 4 + int(binary.LittleEndian.Uint32(p))
	return p[4:n], p[n:], nil
}
