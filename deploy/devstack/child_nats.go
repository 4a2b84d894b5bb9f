package devstack

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"linkfold/deploy/devstack/internal/natsd"
	"linkfold/deploy/devstack/internal/state"
)

// serveNATS runs NATS in a child until SIGTERM or SIGINT, or until its parent is gone.
func serveNATS(spec childSpec) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	password, err := state.Secret(ctx, spec.Dir, string(NATS))
	if err != nil {
		return err
	}
	n := natsKind{dir: spec.Dir, port: spec.Port, password: password}
	s, err := natsd.Start(n.options())
	if err != nil {
		return err
	}
	go func() { // ends with the process
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	select {
	case <-s.Done():
		return s.Err()
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return s.Stop(stop)
}
