// Package devstack starts the three real servers that Linkfold rests on, for `linkfold up` and for every integration
// test: NATS with JetStream (in this process, or as a child), Redis and ClickHouse (children), on loopback, under one
// directory.
//
// Most callers want Start, or ForTest in a test. Because some servers run inside a second copy of the same executable,
// main and TestMain call RunChild before anything else (TestMain of this package does it for tests).
//
// What is promised: Start returns when every server answers; ports, passwords and data are kept in the directory, so
// the URLs stay the same from start to start; a server that is killed, or whose machine process is, starts again on its
// data; Close stops all of them in order; and if this process dies, however it dies, its children die with it (Linux).
//
// The ClickHouse is, in this order: the given DSN, a clickhouse binary on PATH, the engine that Setup installs.
package devstack

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Server names one of the servers.
type Server string

// The servers.
const (
	NATS       Server = "nats"
	Redis      Server = "redis"
	ClickHouse Server = "clickhouse"
)

// servers lists all of them in the order in which they are named to people.
var servers = [...]Server{NATS, Redis, ClickHouse}

// Config says which servers to start, and where.
type Config struct {
	// Dir is the directory below which everything lives: nats/, redis/, clickhouse/, logs/, ports.json, secrets.json. It is
	// created when missing, with mode 0700. One process at a time may run a given server in it.
	Dir string
	// Log gets starts, stops and unexpected ends; nil drops them. The servers' own logs are files in Dir/logs.
	Log *slog.Logger

	NATS, Redis, ClickHouse bool // which to start

	// Ports on 127.0.0.1. 0 is the port of the last start if it is still free, else a free one.
	NATSPort, RedisPort, ClickHousePort, ClickHouseHTTPPort int

	// When one of these is given, that server is used (and must answer), and none is started in its place.
	NATSURL, RedisURL, ClickHouseDSN string

	// NATSChild runs NATS as a child process instead of in this one, so that it can be killed alone.
	NATSChild bool

	// ClickHouseMemory is the limit of the ClickHouse server's memory in bytes; 0 is 4 GB.
	ClickHouseMemory int64
}

// Start starts the servers that are asked for, all at the same time, and returns when each of them answers. If one is
// missing on this machine, nothing is started, and the error wraps a *MissingError for each that says how to install
// it. If one fails to start, the others are stopped again. Cancelling ctx interrupts the start only.
func Start(ctx context.Context, c Config) (*Stack, error) {
	if childRequested() {
		return nil, errNotHandled
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s, err := newStack(ctx, c)
	if err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, u := range s.units {
		g.Go(func() error { return u.open(gctx) })
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// newStack prepares directories and units without starting anything.
func newStack(ctx context.Context, c Config) (*Stack, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	for _, sub := range []string{"", "logs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	s := &Stack{dir: dir, died: make(chan *DiedError, len(servers))}
	var missing error
	for _, name := range servers {
		k, err := c.kind(name)
		if err != nil {
			missing = errors.Join(missing, err)
		}
		if k != nil {
			s.units = append(s.units, newUnit(name, dir, k, c.Log, s.died))
		}
	}
	if missing != nil {
		return nil, missing
	}
	return s, nil
}

// kind returns how to run the named server: nil when it is not asked for, an error when it is missing here.
func (c Config) kind(name Server) (kind, error) {
	switch {
	case name == NATS && c.NATSURL != "":
		return external{url: c.NATSURL, check: probeNATS}, nil
	case name == Redis && c.RedisURL != "":
		return external{url: c.RedisURL, check: probeRedis}, nil
	case name == ClickHouse && c.ClickHouseDSN != "":
		return external{url: c.ClickHouseDSN, check: probeClickHouse}, nil
	case name == NATS && c.NATS:
		return newNATS(c), nil
	case name == Redis && c.Redis:
		return newRedis(c)
	case name == ClickHouse && c.ClickHouse:
		return newClickHouse(c)
	}
	return nil, nil
}
