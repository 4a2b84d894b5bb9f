package devstack

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"linkfold/deploy/devstack/internal/state"
)

const (
	lockTimeout  = 15 * time.Second // a killed owner's children need a moment to be gone
	readyTimeout = 60 * time.Second // a second is usual; a large log to recover takes longer
	probeTimeout = 2 * time.Second
)

// kind is how one sort of server is run.
type kind interface {
	// configure picks port and password, writes the configuration, and returns the URL that clients use. Called before
	// every launch; the result is the same each time unless the port was lost to somebody else.
	configure(ctx context.Context) (url string, err error)
	// launch starts the server and returns without waiting until it answers. A child keeps the file open while it lives.
	launch(ctx context.Context, inherit *os.File) (run, error)
	// probe returns nil when the server at url answers as it should.
	probe(ctx context.Context, url string) error
}

// run is one run of a server, from its launch to its end.
type run interface {
	Done() <-chan struct{}          // closed when it has ended
	Err() error                     // how it ended; waits for that
	Pid() int                       // of its process
	Stop(ctx context.Context) error // ends it cleanly, within the time that ctx gives
	Kill()                          // ends it as hard as possible and waits until it is gone
}

// unit is one server of a stack over all its runs.
type unit struct {
	name Server
	dir  string
	kind kind
	log  *slog.Logger
	died chan<- *DiedError

	mu       sync.Mutex // serializes start, stop and kill
	lock     *os.File   // held from the first start to close
	url      string
	run      run
	stopping chan struct{}  // closed when the end of run is wanted
	watchers sync.WaitGroup // one per run
}

func newUnit(name Server, dir string, k kind, log *slog.Logger, died chan<- *DiedError) *unit {
	return &unit{name: name, dir: dir, kind: k, log: log.With("server", string(name)), died: died}
}

// external reports whether the server was given and is not ours to start or stop.
func (u *unit) external() bool {
	_, ok := u.kind.(external)
	return ok
}

// open takes the lock of the server's directory and starts the server for the first time.
func (u *unit) open(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.external() {
		lctx, cancel := context.WithTimeout(ctx, lockTimeout)
		defer cancel()
		lock, err := state.Lock(lctx, filepath.Join(u.dir, string(u.name)+".lock"))
		if err != nil {
			return fmt.Errorf("start %s in %s: %w", u.name, u.dir, err)
		}
		u.lock = lock
	}
	return u.first(ctx)
}

// first starts the server and tries again while the reason for a failure is that somebody else took the port between
// the choice and the start.
func (u *unit) first(ctx context.Context) error {
	var failure error
	for range 3 {
		url, err := u.kind.configure(ctx)
		if err != nil {
			return fmt.Errorf("configure %s: %w", u.name, err)
		}
		if failure != nil && url == u.url {
			return failure
		}
		u.url = url
		if failure = u.begin(ctx); failure == nil || ctx.Err() != nil {
			return failure
		}
	}
	return failure
}

// restart starts a server that has ended, where it was.
func (u *unit) restart(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running() {
		return fmt.Errorf("start %s: it is running", u.name)
	}
	url, err := u.kind.configure(ctx)
	if err != nil {
		return fmt.Errorf("configure %s: %w", u.name, err)
	}
	if url != u.url {
		return fmt.Errorf("start %s: its port was taken by another process meanwhile", u.name)
	}
	return u.begin(ctx)
}

// begin launches the server, waits until it answers, and from then on watches for its end.
func (u *unit) begin(ctx context.Context) error {
	r, err := u.kind.launch(ctx, u.lock)
	if err != nil {
		return fmt.Errorf("start %s: %w", u.name, err)
	}
	if err := u.ready(ctx, r); err != nil {
		r.Kill()
		return fmt.Errorf("start %s: %w", u.name, err)
	}
	stopping := make(chan struct{})
	u.run, u.stopping = r, stopping
	u.watchers.Go(func() { u.watch(r, stopping) })
	u.log.Debug("server started", "pid", r.Pid())
	return nil
}

// ready probes until the server answers, ends, or takes too long.
func (u *unit) ready(ctx context.Context, r run) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	for {
		pctx, cancel := context.WithTimeout(ctx, probeTimeout)
		err := u.kind.probe(pctx, u.url)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-r.Done():
			return fmt.Errorf("it ended: %w", r.Err())
		case <-ctx.Done():
			return fmt.Errorf("no answer: %v (%w)", err, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// watch reports the end of a run that nobody asked for.
func (u *unit) watch(r run, stopping <-chan struct{}) {
	select {
	case <-stopping:
		return
	case <-r.Done():
	}
	select {
	case <-stopping: // both: it was asked for
		return
	default:
	}
	select {
	case u.died <- &DiedError{Server: u.name, Err: r.Err()}:
	default: // nobody listens, and the first reports are there
	}
}

// running reports whether a run is going on. The caller holds mu.
func (u *unit) running() bool {
	if u.run == nil {
		return false
	}
	select {
	case <-u.run.Done():
		return false
	default:
		return true
	}
}

// end stops or kills the current run, if there is one, and waits for its watcher. The caller holds mu.
func (u *unit) end(how func(run) error) error {
	if u.run == nil {
		return nil
	}
	close(u.stopping)
	err := how(u.run)
	u.watchers.Wait()
	u.run = nil
	return err
}

func (u *unit) stop(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.end(func(r run) error { return r.Stop(ctx) })
}

func (u *unit) kill() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.end(func(r run) error { r.Kill(); return nil })
}

// close stops the server and gives its directory back.
func (u *unit) close(ctx context.Context) error {
	err := u.stop(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lock != nil {
		u.lock.Close()
		u.lock = nil
	}
	return err
}
