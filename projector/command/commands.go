// Package command is the projector's command line: it is the program projector, and "linkfold projector" as well.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"linkfold/deploy/service"
	"linkfold/projector"
	"linkfold/schema/projection"
)

// startTimeout is how long commands that end by themselves wait for the servers.
const startTimeout = 10 * time.Second

// cli is the command line.
type cli struct {
	projector.Servers `embed:""`
	service.Flags     `embed:""`

	Run      runCmd      `cmd:"" default:"withargs" help:"Follow the log until stopped (the default)."`
	Rebuild  rebuildCmd  `cmd:"" help:"Build a new generation from the log, prove it, and switch to it. Redirects go on."`
	Verify   verifyCmd   `cmd:"" help:"Compare Redis with the log and name every difference. Exit code 1 when there is one."`
	Rollback rollbackCmd `cmd:"" help:"Go back to the generation before the last rebuild."`
}

// environment is what commands run in.
type environment struct {
	ctx context.Context
	cli *cli
	log *slog.Logger
	out io.Writer
}

type runCmd struct {
	projector.Config `embed:""`
}

// Run is called by kong.
func (r *runCmd) Run(e *environment) error {
	deps, closeAll, err := e.cli.Open("projector", e.log)
	if err != nil {
		return err
	}
	defer closeAll()
	service.LogRedis(e.log)
	registry := service.NewRegistry()
	debug, err := service.NewDebug(e.cli.Debug, registry, e.log)
	if err != nil {
		return err
	}
	e.log.Info("debug listener", "address", debug.Addr())
	deps.Registry = registry
	deps.Check = func(name string, check func(context.Context) error) { debug.Ready(name, check) }
	debug.Ready("redis", service.RedisReady(deps.Redis))
	debug.Ready("nats", service.NATSReady(deps.NATS.Conn()))
	g, ctx := errgroup.WithContext(e.ctx)
	g.Go(func() error { return debug.Run(ctx) })
	g.Go(func() error { return projector.Run(ctx, r.Config, deps) })
	return g.Wait()
}

// with opens the servers for a command that ends by itself.
func (e *environment) with(do func(projector.Deps) error) error {
	deps, closeAll, err := e.cli.Open("projector", e.log)
	if err != nil {
		return err
	}
	defer closeAll()
	ctx, cancel := context.WithTimeout(e.ctx, startTimeout)
	defer cancel()
	if err := deps.Wait(ctx); err != nil {
		return err
	}
	return do(deps)
}

type rebuildCmd struct {
	Keep time.Duration `help:"How long the old generation is kept fed for a rollback." default:"1h"`
}

// Run is called by kong.
func (r *rebuildCmd) Run(e *environment) error {
	return e.with(func(d projector.Deps) error {
		begun := time.Now()
		gen, err := projector.Rebuild(e.ctx, d, r.Keep, func(p projector.Progress) { printProgress(e.out, p) })
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "generation %d is active after %v\n", gen, time.Since(begun).Round(time.Millisecond))
		return nil
	})
}

func printProgress(w io.Writer, p projector.Progress) {
	if p.Stage != "build" || p.Done == 0 {
		fmt.Fprintf(w, "%s generation %d\n", p.Stage, p.Generation)
		return
	}
	fmt.Fprintf(w, "build generation %d: %d of %d keys, %.0f/s, %v left\n",
		p.Generation, p.Done, p.Total, p.Rate, p.Left.Round(100*time.Millisecond))
}

type verifyCmd struct {
	Rulesets bool `help:"Also print the number of links of each domain, deleted ones included, and their checksum, as Redis has them."`
}

// errDiffers is the end of a verify that found something.
var errDiffers = errors.New("redis differs from the log")

// Run is called by kong.
func (v *verifyCmd) Run(e *environment) error {
	return e.with(func(d projector.Deps) error {
		r, err := projector.Verify(e.ctx, d)
		if err != nil {
			return err
		}
		if v.Rulesets {
			printRulesets(e.out, r)
		}
		return printReport(e.out, r)
	})
}

func printRulesets(w io.Writer, r projector.Report) {
	for _, domain := range slices.Sorted(maps.Keys(r.Rulesets)) {
		sum := r.Rulesets[domain]
		fmt.Fprintf(w, "ruleset %-40s %10d links  %s\n", domain, sum.Count, projection.FormatChecksum(sum.Checksum))
	}
}

func printReport(w io.Writer, r projector.Report) error {
	for _, d := range r.Differences {
		fmt.Fprintf(w, "%-8s partition %2d  %-40q log %d, redis %d\n", d.Kind, d.Partition, d.Name, d.Want, d.Got)
	}
	if r.Clean() {
		fmt.Fprintf(w, "generation %d equals the log at %d: %d keys\n", r.Generation, r.Sequence, r.Keys)
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(w, "%d %s\n", r.Counts[kind], kind)
	}
	return errDiffers
}

type rollbackCmd struct {
	Keep time.Duration `help:"How long the generation that is left is kept fed." default:"1h"`
}

// Run is called by kong.
func (r *rollbackCmd) Run(e *environment) error {
	return e.with(func(d projector.Deps) error {
		gen, err := projector.Rollback(e.ctx, d, r.Keep)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "generation %d is active\n", gen)
		return nil
	})
}
