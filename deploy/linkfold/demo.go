package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/dashboards/queries"
	"linkfold/deploy/linkfold/internal/allinone"
	"linkfold/deploy/linkfold/internal/sample"
	"linkfold/deploy/linkfold/internal/table"
	"linkfold/deploy/service"
	"linkfold/ingest"
	"linkfold/schema/stream"
)

// demoCmd shows the whole pipeline on real clicks.
type demoCmd struct {
	Once   bool   `help:"End after the report instead of staying up."`
	JSON   bool   `name:"json" help:"Print the report as JSON."`
	Data   string `help:"Directory for its state; it must not exist. Default: a temporary one that is removed at the end." type:"path"`
	Listen string `help:"Public redirect listener." default:"127.0.0.1:8080"`
	Admin  string `help:"Admin listener." default:"127.0.0.1:8081"`
	Agents int    `help:"Requests at the same time." default:"32"`
}

// reportQueries are asked for the report, in this order, with the column to draw as a bar.
var reportQueries = []struct{ name, bar string }{
	{"ledger", ""}, {"top_links", "clicks"}, {"referrer_hosts", "clicks"}, {"agents", "clicks"}, {"replayed_per_minute", "clicks"},
}

// Run implements the command.
func (c *demoCmd) Run(e *env) error {
	dir, remove, err := c.directory()
	if err != nil {
		return err
	}
	defer remove()
	if c.Agents < 1 || c.Agents > 1000 {
		return fmt.Errorf("agents %d: give 1 to 1000", c.Agents)
	}
	ctx, done := context.WithCancel(e.ctx)
	defer done()
	cfg := allinone.Config{
		Dir: dir, Listen: c.Listen, Admin: c.Admin, Debug: "127.0.0.1:0", DefaultDomain: sample.Domain, Durability: "stream", MissesPerMin: 120,
	}
	fmt.Fprintln(e.screen, "Starting NATS, Redis, ClickHouse and Linkfold …")
	return allinone.Run(ctx, cfg, e.log, func(ctx context.Context, r allinone.Running) error {
		if err := c.show(ctx, e, r); err != nil {
			return err
		}
		if c.Once {
			done()
			return nil
		}
		fmt.Fprintf(e.screen, "\nStays up for exploring; Ctrl-C ends it.\n\n  curl -i http://%s/vNJS4H\n  linkfold sql --data %s top_links\n", reachable(r.Public), dir)
		return nil
	})
}

func (c *demoCmd) directory() (dir string, remove func(), err error) {
	if c.Data == "" {
		dir, err = os.MkdirTemp("", "linkfold-demo-")
		if err != nil {
			return "", nil, fmt.Errorf("make demo directory: %w", err)
		}
		return dir, func() { _ = os.RemoveAll(dir) }, nil
	}
	if _, err := os.Stat(c.Data); !errors.Is(err, os.ErrNotExist) {
		return "", nil, fmt.Errorf("%s exists: give --data a directory that does not, so that the numbers are the demo's alone", c.Data)
	}
	return c.Data, func() {}, nil
}

// show replays the clicks, waits for the last of them to be in ClickHouse, and prints the report.
func (c *demoCmd) show(ctx context.Context, e *env, r allinone.Running) error {
	clicks, err := sample.Clicks()
	if err != nil {
		return err
	}
	rp, err := newReplay(r, c.Agents, e.screen)
	if err != nil {
		return err
	}
	if err := rp.createLinks(ctx, clicks); err != nil {
		return err
	}
	if err := rp.sendClicks(ctx, clicks); err != nil {
		return err
	}
	conn, err := openClickHouse(ctx, r.Endpoints.ClickHouse)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := awaitStored(ctx, r, conn, len(clicks)); err != nil {
		return err
	}
	return c.report(ctx, e, conn, len(clicks))
}

// storedWait bounds the wait for ClickHouse.
const storedWait = time.Minute

// awaitStored waits until nothing of any stream is pending and the redirector has reported all clicks to the ledger.
func awaitStored(ctx context.Context, r allinone.Running, conn clickhouse.Conn, clicks int) error {
	ctx, cancel := context.WithTimeout(ctx, storedWait)
	defer cancel()
	nc, err := service.ConnectNATS(ctx, service.NATSOptions{URL: r.Endpoints.NATS, Name: "demo"})
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("use jetstream: %w", err)
	}
	for {
		done, err := stored(ctx, js, conn, clicks)
		if err != nil {
			return err
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("clicks are not in ClickHouse after %v: see linkfold's log", storedWait)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func stored(ctx context.Context, js jetstream.JetStream, conn clickhouse.Conn, clicks int) (bool, error) {
	pending, err := ingest.Pending(ctx, js, stream.Config{Partitions: 1})
	if err != nil {
		return false, err
	}
	for _, p := range pending {
		if p.Pending > 0 {
			return false, nil
		}
	}
	var accepted uint64
	if err := conn.QueryRow(ctx, "SELECT sum(accepted_reported) FROM ledger").Scan(&accepted); err != nil {
		return false, fmt.Errorf("read ledger: %w", err)
	}
	return accepted >= uint64(clicks), nil
}

// report prints every query of the report, and fails when the ledger does not hold.
func (c *demoCmd) report(ctx context.Context, e *env, conn clickhouse.Conn, clicks int) error {
	all := map[string][]map[string]any{}
	for _, rq := range reportQueries {
		q, err := queries.Get(rq.name)
		if err != nil {
			return err
		}
		t, err := q.Run(ctx, conn, nil)
		if err != nil {
			return err
		}
		all[rq.name] = objects(t)
		if c.JSON {
			continue
		}
		fmt.Fprintf(e.out, "\n%s\n%s\n\n", q.Title, q.Reads)
		if err := table.Print(e.out, t, rq.bar); err != nil {
			return fmt.Errorf("print report: %w", err)
		}
	}
	if c.JSON {
		if err := json.NewEncoder(e.out).Encode(all); err != nil {
			return fmt.Errorf("print report: %w", err)
		}
	}
	return checkLedger(all["ledger"][0], clicks)
}

// checkLedger wants every click stored, and nothing else to explain.
func checkLedger(ledger map[string]any, clicks int) error {
	want := map[string]int{"accepted": clicks, "stored": clicks}
	for column, got := range ledger {
		// Copies are set aside by design: a slow disk makes some.
		if column != "copies" && fmt.Sprint(got) != fmt.Sprint(want[column]) {
			return fmt.Errorf("the ledger does not hold: %s is %v, want %d", column, got, want[column])
		}
	}
	return nil
}

func objects(t queries.Table) []map[string]any {
	out := make([]map[string]any, len(t.Rows))
	for i, row := range t.Rows {
		out[i] = make(map[string]any, len(row))
		for j, v := range row {
			out[i][t.Columns[j]] = v
		}
	}
	return out
}
