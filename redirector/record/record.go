// Package record makes hits durable: it takes one hit per request and sees to it that the hit reaches its stream exactly as
// often as the promise of its mode says (DESIGN.md §4).
//
// The way of a hit:
//
//	Record ──> queue of batches ──flusher──> JetStream            (one batch in flight; the next collects meanwhile)
//	                                │ no ack within AckWait
//	                                ├──> spill directory, fsynced ──drainer──> JetStream, marked as re-sent
//	                                └──> memory (no directory)    ──drainer──> JetStream, marked as re-sent
//
// In mode stream, Record returns when the hit is acknowledged by the stream or fsynced in the spill directory; without a
// directory it returns after AckWait at the latest and the hit waits in memory. When the disk does not answer for a second either,
// Record returns all the same: redirecting comes first. In mode async it returns at once. Memory is
// bounded: beyond the bound the newest hits are dropped and counted. Every hit is at any moment in exactly one of
// acknowledged, buffered, spilled or dropped, and these counts are published to the LEDGER stream (DESIGN.md §8).
//
// A batch whose outcome is unknown is sent again under its first message id and with the header stream.HeaderResent, so a copy that
// did arrive is recognised by the server or by ingest.
package record

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"linkfold/schema/linkfoldv1"
)

// Modes of durability.
const (
	ModeStream = "stream"
	ModeAsync  = "async"
)

// Config is how much a hit's durability may cost.
type Config struct {
	Mode        string        `help:"When a visitor is answered: once the hit is durable (stream), or at once (async)." enum:"stream,async" default:"stream"`
	AckWait     time.Duration `help:"How long to wait for the stream before a hit goes to the spill directory." default:"50ms"`
	BufferBytes int           `help:"Memory for hits that are not durable yet; beyond it the newest are dropped and counted." default:"67108864"`
	SpillDir    string        `help:"Directory for hits that the stream does not take in time; one redirector each. Empty: keep them in memory." type:"path"`
	SpillBytes  int64         `help:"Most bytes in the spill directory; beyond it hits stay in memory." default:"1073741824"`
	Drain       time.Duration `help:"How long to go on sending at shutdown." default:"5s"`
}

// Validate names the setting that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.Mode != ModeStream && c.Mode != ModeAsync:
		return fmt.Errorf("durability mode %q: give stream or async", c.Mode)
	case c.AckWait < time.Millisecond || c.AckWait > 10*time.Second:
		return fmt.Errorf("ack wait %v: give 1ms to 10s", c.AckWait)
	case c.BufferBytes < 1<<20:
		return fmt.Errorf("buffer of %d bytes: give at least 1048576", c.BufferBytes)
	case c.SpillBytes < segmentBytes:
		return fmt.Errorf("spill of %d bytes: give at least %d", c.SpillBytes, segmentBytes)
	case c.Drain < 0:
		return fmt.Errorf("drain %v: give a positive duration", c.Drain)
	}
	return nil
}

// stuckDisk is how long a visitor waits when even the spill directory does not answer: redirecting comes first.
const stuckDisk = time.Second

// Recorder takes hits. Make one with New, run it with Run, stop using Record before Run's context ends.
type Recorder struct {
	cfg     Config
	id      string
	started time.Time
	nc      *nats.Conn
	log     *slog.Logger
	subject string
	spill   *spill // nil without a directory
	metrics *metrics

	scratch    sync.Pool // of *[]byte, to encode hits in
	spillFails bool      // the last append failed; of the flusher

	healthy atomic.Bool   // the stream answered in time the last time it was asked
	wake    chan struct{} // the queue is no longer empty
	retry   chan struct{} // the drainer has something to do

	mu     sync.Mutex
	queue  []*batch // oldest first; the last one still takes hits
	kept   []*batch // taken from the queue, not acknowledged, no durable copy
	bytes  int      // of queue and kept
	counts counts
	nextID uint64
	closed bool // Run has ended: nothing is sent any more
}

// New opens the spill directory and takes over what an earlier instance left there. id names this instance and must be
// unique per process start; subject is that of its HITS partition.
func New(cfg Config, id, subject string, nc *nats.Conn, reg prometheus.Registerer, log *slog.Logger) (*Recorder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Recorder{
		cfg: cfg, id: id, started: time.Now(), nc: nc, log: log, subject: subject,
		wake: make(chan struct{}, 1), retry: make(chan struct{}, 1),
	}
	r.healthy.Store(true)
	if cfg.SpillDir != "" {
		s, inherited, err := openSpill(cfg.SpillDir, cfg.SpillBytes, log)
		if err != nil {
			return nil, err
		}
		s.lost = r.writeOff
		r.spill, r.counts.inherited = s, inherited
		if inherited > 0 {
			log.Info("spilled hits of an earlier instance found", "hits", inherited, "dir", cfg.SpillDir)
			signal(r.retry)
		}
	}
	r.metrics = newMetrics(reg, r)
	return r, nil
}

// Record takes one hit and returns when the mode's promise about it holds. It reports whether the hit was accepted: false means
// that it was dropped and counted, because memory is full or Run has ended. The hit is not kept after the call.
func (r *Recorder) Record(h *linkfoldv1.Hit) bool {
	buf, ok := r.scratch.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	defer r.scratch.Put(buf)
	var err error
	if *buf, err = (proto.MarshalOptions{}).MarshalAppend((*buf)[:0], h); err != nil {
		r.countDrop(fmt.Errorf("encode hit: %w", err))
		return false
	}
	b := r.add(*buf)
	if b == nil {
		return false
	}
	if r.cfg.Mode == ModeStream {
		<-b.released
	}
	return true
}

// add appends an encoded hit to the newest batch; nil means that it was dropped.
func (r *Recorder) add(hit []byte) *batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.accepted++
	if r.closed || r.bytes+len(hit) > r.cfg.BufferBytes {
		r.counts.dropped++
		return nil
	}
	var b *batch
	if n := len(r.queue); n > 0 && r.queue[n-1].room() {
		b = r.queue[n-1]
	} else {
		b = r.newBatch()
		r.queue = append(r.queue, b)
	}
	b.add(hit)
	r.bytes += len(hit)
	r.counts.buffered++
	if r.waits() {
		r.counts.unanswered++
	}
	if len(r.queue) == 1 && b.len() == 1 {
		signal(r.wake)
	}
	return b
}

// waits reports that visitors wait until their hits are durable. (When the disk is stuck they are let go after a second; that is not
// counted.)
func (r *Recorder) waits() bool { return r.cfg.Mode == ModeStream && r.spill != nil }

// newBatch is called with the lock held. Its timer is the visitor's way out when nothing else answers.
func (r *Recorder) newBatch() *batch {
	b := &batch{id: r.newID(), parts: 1, released: make(chan struct{})}
	if r.cfg.Mode == ModeStream {
		limit := stuckDisk
		if r.spill == nil {
			limit = r.cfg.AckWait
		}
		b.timer = time.AfterFunc(limit, b.open)
	}
	return b
}

// newID is called with the lock held. A batch id is never used for two batches: the server would take the second for stored.
func (r *Recorder) newID() string {
	r.nextID++
	return fmt.Sprintf("%s-%d", r.id, r.nextID)
}

func (r *Recorder) countDrop(err error) {
	r.mu.Lock()
	r.counts.accepted++
	r.counts.dropped++
	r.mu.Unlock()
	r.log.Error("hit dropped", "err", err)
}
