package redirector

import (
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"linkfold/deploy/service"
)

// Servers says where NATS and Redis are, for programs that do not have the connections already.
type Servers struct {
	NATSURL         string `name:"nats-url" env:"LINKFOLD_NATS_URL" default:"nats://127.0.0.1:4222" help:"NATS server: nats://user:password@host:port, several separated by commas."`
	NATSCredentials string `name:"nats-credentials" env:"LINKFOLD_NATS_CREDENTIALS" help:"Credentials file for NATS; empty: what the URL says."`
	RedisURL        string `name:"redis-url" env:"LINKFOLD_REDIS_URL" default:"redis://127.0.0.1:6379/0" help:"Redis: redis://user:password@host:port/db; a cluster has ?cluster=true."`
}

// writeWait bounds a write to a NATS server that has stopped reading. The client's default of a minute would hold up hits, on their way
// to the spill directory, and lookups for as long.
const writeWait = time.Second

// Open makes the connections and returns them as Deps without metrics and checks. Neither server need be there. The caller calls the
// function returned when it is done with the Deps.
func (s Servers) Open(name string, log *slog.Logger) (Deps, func(), error) {
	rdb, err := service.OpenRedis(s.RedisURL, service.RedisOptions{Name: name})
	if err != nil {
		return Deps{}, nil, err
	}
	nc, err := service.DialNATS(service.NATSOptions{
		URL: s.NATSURL, Name: name, Credentials: s.NATSCredentials, Log: log, Options: []nats.Option{nats.FlusherTimeout(writeWait)},
	})
	if err != nil {
		return Deps{}, nil, errors.Join(err, rdb.Close())
	}
	return Deps{NATS: nc, Redis: rdb, Log: log}, func() {
		nc.Close()
		if err := rdb.Close(); err != nil {
			log.Warn("redis client not closed", "err", err)
		}
	}, nil
}
