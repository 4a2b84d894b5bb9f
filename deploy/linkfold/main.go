// Command linkfold is all of Linkfold in one binary: everything at once with "up", each service alone, and the operators' commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"linkfold/deploy/devstack"
	"linkfold/deploy/service"
)

const description = `Short links and QR redirects in which the event log is the product: every hit and every change is an event, and nothing is lost silently.

Start with "linkfold up", or see it work on real clicks with "linkfold demo".`

// cli is the command line. Every flag has an environment variable, LINKFOLD_ and its name, but for those that say what to change of a domain.
type cli struct {
	Up    upCmd    `cmd:"" help:"Run everything in one process, with all state in one directory."`
	Demo  demoCmd  `cmd:"" help:"Start a fresh Linkfold, replay an hour of real clicks, and print what ClickHouse says about them."`
	SQL   sqlCmd   `cmd:"" name:"sql" help:"Ask ClickHouse: a query of the library by name, or your own."`
	Setup setupCmd `cmd:"" help:"Install what this machine lacks: Redis and a ClickHouse engine."`

	Domain domainCmd `cmd:"" help:"Read and change the configuration of domains: rules, websites, tracking, defaults."`
	Hits   hitsCmd   `cmd:"" help:"Lists of hits that need somebody's attention."`

	Resolve resolveCmd `cmd:"" help:"Print where URLs lead by a ruleset in a file, without any server."`
	Rules   rulesCmd   `cmd:"" help:"Check rule scripts, and see what they make of URLs, without any server."`
	QR      qrCmd      `cmd:"" name:"qr" help:"Draw QR symbols of links or texts: SVG, PNG, or pages for printing."`

	Redirector serviceCmd  `cmd:"" passthrough:"" help:"Run the redirector alone, against servers of your own (see: linkfold redirector --help)."`
	Ingest     serviceCmd  `cmd:"" passthrough:"" help:"Run ingest alone (see: linkfold ingest --help)."`
	Projector  serviceCmd  `cmd:"" passthrough:"" help:"Run the projector alone, rebuild or verify the Redis projection; --data DIR uses the servers of a running linkfold up."`
	Migrate    migrateCmd  `cmd:"" help:"Bring the ClickHouse schema up to date; ingest does this by itself when it starts."`
	Devstack   devstackCmd `cmd:"" help:"Run NATS, Redis or ClickHouse alone in the foreground, for development and tests."`

	LogLevel  string `help:"Least level to log: debug, info, warn, error." default:"info"`
	LogFormat string `help:"Log as json or text; auto is text on a terminal." enum:"auto,json,text" default:"auto"`
}

// env is what commands work with.
type env struct {
	ctx    context.Context // ends with the first signal
	log    *slog.Logger
	in     io.Reader
	out    io.Writer
	screen io.Writer // progress, for people
}

func main() {
	if devstack.RunChild() {
		return
	}
	// The services have command lines of their own: nothing of theirs is parsed here.
	if len(os.Args) > 1 {
		if main, ok := serviceMains[os.Args[1]]; ok {
			os.Exit(runService(main, os.Args[2:], os.Stderr))
		}
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main for everything but the services; it returns the exit code.
func run(args []string, out, screen io.Writer) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	var c cli
	command, err := service.Parse(args, &c, service.Program{Name: "linkfold", Description: description, Out: out})
	if errors.Is(err, service.ErrHelp) {
		return 0
	}
	var log *slog.Logger
	if err == nil {
		log, err = service.Logger(screen, c.LogFormat, c.LogLevel)
	}
	if err != nil {
		fmt.Fprintln(screen, "linkfold:", err)
		return 2
	}
	service.LogRedis(log)
	soft, hard, stop := service.Signals(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- command.Run(&env{ctx: soft, log: log, in: os.Stdin, out: out, screen: screen}) }()
	select {
	case err = <-ended:
	case <-hard.Done():
		fmt.Fprintln(screen, "linkfold: stopped before everything was drained")
		return 130
	}
	if err != nil {
		// Errors may quote a server or a file; a terminal obeys what they hold.
		for line := range strings.Lines("linkfold: " + err.Error()) {
			fmt.Fprintln(screen, visible(strings.TrimSuffix(line, "\n")))
		}
		return 1
	}
	return 0
}
