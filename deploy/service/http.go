package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// HTTP is a server with timeouts and limits that a stranger's client cannot exhaust. The zero value of each field but
// Handler is a sensible one.
type HTTP struct {
	Handler http.Handler
	Log     *slog.Logger // gets net/http's own complaints, as warnings; nil drops them

	ReadHeaderTimeout time.Duration // 5 s
	ReadTimeout       time.Duration // none: a handler that reads a body sets its own limits
	IdleTimeout       time.Duration // 75 s
	MaxHeaderBytes    int           // 16 KiB, of request line and headers
	DrainTimeout      time.Duration // 10 s, for requests that are being answered when Run is told to stop
}

// Run serves on l until ctx ends, then takes no more connections and lets the requests at work finish. It returns nil
// after a clean end, and an error when the listener fails or requests had to be cut off. It closes l. A request's
// context is not cancelled by the end of ctx, only with its connection.
func (h HTTP) Run(ctx context.Context, l net.Listener) error {
	s := h.server(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve http on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := Drain(ctx, orElse(h.DrainTimeout, 10*time.Second))
	defer cancel()
	err := s.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("drain http on %s: %w", l.Addr(), err), s.Close())
	}
	<-served
	return err
}

func (h HTTP) server(ctx context.Context) *http.Server {
	log := h.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           h.Handler,
		ReadHeaderTimeout: orElse(h.ReadHeaderTimeout, 5*time.Second),
		ReadTimeout:       h.ReadTimeout,
		IdleTimeout:       orElse(h.IdleTimeout, 75*time.Second),
		MaxHeaderBytes:    orElse(h.MaxHeaderBytes, 16<<10),
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// orElse returns v unless it is zero.
func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
