package main

import (
	"context"
	"errors"

	"linkfold/deploy/service"
	"linkfold/ingest"
	"linkfold/redirector"
)

// serviceCmd stands for a service in the help; its own command line is read by service.Main.
type serviceCmd struct {
	Args []string `arg:"" optional:"" help:"The service's own flags."`
}

// Run is never reached: main hands these commands to serviceMains.
func (serviceCmd) Run() error { return errors.New("give the service's name as the first argument") }

// serviceMains are the services that run alone as "linkfold <name>", by name.
var serviceMains = map[string]func(args []string) int{
	"redirector": func(args []string) int {
		return service.Main(args, "linkfold redirector", "Answers short links, records every request as a hit, and serves the authors' API.", runRedirector)
	},
	"ingest": func(args []string) int {
		return service.Main(args, "linkfold ingest", "Stores every message of Linkfold's streams in ClickHouse, exactly once.", runIngest)
	},
}

// redirectorConfig is the redirector with its servers.
type redirectorConfig struct {
	NATSURL         string            `name:"nats-url" help:"NATS server: nats://user:password@host:port, several separated by commas." default:"nats://127.0.0.1:4222"`
	NATSCredentials string            `name:"nats-credentials" help:"Credentials file for NATS; empty: what the URL says."`
	RedisURL        string            `name:"redis-url" help:"Redis: redis://user:password@host:port/db; a cluster has ?cluster=true." default:"redis://127.0.0.1:6379/0"`
	Config          redirector.Config `embed:""`
}

// Validate asks the redirector's own configuration.
func (c *redirectorConfig) Validate() error { return c.Config.Validate() }

func runRedirector(ctx context.Context, c redirectorConfig, e service.Env) error {
	rdb, err := service.OpenRedis(c.RedisURL, service.RedisOptions{Name: "redirector"})
	if err != nil {
		return err
	}
	defer rdb.Close()
	nc, err := service.DialNATS(service.NATSOptions{URL: c.NATSURL, Name: "redirector", Credentials: c.NATSCredentials, Log: e.Log})
	if err != nil {
		return err
	}
	defer nc.Close()
	return redirector.Run(ctx, c.Config, redirector.Deps{
		NATS: nc, Redis: rdb, Metrics: e.Metrics, Log: e.Log,
		Ready: func(name string, check func(context.Context) error) { e.Debug.Ready(name, check) },
	})
}

func runIngest(ctx context.Context, c ingest.Config, e service.Env) error {
	return ingest.Run(ctx, c, ingest.Deps{
		Log: e.Log, Metrics: e.Metrics,
		Ready: func(name string, check func(context.Context) error) { e.Debug.Ready(name, check) },
	})
}
