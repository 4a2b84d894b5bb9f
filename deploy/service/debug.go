package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// checkTimeout is for all checks of one request to /readyz, which run at the same time.
const checkTimeout = 2 * time.Second

// Check returns nil when a part of the process is ready, and otherwise what it waits for. It is called often and by
// several goroutines, and must end with its context.
type Check func(ctx context.Context) error

// Debug is the listener for operators: /healthz (the process is alive), /readyz (200, or 503 and a JSON list of what
// the process waits for), /metrics (Prometheus) and /debug/pprof/. It has no access control: keep it on loopback or on
// a network of your own.
type Debug struct {
	listener net.Listener
	metrics  prometheus.Gatherer
	log      *slog.Logger

	mu     sync.Mutex
	checks map[string]Check
}

// NewDebug opens the listener on address (host:port; port 0 is a free one) without serving it yet.
func NewDebug(address string, metrics prometheus.Gatherer, log *slog.Logger) (*Debug, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("open debug listener: %w", err)
	}
	return &Debug{listener: l, metrics: metrics, log: log, checks: map[string]Check{}}, nil
}

// Addr is the address that the listener is bound to, host:port.
func (d *Debug) Addr() string { return d.listener.Addr().String() }

// Ready adds a check to /readyz; one of the same name is replaced. Before the first one nothing is ready.
func (d *Debug) Ready(name string, c Check) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.checks[name] = c
}

// Run serves until ctx ends.
func (d *Debug) Run(ctx context.Context) error {
	return HTTP{Handler: d.Handler(), Log: d.log, DrainTimeout: 2 * time.Second}.Run(ctx, d.listener)
}

// Handler answers the listener's requests.
func (d *Debug) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	return mux
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready   bool              `json:"ready"`
	Waiting map[string]string `json:"waiting,omitempty"` // the names of failing checks and what they wait for
}

func (d *Debug) readyz(w http.ResponseWriter, r *http.Request) {
	waiting := d.waiting(r.Context())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if len(waiting) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(readiness{Ready: len(waiting) == 0, Waiting: waiting}) // an error is the client's going away
}

// waiting runs all checks and returns those that fail. A check that does not end in time has failed; its goroutine
// ends when the check does.
func (d *Debug) waiting(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	d.mu.Lock()
	checks := maps.Clone(d.checks)
	d.mu.Unlock()
	if len(checks) == 0 {
		return map[string]string{"service": "it has not started yet"}
	}
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(checks))
	for name, check := range checks {
		go func() { results <- result{name, check(ctx)} }()
	}
	failed := map[string]string{}
	for name := range checks {
		failed[name] = "no answer in " + checkTimeout.String()
	}
	for range checks {
		select {
		case r := <-results:
			delete(failed, r.name)
			if r.err != nil && !errors.Is(r.err, context.DeadlineExceeded) {
				failed[r.name] = r.err.Error()
			} else if r.err != nil {
				failed[r.name] = "no answer in " + checkTimeout.String()
			}
		case <-ctx.Done():
			return failed
		}
	}
	return failed
}
