// Package redirector is the service that people's browsers meet: it answers short links, records every request as a hit, and serves the
// authors' API on a second listener (DESIGN.md §4).
//
// It is stateless: link state comes from package links, hits leave through package record. Start reading at decide in steps.go, which is the
// list of steps that settle a request. What is promised: a redirect never waits for ClickHouse, ingest or the projector; hot links are answered
// with Redis and NATS away; in mode stream a visitor who was answered is in the stream or in the spill directory.
package redirector

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"linkfold/redirector/accesslog"
	"linkfold/redirector/admin"
	"linkfold/redirector/limit"
	"linkfold/redirector/links"
	"linkfold/redirector/record"
	"linkfold/redirector/visitor"
	"linkfold/schema/link"
	"linkfold/schema/stream"
)

// Deps is what a redirector works with. The caller owns and closes all of it after Run has returned.
type Deps struct {
	NATS    *nats.Conn
	Redis   redis.UniversalClient
	Metrics prometheus.Registerer
	Log     *slog.Logger
	// Ready registers a readiness check; may be nil.
	Ready func(name string, check func(context.Context) error)
	// Listening is called with the bound addresses once both listeners are open; may be nil.
	Listening func(public, admin net.Addr)
}

// shutdownWait bounds how long requests in progress may take to finish at shutdown.
const shutdownWait = 10 * time.Second

// redirector is one instance with everything it owns.
type redirector struct {
	cfg      Config
	deps     Deps
	js       jetstream.JetStream
	store    *links.Store
	recorder *record.Recorder
	salts    *visitor.Salts
	access   *accesslog.Log
	handler  *handler
	token    string
	open     atomic.Bool // both listeners are
}

// Run serves until ctx ends, then stops taking requests, finishes those in progress, sends or spills their hits, and returns. NATS and Redis may
// be away when it starts and at any time later.
func Run(ctx context.Context, cfg Config, deps Deps) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	r, err := build(cfg, deps)
	if err != nil {
		return err
	}
	return r.run(ctx)
}

// build makes all parts. Nothing runs yet.
func build(cfg Config, deps Deps) (*redirector, error) {
	js, err := jetstream.New(deps.NATS)
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	r := &redirector{cfg: cfg, deps: deps, js: js, salts: visitor.NewSalts(js, deps.Log)}
	if r.token, err = admin.LoadToken(cfg.TokenFile); err != nil {
		return nil, err
	}
	proxies, err := visitor.ParseProxies(cfg.TrustedProxies)
	if err != nil {
		return nil, err
	}
	domain := cfg.DefaultDomain
	if domain != "" {
		if domain, err = link.NormalizeDomain(domain); err != nil {
			return nil, err
		}
	}
	r.cfg.DefaultDomain = domain
	if r.store, err = links.New(cfg.Links, js, deps.Redis, deps.Metrics, deps.Log); err != nil {
		return nil, err
	}
	limiter, err := limit.New(cfg.Limit, deps.Redis, deps.Metrics, deps.Log)
	if err != nil {
		return nil, err
	}
	if r.access, err = accesslog.Open(cfg.AccessLog); err != nil {
		return nil, err
	}
	id := "r" + strings.ToLower(rand.Text()[:16])
	if r.recorder, err = record.New(cfg.Record, id, stream.HitSubject(cfg.Partition), deps.NATS, deps.Metrics, deps.Log); err != nil {
		return nil, err
	}
	r.handler = &handler{
		links: r.store, recorder: r.recorder, limiter: limiter, salts: r.salts, proxies: proxies, access: r.access,
		metrics: newMetrics(deps.Metrics), log: deps.Log, id: id, defaultDomain: domain,
	}
	if deps.Ready != nil {
		deps.Ready("links", r.store.Ready)
		deps.Ready("listeners", r.listening)
	}
	return r, nil
}

