package main

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"linkfold/deploy/devstack"
	"linkfold/deploy/service"
	schema "linkfold/schema/clickhouse"
)

// setupCmd installs servers.
type setupCmd struct {
	Tests bool `help:"Also what only tests need: zbarimg, which reads QR symbols."`
}

// Run implements the command.
func (c *setupCmd) Run(e *env) error {
	return devstack.Setup(e.ctx, devstack.Options{Out: e.out, Tests: c.Tests})
}

// devstackCmd runs one server.
type devstackCmd struct {
	Server string `arg:"" enum:"nats,redis,clickhouse" help:"nats, redis or clickhouse."`
	Data   string `help:"Directory for its state; several servers may share it." default:"linkfold-data" type:"path"`
	Port   int    `help:"Port on loopback; 0: that of the last start, else a free one." default:"0"`
}

// Run implements the command. The server's URL is the one line on standard output.
func (c *devstackCmd) Run(e *env) error {
	cfg := devstack.Config{Dir: c.Data, Log: e.log}
	switch devstack.Server(c.Server) {
	case devstack.NATS:
		cfg.NATSPort = c.Port
	case devstack.Redis:
		cfg.RedisPort = c.Port
	case devstack.ClickHouse:
		cfg.ClickHousePort = c.Port
	}
	return devstack.RunServer(e.ctx, devstack.Server(c.Server), cfg, func(url string) { fmt.Fprintln(e.out, url) })
}

// migrateCmd applies schema migrations.
type migrateCmd struct {
	ClickHouseDSN string `name:"clickhouse-dsn" help:"ClickHouse: clickhouse://user:password@host:port/database." default:"clickhouse://127.0.0.1:9000/linkfold"`
	Cluster       string `help:"Name of a ClickHouse cluster to create replicated tables on; empty: one server."`
}

// Run implements the command.
func (c *migrateCmd) Run(e *env) error {
	conn, err := service.OpenClickHouse(c.ClickHouseDSN, service.ClickHouseOptions{})
	if err != nil {
		return err
	}
	defer conn.Close()
	applied, err := schema.Migrate(e.ctx, conn, schema.Options{Cluster: c.Cluster})
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "applied %d steps; the schema is up to date\n", applied)
	return nil
}

// openClickHouse connects to the ClickHouse of a data directory, or to the one given.
func openClickHouse(ctx context.Context, dsn string) (clickhouse.Conn, error) {
	conn, err := service.OpenClickHouse(dsn, service.ClickHouseOptions{})
	if err != nil {
		return nil, err
	}
	if err := conn.Ping(ctx); err != nil {
		return nil, fmt.Errorf("clickhouse does not answer at %s (is linkfold up running?): %w", hostOf(dsn), err)
	}
	return conn, nil
}
