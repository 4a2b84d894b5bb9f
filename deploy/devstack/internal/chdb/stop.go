package chdb

import (
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// stopOnRequest waits for a signal or for the end of the original standard input (the parent has died), then closes
// the terminal: the prompt sees the end of its input, the listeners stop, connections drain (5 s at most), tables are
// flushed, the engine returns. A second signal does not wait for that.
//
// Nobody waits for this goroutine: it ends with the process, which has no other purpose than the engine.
func stopOnRequest(t *terminal, stopping *atomic.Bool) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	orphaned := make(chan struct{})
	go func() {
		io.Copy(io.Discard, t.stdin) // any error means the same as the end
		close(orphaned)
	}()
	select {
	case <-signals:
	case <-orphaned:
	}
	stopping.Store(true)
	t.master.Close()
	<-signals
	os.Exit(130)
}
