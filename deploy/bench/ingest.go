package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"linkfold/deploy/service"
	"linkfold/ingest"
	"linkfold/ingest/enrich"
	"linkfold/schema/clickhouse"
	"linkfold/schema/linkfoldv1"
)

// storing is the ingest benchmark under way.
type storing struct {
	*world
	raw          ch.Conn // of the database with the bare table
	sample       []*linkfoldv1.Hit
	linkfold     samples
	bare         samples
	rounds, rows int
}

// benchIngest measures ingest on a filled stream beside an insert of the same rows, made beforehand, in blocks of the same size.
func benchIngest(ctx context.Context, b *bench) (tables []*table, err error) {
	w, err := b.newWorld(ctx, "ingest", true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	s := &storing{world: w, linkfold: samples{}, bare: samples{}}
	if s.sample, err = b.sampleHits(); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	for range b.Rounds {
		if err := s.round(ctx); err != nil {
			return nil, err
		}
	}
	return []*table{s.table()}, s.check(ctx)
}

// prepare makes Linkfold's tables, and in a database of its own a table with the columns of hits and nothing else.
func (s *storing) prepare(ctx context.Context) error {
	if _, err := clickhouse.Migrate(ctx, s.ch, clickhouse.Options{}); err != nil {
		return err
	}
	if err := s.ch.Exec(ctx, "CREATE DATABASE bare"); err != nil {
		return fmt.Errorf("make bare database: %w", err)
	}
	rows, err := s.ch.Query(ctx, "SELECT name, type, compression_codec FROM system.columns WHERE database = currentDatabase() AND table = 'hits' ORDER BY position")
	if err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	defer rows.Close()
	var columns []string
	for rows.Next() {
		var name, kind, codec string
		if err := rows.Scan(&name, &kind, &codec); err != nil {
			return fmt.Errorf("read columns: %w", err)
		}
		columns = append(columns, "`"+name+"` "+kind+" "+codec)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	err = s.ch.Exec(ctx, "CREATE TABLE bare.hits ("+strings.Join(columns, ", ")+") ENGINE = MergeTree PARTITION BY toYYYYMM(stream_time) ORDER BY (domain, key, time)")
	if err != nil {
		return fmt.Errorf("make bare table: %w", err)
	}
	u, err := url.Parse(s.stack.ClickHouseDSN())
	if err != nil {
		return errors.New("read clickhouse dsn: not a URL") // that error would show the password
	}
	u.Path = "/bare"
	if s.raw, err = service.OpenClickHouse(u.String(), service.ClickHouseOptions{Name: "bench"}); err != nil {
		return err
	}
	s.onClose(s.raw.Close)
	return nil
}

// round fills the stream, stores it with ingest, and inserts the same rows bare.
func (s *storing) round(ctx context.Context) error {
	s.rounds++
	s.b.say("ingest: round %d of %d, fill the stream", s.rounds, s.b.Rounds)
	blocks := s.emptyBlocks()
	size, n := ingest.Defaults().BatchRows, 0
	var enriched clickhouse.Enrichment
	err := s.prefill(ctx, s.sample, s.b.Rows, func(h *linkfoldv1.Hit) {
		enrich.Apply(h, &enriched)
		s.rows++
		blocks[n/size].Append(uint64(s.rows), time.Now().UTC(), h, &enriched)
		n++
	})
	if err != nil {
		return err
	}
	s.b.say("ingest: round %d of %d, linkfold", s.rounds, s.b.Rounds)
	if err := s.runIngest(ctx); err != nil {
		return err
	}
	s.b.say("ingest: round %d of %d, raw insert", s.rounds, s.b.Rounds)
	return s.runRaw(ctx, blocks)
}

func (s *storing) emptyBlocks() []clickhouse.HitRows {
	size := ingest.Defaults().BatchRows
	return make([]clickhouse.HitRows, (s.b.Rows+size-1)/size)
}

// runIngest starts an ingest on the filled stream and waits until all is stored. Its start counts.
func (s *storing) runIngest(ctx context.Context) error {
	servers := map[string]int{"server": s.stack.Pid("clickhouse"), "nats": s.stack.Pid("nats")}
	before, err := readCPU(servers)
	if err != nil {
		return err
	}
	begun := time.Now()
	p, err := s.linkfoldIngest()
	if err != nil {
		return err
	}
	err = s.awaitStored(ctx)
	elapsed := time.Since(begun)
	after, err2 := readCPU(servers)
	client, err3 := cpuTime(p.pid()) // all of its life
	if err := errors.Join(err, err2, err3, p.stop()); err != nil {
		return err
	}
	used := after.since(before)
	s.linkfold.add("rate", rate(s.b.Rows, elapsed))
	s.linkfold.add("client", perUnit(client, s.b.Rows))
	s.linkfold.add("server", perUnit(used["server"], s.b.Rows))
	s.linkfold.add("nats", perUnit(used["nats"], s.b.Rows))
	return nil
}

func (s *storing) linkfoldIngest() (*process, error) {
	return s.world.linkfold(fmt.Sprintf("ingest-%d", s.rounds), "ingest")
}

// runRaw inserts the blocks one after the other from this process.
func (s *storing) runRaw(ctx context.Context, blocks []clickhouse.HitRows) error {
	pids := map[string]int{"client": os.Getpid(), "server": s.stack.Pid("clickhouse")}
	before, err := readCPU(pids)
	if err != nil {
		return err
	}
	begun := time.Now()
	for i := range blocks {
		a := clickhouse.Attempt{Range: clickhouse.Range{Stream: "bare", Gen: fmt.Sprint(s.rounds), First: uint64(i)}, Until: begun, MaxExecution: time.Minute}
		if err := clickhouse.Insert(ctx, s.raw, &blocks[i], a); err != nil {
			return fmt.Errorf("insert bare rows: %w", err)
		}
	}
	elapsed := time.Since(begun)
	after, err := readCPU(pids)
	if err != nil {
		return err
	}
	used := after.since(before)
	s.bare.add("rate", rate(s.b.Rows, elapsed))
	s.bare.add("client", perUnit(used["client"], s.b.Rows))
	s.bare.add("server", perUnit(used["server"], s.b.Rows))
	return nil
}

// check wants every row in both tables.
func (s *storing) check(ctx context.Context) error {
	for _, table := range []string{"hits", "bare.hits"} {
		n, err := s.count(ctx, "SELECT uniqExact(id) FROM "+table)
		if err != nil {
			return err
		}
		if n != s.rows {
			return fmt.Errorf("%s has %d of %d rows: %w", table, n, s.rows, errAnswer)
		}
	}
	return nil
}

func (s *storing) table() *table {
	t := &table{
		Title:   fmt.Sprintf("Ingest of %s hits, beside an insert of the same rows in the same blocks", show(s.b.Rows)),
		Columns: []string{"what", "rows/s ratio", "rows/s", "client CPU µs/row", "ClickHouse CPU µs/row", "NATS CPU µs/row"},
		Notes: []string{
			"linkfold: a process from its start to the last row, reading and decoding the stream, exactly once, table with projections and fsync",
			"raw: clickhouse-go, column by column, rows made beforehand, into a table of the same columns without projections, constraints, fsync",
		},
	}
	for _, c := range []struct {
		name string
		s    samples
	}{{"raw insert", s.bare}, {"linkfold ingest", s.linkfold}} {
		t.row(c.name, ratio(c.s["rate"], s.bare["rate"]), c.s.median("rate"), c.s.median("client"), c.s.median("server"), c.s.median("nats"))
	}
	return t
}
