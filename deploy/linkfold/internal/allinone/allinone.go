// Package allinone runs the whole of Linkfold in one process: the development stack's servers and every service, in one data directory.
//
// It is what "linkfold up" and "linkfold demo" are made of. Each service has connections of its own, exactly as in a process of its own.
package allinone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"linkfold/deploy/devstack"
	"linkfold/deploy/service"
	"linkfold/ingest"
	"linkfold/projector"
	"linkfold/redirector"
)

// Config is what can be chosen about an all-in-one Linkfold.
type Config struct {
	Dir            string   // data directory, made when missing
	Listen         string   // public listener
	Admin          string   // admin listener
	Debug          string   // debug listener
	DefaultDomain  string   // domain of unregistered hosts
	TrustedProxies []string // networks whose X-Forwarded-For is believed
	AccessLog      string   // file, "-" or ""
	Durability     string   // stream or async
	MissesPerMin   int      // per client; 0: no limit
	ClickHouseDSN  string   // given: that server is used
}

// Running says where everything is.
type Running struct {
	Public, Admin, Debug string // host:port
	TokenFile            string
	Endpoints            Endpoints
}

// stopWait bounds the stop of the servers, after the services have drained.
const stopWait = 30 * time.Second

// Run starts everything, calls ready once requests are answered, and blocks until ctx ends or a part fails. Then the services drain while their
// servers still run, and the servers stop last. A server that dies meanwhile is started again.
func Run(ctx context.Context, c Config, log *slog.Logger, ready func(context.Context, Running) error) error {
	stack, err := devstack.Start(ctx, devstack.Config{
		Dir: c.Dir, Log: log, NATS: true, Redis: true, ClickHouse: true, ClickHouseDSN: c.ClickHouseDSN,
	})
	if err != nil {
		return err
	}
	err = runServices(ctx, c, stack, log, ready)
	stop, cancel := service.Drain(ctx, stopWait)
	defer cancel()
	return errors.Join(err, stack.Close(stop))
}

// part is one service: its name and its blocking Run.
type part struct {
	name string
	run  func(context.Context) error
}

func runServices(ctx context.Context, c Config, stack *devstack.Stack, log *slog.Logger, ready func(context.Context, Running) error) error {
	endpoints := Endpoints{NATS: stack.NATSURL(), Redis: stack.RedisURL(), ClickHouse: stack.ClickHouseDSN(), ClickHouseHTTP: stack.ClickHouseHTTP()}
	if err := endpoints.Save(c.Dir); err != nil {
		return err
	}
	registry := service.NewRegistry()
	debug, err := service.NewDebug(c.Debug, registry, log)
	if err != nil {
		return err
	}
	env := service.Env{Log: log, Metrics: registry, Debug: debug}
	listening := make(chan [2]net.Addr, 1)
	red, closeRed, err := redirectorPart(c, endpoints, env, listening)
	if err != nil {
		return err
	}
	defer closeRed()
	proj, closeProj, err := projectorPart(endpoints, env)
	if err != nil {
		return err
	}
	defer closeProj()
	ing, err := ingestPart(endpoints, env)
	if err != nil {
		return err
	}

	g, gctx := errgroup.WithContext(ctx)
	for _, p := range []part{red, proj, ing, {"debug listener", debug.Run}, {"servers", func(ctx context.Context) error { return supervise(ctx, stack, log) }}} {
		g.Go(func() error {
			if err := p.run(gctx); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			return nil
		})
	}
	g.Go(func() error {
		select {
		case <-gctx.Done():
			return nil
		case a := <-listening:
			endpoints, err := endpoints.listening(c.Dir, a[1])
			if err != nil {
				return err
			}
			return ready(gctx, Running{
				Public: a[0].String(), Admin: a[1].String(), Debug: debug.Addr(), TokenFile: tokenFile(c.Dir), Endpoints: endpoints,
			})
		}
	})
	return g.Wait()
}

func tokenFile(dir string) string { return filepath.Join(dir, "admin.token") }

func redirectorPart(c Config, e Endpoints, env service.Env, listening chan<- [2]net.Addr) (part, func(), error) {
	var cfg redirector.Config
	if err := service.Defaults(&cfg); err != nil {
		return part{}, nil, err
	}
	cfg.Listen, cfg.Admin, cfg.DefaultDomain = c.Listen, c.Admin, c.DefaultDomain
	cfg.TrustedProxies, cfg.AccessLog, cfg.TokenFile = c.TrustedProxies, c.AccessLog, tokenFile(c.Dir)
	cfg.Record.Mode, cfg.Record.SpillDir = c.Durability, filepath.Join(c.Dir, "spill")
	cfg.Limit.MissesPerMinute = c.MissesPerMin
	if err := cfg.Validate(); err != nil {
		return part{}, nil, err
	}
	deps, closeAll, err := redirector.Servers{NATSURL: e.NATS, RedisURL: e.Redis}.Open("redirector", env.Log.With("service", "redirector"))
	if err != nil {
		return part{}, nil, err
	}
	deps.Metrics = env.Metrics
	deps.Ready = func(name string, check func(context.Context) error) { env.Debug.Ready(name, check) }
	deps.Listening = func(public, admin net.Addr) { listening <- [2]net.Addr{public, admin} }
	return part{"redirector", func(ctx context.Context) error { return redirector.Run(ctx, cfg, deps) }}, closeAll, nil
}

func projectorPart(e Endpoints, env service.Env) (part, func(), error) {
	var cfg projector.Config
	if err := service.Defaults(&cfg); err != nil {
		return part{}, nil, err
	}
	deps, closeAll, err := projector.Servers{NATSURL: e.NATS, RedisURL: e.Redis}.Open("projector", env.Log.With("service", "projector"))
	if err != nil {
		return part{}, nil, err
	}
	deps.Registry = env.Metrics
	deps.Check = func(name string, check func(context.Context) error) { env.Debug.Ready(name, check) }
	return part{"projector", func(ctx context.Context) error { return projector.Run(ctx, cfg, deps) }}, closeAll, nil
}

func ingestPart(e Endpoints, env service.Env) (part, error) {
	cfg := ingest.Defaults()
	cfg.NATSURL, cfg.ClickHouseDSN = e.NATS, e.ClickHouse
	if err := cfg.Validate(); err != nil {
		return part{}, err
	}
	deps := ingest.Deps{
		Log: env.Log.With("service", "ingest"), Metrics: env.Metrics,
		Ready: func(name string, check func(context.Context) error) { env.Debug.Ready(name, check) },
	}
	return part{"ingest", func(ctx context.Context) error { return ingest.Run(ctx, cfg, deps) }}, nil
}

// restartPause keeps a server that cannot start from being started in a tight loop.
const restartPause = time.Second

// supervise starts servers again that died.
func supervise(ctx context.Context, stack *devstack.Stack, log *slog.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case died := <-stack.Died():
			log.Error("server died, starting it again", "server", died.Server, "err", died)
			for {
				err := stack.StartServer(ctx, died.Server)
				if err == nil || ctx.Err() != nil {
					break
				}
				log.Error("server does not start, will try again", "server", died.Server, "err", err)
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(restartPause):
				}
			}
		}
	}
}
