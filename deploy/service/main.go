package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Flags are the flags of every process. They are embedded in a program's command line.
type Flags struct {
	LogLevel  string `help:"Least level to log: debug, info, warn, error." default:"info"`
	LogFormat string `help:"Log as json or text; auto is text on a terminal." enum:"auto,json,text" default:"auto"`
	Debug     string `name:"debug-listen" help:"Debug listener: health, readiness, metrics, pprof. Keep it off the internet." default:"127.0.0.1:0"`
}

// Env is what Main gives to a service.
type Env struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
	Debug   *Debug          // to register readiness checks with
	Hard    context.Context // ends at the second signal: give up what is still being drained
}

// program is the command line of one service.
type program[C any] struct {
	Config C     `embed:""`
	Flags  Flags `embed:""`
}

// Validate asks the service's configuration, which kong does not do for an embedded field.
func (p *program[C]) Validate() error {
	if v, ok := any(&p.Config).(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Main is the whole main function of a program that runs one service: it reads the configuration C from arguments and
// environment, sets up logging, signals and the debug listener, and calls run, which must return when its context
// ends. It returns the exit code: 0 after a clean end or help, 1 when run fails, 2 for a command line that makes no
// sense. After a second signal it returns 130 without waiting for run.
func Main[C any](args []string, name, description string, run func(ctx context.Context, c C, e Env) error) int {
	var p program[C]
	_, err := Parse(args, &p, Program{Name: name, Description: description, Out: os.Stdout})
	if err != nil {
		return usage(os.Stderr, name, err)
	}
	log, err := Logger(os.Stderr, p.Flags.LogFormat, p.Flags.LogLevel)
	if err != nil {
		return usage(os.Stderr, name, err)
	}
	LogRedis(log)
	soft, hard, stop := Signals(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- serve(soft, p.Flags, Env{Log: log, Hard: hard}, func(ctx context.Context, e Env) error { return run(ctx, p.Config, e) })
	}()
	select {
	case err = <-ended:
	case <-hard.Done():
		log.Warn("stopped before everything was drained")
		return 130
	}
	if err != nil {
		log.Error("service failed", "service", name, "err", err)
		return 1
	}
	return 0
}

// serve runs a service beside its debug listener; the first to fail ends the other.
func serve(ctx context.Context, f Flags, e Env, run func(context.Context, Env) error) error {
	registry := NewRegistry()
	debug, err := NewDebug(f.Debug, registry, e.Log)
	if err != nil {
		return err
	}
	e.Metrics, e.Debug = registry, debug
	e.Log.Info("debug listener", "address", debug.Addr())
	// The debug listener outlives the service, so that its draining can be watched.
	dctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return debug.Run(dctx) })
	g.Go(func() error {
		defer cancel()
		return run(gctx, e)
	})
	return g.Wait()
}

// usage reports a command line that could not be used and returns the exit code.
func usage(w io.Writer, name string, err error) int {
	if errors.Is(err, ErrHelp) {
		return 0
	}
	fmt.Fprintf(w, "%s: %v\n", name, err)
	return 2
}
