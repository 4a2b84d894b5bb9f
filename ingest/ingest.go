// Package ingest stores every message of Linkfold's streams in ClickHouse, exactly once, whatever is killed and whenever
// (DESIGN.md §6): hits, changes of links and domains, and the redirectors' totals.
//
// Run is the service. Several may run at once: for each stream one is active, the others stand by and take over.
// Pending tells how far each stream is stored.
package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"linkfold/ingest/internal/failpoint"
	"linkfold/ingest/internal/worker"
	"linkfold/schema/clickhouse"
	"linkfold/schema/stream"
)

// Deps are what the process gives to Run.
type Deps struct {
	Log *slog.Logger
	// Metrics is where Run registers its metrics, linkfold_ingest_*; nil drops them. A registry serves one Run.
	Metrics prometheus.Registerer
	// Ready, if not nil, is called with each condition of readiness: a name, and a check that returns what is waited for.
	Ready func(name string, check func(context.Context) error)
}

// Run works until ctx ends and returns nil then. It makes what is missing: streams, buckets, tables. It waits for NATS
// and ClickHouse, at the start and later, without end; an error is a setting that makes no sense, a stream that exists
// with another configuration, or a database that is not for this program.
func Run(ctx context.Context, c Config, d Deps) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	fail, err := failpoint.Parse(c.Failpoint)
	if err != nil {
		return err
	}
	p, err := connect(c, d.Log)
	if err != nil {
		return err
	}
	defer p.close()
	if d.Metrics == nil {
		d.Metrics = prometheus.NewRegistry()
	}
	if d.Ready == nil {
		d.Ready = func(string, func(context.Context) error) {}
	}
	cursors, err := prepare(ctx, c, p, d)
	if err != nil || ctx.Err() != nil {
		return err
	}
	deps := worker.Deps{
		JS: p.js, Cursors: cursors, ClickHouse: p.conn, Log: d.Log, Metrics: worker.NewMetrics(d.Metrics), Failpoints: fail,
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return watchLag(gctx, p.js, c.Streams, newLag(d.Metrics)) })
	owner := processName()
	for _, name := range Streams(c.Streams) {
		w := worker.New(workerConfig(c, name, owner), deps)
		d.Ready("ingest "+name, w.Ready)
		g.Go(func() error { return w.Run(gctx) })
	}
	return g.Wait()
}

// Streams are the names of all streams that are stored.
func Streams(c stream.Config) []string {
	names := []string{stream.Links, stream.Ledger}
	for p := range c.Partitions {
		names = append(names, stream.HitsName(p))
	}
	return names
}

func workerConfig(c Config, name, owner string) worker.Config {
	return worker.Config{
		Stream: name, Owner: owner,
		MaxRows: c.BatchRows, MaxBytes: c.BatchBytes, MaxDelay: c.MaxDelay,
		Until: c.Until, MaxExecution: c.MaxExecution, Grace: c.Grace, Takeover: c.Takeover,
	}
}

// processName is unique for a process start.
func processName() string {
	host, _ := os.Hostname() // only for people who read the cursor
	return strings.TrimPrefix(host+"/"+uuid.NewString(), "/")
}

// prepare makes streams, buckets and tables. It retries while a server is away; ctx ending gives nil, nil.
func prepare(ctx context.Context, c Config, p *peers, d Deps) (kv jetstream.KeyValue, err error) {
	waits := newWaits(d.Ready)
	err = retry(ctx, d.Log, waits.nats, "waiting for nats", func(ctx context.Context) error {
		if err := stream.Ensure(ctx, p.js, c.Streams); err != nil {
			return err
		}
		kv, err = p.js.KeyValue(ctx, stream.Cursors)
		return err
	})
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	err = retry(ctx, d.Log, waits.clickhouse, "waiting for clickhouse", func(ctx context.Context) error {
		return migrate(ctx, p.conn, c, d.Log)
	})
	return kv, err
}

func migrate(ctx context.Context, conn driver.Conn, c Config, log *slog.Logger) error {
	n, err := clickhouse.Migrate(ctx, conn, clickhouse.Options{Cluster: c.Cluster})
	if n > 0 {
		log.Info("migrated clickhouse", "steps", n)
	}
	return err
}

// watchLag measures how far each stream is behind, until ctx ends.
func watchLag(ctx context.Context, js jetstream.JetStream, c stream.Config, lag *prometheus.GaugeVec) error {
	t := time.NewTicker(5 * time.Second)
	defer t.Stop()
	for {
		if all, err := Pending(ctx, js, c); err == nil { // an error shows in readiness already
			for _, p := range all {
				lag.WithLabelValues(p.Stream).Set(float64(p.Pending))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

func newLag(r prometheus.Registerer) *prometheus.GaugeVec {
	lag := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "linkfold", Subsystem: "ingest", Name: "lag_messages", Help: "Messages in the stream that are not known to be stored.",
	}, []string{"stream"})
	r.MustRegister(lag)
	return lag
}
