package redirector

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"
)

// A redirector that is told to stop while it still waits for NATS opens its listeners with a context that has ended: the public server, of which
// fasthttp's shutdown knows nothing before it serves, has to end all the same.
func TestStopBeforeServing(t *testing.T) {
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	for range 20 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := publicServer(stopped, nil, slog.New(slog.DiscardHandler))
		done := make(chan error, 1)
		go func() { done <- serveUntil(stopped, l, s.Serve, s.ShutdownWithContext) }()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("still serving")
		}
	}
}
