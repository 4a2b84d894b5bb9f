package service

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// ClickHouseOptions are the optional settings of OpenClickHouse.
type ClickHouseOptions struct {
	Name     string // of the client, for the query log
	MaxConns int    // open at the same time; 0: 8
}

// OpenClickHouse returns a connection pool over the native protocol, compressed with LZ4. It does not connect yet.
// Inserts are synchronous, always: with async_insert, which recent servers have on, an acknowledged insert need not be
// stored as the one block that was sent (DESIGN.md section 6). The caller closes it.
func OpenClickHouse(dsn string, o ClickHouseOptions) (clickhouse.Conn, error) {
	c, err := clickHouseOptions(dsn, o)
	if err != nil {
		return nil, err
	}
	conn, err := clickhouse.Open(c)
	if err != nil {
		return nil, fmt.Errorf("open clickhouse: %w", err)
	}
	return conn, nil
}

func clickHouseOptions(dsn string, o ClickHouseOptions) (*clickhouse.Options, error) {
	c, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("read clickhouse dsn: %w", err)
	}
	if c.Settings == nil {
		c.Settings = clickhouse.Settings{}
	}
	c.Settings["async_insert"] = 0
	if c.Compression == nil {
		c.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	c.DialTimeout = orElse(c.DialTimeout, 3*time.Second)
	c.MaxOpenConns = orElse(o.MaxConns, orElse(c.MaxOpenConns, 8))
	c.MaxIdleConns = orElse(c.MaxIdleConns, min(4, c.MaxOpenConns))
	if o.Name != "" {
		c.ClientInfo.Products = append(c.ClientInfo.Products, struct{ Name, Version string }{o.Name, "dev"})
	}
	return c, nil
}

// ClickHouseReady is a readiness check that fails while ClickHouse does not answer.
func ClickHouseReady(c clickhouse.Conn) Check {
	return func(ctx context.Context) error { return c.Ping(ctx) }
}
