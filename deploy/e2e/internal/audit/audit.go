// Package audit asks the servers of an installation whether their stories agree: streams, ClickHouse, Redis, and what visitors and
// authors have seen.
package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"linkfold/deploy/service"
	"linkfold/ingest"
	"linkfold/projector"
	schema "linkfold/schema/clickhouse"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// streams is the configuration of the installations that are audited.
var streams = stream.Config{Partitions: 1, HitsMaxAge: 720 * time.Hour, Replicas: 1}

// Audit has connections to the three servers.
type Audit struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	redis redis.UniversalClient
	db    clickhouse.Conn
}

// Open connects; the servers must be there.
func Open(ctx context.Context, natsURL, redisURL, dsn string) (*Audit, error) {
	nc, err := service.ConnectNATS(ctx, service.NATSOptions{URL: natsURL, Name: "audit"})
	if err != nil {
		return nil, err
	}
	a := &Audit{nc: nc}
	if a.js, err = jetstream.New(nc); err != nil {
		return nil, errors.Join(fmt.Errorf("use jetstream: %w", err), a.Close())
	}
	if a.redis, err = service.OpenRedis(redisURL, service.RedisOptions{Name: "audit", Timeout: 5 * time.Second}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if a.db, err = service.OpenClickHouse(dsn, service.ClickHouseOptions{Name: "audit"}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close closes the connections.
func (a *Audit) Close() error {
	var errs []error
	a.nc.Close()
	if a.redis != nil {
		errs = append(errs, a.redis.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	return errors.Join(errs...)
}

// Pending is how many messages of all streams are not known to be in ClickHouse.
func (a *Audit) Pending(ctx context.Context) (uint64, error) {
	all, err := ingest.Pending(ctx, a.js, streams)
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, p := range all {
		n += p.Pending
	}
	return n, nil
}

// tables are where the messages of each stream may be.
var tables = map[string][]string{
	stream.HitsName(0): {schema.Hits, schema.Quarantine},
	stream.Links:       {schema.LinkEvents, schema.DomainEvents, schema.Quarantine},
	stream.Ledger:      {schema.Totals, schema.Quarantine},
}

// Sequences checks that every sequence of every stream, from 1 to the last, is in exactly one row, and that none is a known gap.
func (a *Audit) Sequences(ctx context.Context) error {
	var errs []error
	for name, in := range tables {
		if err := a.sequences(ctx, name, in); err != nil {
			errs = append(errs, fmt.Errorf("stream %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (a *Audit) sequences(ctx context.Context, name string, in []string) error {
	s, err := a.js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	info := s.CachedInfo()
	r := schema.Range{Stream: name, Gen: stream.Generation(info), First: 1, Last: info.State.LastSeq}
	rows, distinct, err := schema.Count(ctx, a.db, in, r)
	if err != nil {
		return err
	}
	if info.State.Msgs != r.Len() || rows != r.Len() || distinct != r.Len() {
		return fmt.Errorf("%d messages up to sequence %d are %d rows of %d sequences", info.State.Msgs, r.Last, rows, distinct)
	}
	gaps, err := schema.KnownGaps(ctx, a.db, r)
	if err != nil {
		return err
	}
	if len(gaps) > 0 {
		return fmt.Errorf("%d gaps, the first one %v", len(gaps), gaps[0])
	}
	return nil
}

// Fold checks that Redis equals the fold of LINKS.
func (a *Audit) Fold(ctx context.Context) error {
	_, err := a.verify(ctx)
	return err
}

// Ruleset is the number of a domain's links in Redis, deleted ones included, and their checksum.
func (a *Audit) Ruleset(ctx context.Context, domain string) (links int, checksum string, err error) {
	report, err := a.verify(ctx)
	sum := report.Rulesets[domain]
	return int(sum.Count), projection.FormatChecksum(sum.Checksum), err
}

func (a *Audit) verify(ctx context.Context) (projector.Report, error) {
	report, err := projector.Verify(ctx, projector.Deps{NATS: a.js, Redis: a.redis, Log: slog.New(slog.DiscardHandler)})
	if err == nil && !report.Clean() {
		err = fmt.Errorf("redis differs from the log: %v, %+v", report.Counts, report.Differences)
	}
	return report, err
}