// run starts the parts in the order of their needs and stops them in reverse: listeners first, the recorder after the last hit.
func (r *redirector) run(ctx context.Context) error {
	after, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives the listeners
	defer stop()
	r.prepare(ctx)
	var parts errgroup.Group
	parts.Go(func() error { return r.bootstrap(after) })
	parts.Go(func() error { return r.store.Run(after) })
	parts.Go(func() error { return r.salts.Run(after) })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts.Go(func() error {
		defer cancel() // Without a recorder nothing may be served.
		return r.recorder.Run(after)
	})
	parts.Go(func() error {
		return r.access.Run(after, func(err error) { r.deps.Log.Error("access log lines lost", "err", err) })
	})

	err := r.serve(ctx)
	stop()
	return errors.Join(err, parts.Wait())
}

// prepareWait is how long a start waits for NATS before it serves without.
const prepareWait = 3 * time.Second

// prepare gives a start with NATS at hand its streams and the shared visitor salt before the first request. Failing is no reason not to
// serve: bootstrap and the salts go on trying.
func (r *redirector) prepare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, prepareWait)
	defer cancel()
	if err := r.ensure(ctx); err != nil {
		r.deps.Log.Warn("starting without the event streams", "err", err)
		return
	}
	if err := r.salts.Load(ctx, time.Now()); err != nil {
		r.deps.Log.Warn("starting without the shared visitor salt", "err", err)
	}
}

// ensure creates streams, buckets and the default domain where they do not exist.
func (r *redirector) ensure(ctx context.Context) error {
	if err := stream.Ensure(ctx, r.js, r.cfg.Streams); err != nil {
		return err
	}
	if r.cfg.DefaultDomain == "" {
		return nil
	}
	return admin.EnsureDomain(ctx, admin.NewWriter(r.js), r.cfg.DefaultDomain)
}

// bootstrap creates streams and the default domain, as soon as NATS is there.
func (r *redirector) bootstrap(ctx context.Context) error {
	for {
		err := r.ensure(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		r.deps.Log.Warn("streams not ready, will try again", "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// listening is a readiness check.
func (r *redirector) listening(context.Context) error {
	if !r.open.Load() {
		return errors.New("waiting for the listeners to open")
	}
	return nil
}

// serve runs both listeners until ctx ends and the requests in progress are answered.
func (r *redirector) serve(ctx context.Context) error {
	public, err := net.Listen("tcp", r.cfg.Listen)
	if err != nil {
		return fmt.Errorf("open public listener: %w", err)
	}
	adminListener, err := net.Listen("tcp", r.cfg.Admin)
	if err != nil {
		return errors.Join(fmt.Errorf("open admin listener: %w", err), public.Close())
	}
	r.open.Store(true)
	if r.deps.Listening != nil {
		r.deps.Listening(public.Addr(), adminListener.Addr())
	}
	// Requests in progress may finish after ctx has ended.
	requests := context.WithoutCancel(ctx)
	pub := publicServer(requests, r.handler, r.deps.Log)
	adm := r.adminServer()
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveUntil(gctx, public, pub.Serve, pub.ShutdownWithContext) })
	g.Go(func() error { return serveUntil(gctx, adminListener, adm.Serve, adm.Shutdown) })
	return g.Wait()
}

func (r *redirector) adminServer() *http.Server {
	return &http.Server{
		Handler: admin.New(admin.Config{
			Token: r.token, DefaultDomain: r.cfg.DefaultDomain, Partitions: r.cfg.Streams.Partitions, Preview: r.handler.preview,
			Written: r.store.Learn,
		}, r.js, r.deps.Log), ReadTimeout: readTimeout,
		WriteTimeout: 30 * time.Second, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(r.deps.Log.Handler(), slog.LevelDebug),
	}
}

// serveUntil runs serve, and when ctx ends shuts the server down with time of its own.
func serveUntil(ctx context.Context, l net.Listener, serve func(net.Listener) error, shutdown func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
	defer cancel()
	if err := shutdown(wait); err != nil {
		return fmt.Errorf("shut down %s: %w", l.Addr(), err)
	}
	// When ctx ended before serve had begun, fasthttp's shutdown knew of no listener and left it open. The error is that it is closed.
	_ = l.Close()
	if err := <-done; err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}
