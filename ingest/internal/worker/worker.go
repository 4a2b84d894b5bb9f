// Package worker stores one stream in ClickHouse exactly once: the protocol "pend, insert, verify" of PIPELINE.md 2.4.
//
// The numbered steps are in these files, each with a comment that says what a crash there means:
//
//	1 boot     boot.go     cursor, stream and data must agree
//	2 open     lead.go     recover what is pending, else read on
//	3 collect  collect.go  messages become a batch, while the batch before is being stored
//	4 pend     commit.go   the exact range is in the cursor before its first row can be in ClickHouse
//	5 insert   commit.go   one block per table, fenced by the server's clock
//	6 recover  recover.go  after any doubt the data decides
//	7 done     commit.go   the cursor moves last
//
// Any number of workers may run on one stream: every write of the cursor is a compare-and-set, and who loses one stands
// by (standby.go). A worker that was stopped for a while and wakes up cannot do harm: the fence refuses its rows and the
// cursor its state.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/ingest/internal/cursor"
	"linkfold/ingest/internal/failpoint"
	"linkfold/ingest/internal/sink"
)

// Config is how a worker works. The zero value is not usable.
type Config struct {
	Stream string // name of the stream
	Owner  string // of this process and worker, unique

	MaxRows  int           // rows of a batch
	MaxBytes int           // payload bytes of a batch
	MaxDelay time.Duration // how long a message waits for company

	Until        time.Duration // how long an attempt may begin to insert
	MaxExecution time.Duration // how long an accepted insert may run
	Grace        time.Duration // added to both before an attempt counts as dead
	Takeover     time.Duration // how long a standby sees no progress before it takes over
}

// Deps are what a worker works with.
type Deps struct {
	JS         jetstream.JetStream
	Cursors    jetstream.KeyValue
	ClickHouse driver.Conn
	Log        *slog.Logger
	Metrics    *Metrics
	Failpoints *failpoint.Set // nil: none
}

// Worker stores one stream. Run it once.
type Worker struct {
	Config
	Deps
	kind  sink.Kind
	store *cursor.Store
	m     *streamMetrics

	mine attempt // the last attempt of this process, as far as it knows

	mu     sync.Mutex
	status error // why the worker is not ready, nil when it is
}

// errStarting is the status before the first success.
var errStarting = errors.New("starting")

// New makes a worker.
func New(c Config, d Deps) *Worker {
	d.Log = d.Log.With("stream", c.Stream)
	return &Worker{
		Config: c, Deps: d, kind: sink.KindOf(c.Stream), store: cursor.NewStore(d.Cursors, c.Stream),
		m: d.Metrics.of(c.Stream), status: errStarting,
	}
}

// The pause after a failure, from and to.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Run stores the stream until ctx ends, and returns nil then. It retries for ever: no state of NATS or ClickHouse ends
// it, and what it holds in memory meanwhile is bounded by two batches.
func (w *Worker) Run(ctx context.Context) error {
	backoff := minBackoff
	for ctx.Err() == nil {
		started := time.Now()
		err := w.lead(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, cursor.ErrTaken):
			w.setStatus(nil)
			w.standby(ctx)
			continue
		case time.Since(started) > maxBackoff:
			backoff = minBackoff
		}
		w.setStatus(err)
		w.Log.Warn("storing stream interrupted, will retry", "err", err, "backoff", backoff)
		pause(ctx, jitter(backoff))
		backoff = min(2*backoff, maxBackoff)
	}
	return nil
}

// Ready is nil while the worker stores the stream or stands by for another, else the error it waits to get over.
func (w *Worker) Ready(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

func (w *Worker) setStatus(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = err
}

// alert is for what an operator must look at: it is in the log as an error and counted.
func (w *Worker) alert(kind alertKind, msg string, args ...any) {
	w.Metrics.alerts.WithLabelValues(w.Stream, string(kind)).Inc()
	w.Log.Error(msg, args...)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }
