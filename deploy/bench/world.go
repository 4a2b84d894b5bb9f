package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"linkfold/deploy/devstack"
	"linkfold/deploy/service"
	"linkfold/ingest"
	"linkfold/projector"
	"linkfold/schema/stream"
)

// redisWait is for pipelines of thousands of commands.
const redisWait = 10 * time.Second

// streams is the configuration that all benchmarks use.
func streams() stream.Config {
	return stream.Config{Partitions: 1, HitsMaxAge: 720 * time.Hour, Replicas: 1}
}

// world is the servers of one benchmark, each in a process of its own, and connections to them. Every benchmark has a new one, so
// that none works on what another left behind.
type world struct {
	b      *bench
	dir    string
	stack  *devstack.Stack
	js     jetstream.JetStream
	rdb    redis.UniversalClient
	ch     clickhouse.Conn // nil without ClickHouse
	closer []func() error  // in order of starting
}

// newWorld starts NATS, Redis and, if wanted, ClickHouse, with empty data and all streams.
func (b *bench) newWorld(ctx context.Context, name string, withClickHouse bool) (*world, error) {
	w := &world{b: b, dir: filepath.Join(b.dir, name)}
	var err error
	w.stack, err = devstack.Start(ctx, devstack.Config{Dir: w.dir, NATS: true, Redis: true, ClickHouse: withClickHouse, NATSChild: true})
	if err != nil {
		return nil, err
	}
	w.onClose(func() error {
		return errors.Join(w.stack.Close(context.WithoutCancel(ctx)), os.RemoveAll(w.dir))
	})
	if err := w.connect(ctx, withClickHouse); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) connect(ctx context.Context, withClickHouse bool) error {
	nc, err := service.ConnectNATS(ctx, service.NATSOptions{URL: w.stack.NATSURL(), Name: "bench"})
	if err != nil {
		return err
	}
	w.onClose(func() error { nc.Close(); return nil })
	if w.js, err = jetstream.New(nc); err != nil {
		return fmt.Errorf("use jetstream: %w", err)
	}
	if w.rdb, err = service.OpenRedis(w.stack.RedisURL(), service.RedisOptions{Name: "bench", Timeout: redisWait}); err != nil {
		return err
	}
	w.onClose(w.rdb.Close)
	if withClickHouse {
		if w.ch, err = service.OpenClickHouse(w.stack.ClickHouseDSN(), service.ClickHouseOptions{Name: "bench"}); err != nil {
			return err
		}
		w.onClose(w.ch.Close)
	}
	return stream.Ensure(ctx, w.js, streams())
}

func (w *world) onClose(f func() error) { w.closer = append(w.closer, f) }

// close ends everything, last started first.
func (w *world) close() error {
	var errs []error
	for i := len(w.closer) - 1; i >= 0; i-- {
		errs = append(errs, w.closer[i]())
	}
	w.closer = nil
	return errors.Join(errs...)
}

// linkfold starts a service of the linkfold binary with settings as variables, so that no password is on a command line.
func (w *world) linkfold(name string, service string, env ...string) (*process, error) {
	p, err := start(command{
		name: name, path: w.b.binary, args: []string{service}, log: filepath.Join(w.dir, "logs", name+".log"),
		env: append([]string{
			"LINKFOLD_NATS_URL=" + w.stack.NATSURL(), "LINKFOLD_REDIS_URL=" + w.stack.RedisURL(), "LINKFOLD_CLICKHOUSE_DSN=" + w.stack.ClickHouseDSN(),
			"LINKFOLD_LOG_LEVEL=warn",
		}, env...),
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ingest starts ingest; the world's end stops it.
func (w *world) ingest() (*process, error) {
	p, err := w.linkfold("ingest", "ingest")
	if err == nil {
		w.onClose(p.stop)
	}
	return p, err
}

// projector runs a projector in this process, whose CPU time nobody counts, until the returned function is called.
func (w *world) projector(ctx context.Context) (stop func() error, err error) {
	var cfg projector.Config
	if err := service.Defaults(&cfg); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- projector.Run(ctx, cfg, w.projectorDeps()) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

func (w *world) projectorDeps() projector.Deps {
	return projector.Deps{NATS: w.js, Redis: w.rdb, Log: slog.New(slog.DiscardHandler)}
}

// pending is how many messages of HITS are not stored yet.
func (w *world) pending(ctx context.Context) (uint64, error) {
	all, err := ingest.Pending(ctx, w.js, streams())
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if p.Stream == stream.HitsName(0) {
			return p.Pending, nil
		}
	}
	return 0, fmt.Errorf("stream %s is not stored by ingest", stream.HitsName(0))
}

// awaitStored waits until every hit in the stream is in ClickHouse.
func (w *world) awaitStored(ctx context.Context) error {
	err := poll(ctx, 2*time.Minute, 5*time.Millisecond, func(ctx context.Context) (bool, error) {
		n, err := w.pending(ctx)
		return n == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for ingest: %w", err)
	}
	return nil
}

// count is the one number that a query gives.
func (w *world) count(ctx context.Context, query string, args ...any) (int, error) {
	var n uint64
	if err := w.ch.QueryRow(ctx, query, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("ask clickhouse: %w", err)
	}
	return int(n), nil
}
