package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

// probeNATS returns nil when the server accepts the credentials and has JetStream.
func probeNATS(ctx context.Context, url string) error {
	conn, err := nats.Connect(url, nats.NoReconnect(), nats.Timeout(time.Second))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	_, err = js.AccountInfo(ctx)
	return err
}

// probeRedis returns nil when the server accepts the password and has loaded its data.
func probeRedis(ctx context.Context, url string) error {
	o, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("parse redis url: %w", err)
	}
	// The client would print each refused dial to standard error.
	conn, err := new(net.Dialer).DialContext(ctx, o.Network, o.Addr)
	if err != nil {
		return err
	}
	conn.Close()
	o.MaxRetries, o.DialerRetries, o.PoolSize = -1, 1, 1
	c := redis.NewClient(o)
	return errors.Join(c.Ping(ctx).Err(), c.Close())
}

// probeClickHouse returns nil when the server accepts the user and the database exists.
func probeClickHouse(ctx context.Context, dsn string) error {
	o, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return fmt.Errorf("parse clickhouse dsn: %w", err)
	}
	return execClickHouse(ctx, o, "SELECT 1")
}

// execClickHouse runs one statement on a connection of its own.
func execClickHouse(ctx context.Context, o *clickhouse.Options, statement string) error {
	conn, err := clickhouse.Open(o)
	if err != nil {
		return err
	}
	return errors.Join(conn.Exec(ctx, statement), conn.Close())
}

// withDatabase returns the DSN with another database.
func withDatabase(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	u.Path = "/" + database
	return u.String()
}
