package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/deploy/service"
)

// redisTimeout is for one batch of thousands of writes on a busy server.
const redisTimeout = 5 * time.Second

// Servers says where NATS and Redis are, for programs that do not have the connections already.
type Servers struct {
	NATSURL         string `name:"nats-url" env:"LINKFOLD_NATS_URL" default:"nats://127.0.0.1:4222" help:"NATS server: nats://user:password@host:port, several separated by commas."`
	NATSCredentials string `name:"nats-credentials" env:"LINKFOLD_NATS_CREDENTIALS" help:"Credentials file for NATS; empty: what the URL says."`
	RedisURL        string `name:"redis-url" env:"LINKFOLD_REDIS_URL" default:"redis://127.0.0.1:6379/0" help:"Redis: redis://user:password@host:port/db; a cluster has ?cluster=true."`
}

// Open makes the connections and returns them as Deps without metrics and checks. The servers need not be there yet. The caller
// calls the function returned when it is done with the Deps.
func (s Servers) Open(name string, log *slog.Logger) (Deps, func(), error) {
	rdb, err := service.OpenRedis(s.RedisURL, service.RedisOptions{Name: name, Timeout: redisTimeout})
	if err != nil {
		return Deps{}, nil, err
	}
	nc, err := service.DialNATS(service.NATSOptions{URL: s.NATSURL, Name: name, Credentials: s.NATSCredentials, Log: log})
	if err != nil {
		return Deps{}, nil, errors.Join(err, rdb.Close())
	}
	closeAll := func() {
		nc.Close()
		if err := rdb.Close(); err != nil {
			log.Warn("redis client not closed", "err", err)
		}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		closeAll()
		return Deps{}, nil, fmt.Errorf("use jetstream: %w", err)
	}
	return Deps{NATS: js, Redis: rdb, Log: log}, closeAll, nil
}

// Wait waits until NATS is connected and Redis answers, for commands that should say so when they cannot start.
func (d Deps) Wait(ctx context.Context) error {
	if err := service.WaitNATS(ctx, d.NATS.Conn()); err != nil {
		return err
	}
	if err := d.Redis.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("connect to redis: %w", err)
	}
	return nil
}
