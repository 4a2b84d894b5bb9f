package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"linkfold/deploy/linkfold/internal/allinone"
	ingest "linkfold/ingest/command"
	projector "linkfold/projector/command"
	redirector "linkfold/redirector/command"
)

// serviceCmd stands for a service in the help; its own command line is read by the service's package command.
type serviceCmd struct {
	Args []string `arg:"" optional:"" help:"The service's own flags."`
}

// Run is never reached: main hands these commands to serviceMains.
func (serviceCmd) Run() error { return errors.New("give the service's name as the first argument") }

// serviceMains are the services that run alone as "linkfold <name>", by name.
var serviceMains = map[string]func(args []string) int{
	"redirector": func(args []string) int { return redirector.Main("linkfold redirector", args) },
	"ingest":     func(args []string) int { return ingest.Main("linkfold ingest", args) },
	"projector": func(args []string) int {
		return projector.Main(context.Background(), "linkfold projector", args)
	},
}

// runService runs one service alone. Its own flags are read by its package; --data stands for the servers of a running "linkfold up", and
// gives way to what the environment or other flags say.
func runService(main func(args []string) int, args []string, screen io.Writer) int {
	args, dir := takeData(args)
	if dir != "" {
		if err := useServers(dir); err != nil {
			fmt.Fprintln(screen, "linkfold:", err)
			return 2
		}
	}
	return main(args)
}

// takeData takes --data DIR out of a command line.
func takeData(args []string) (rest []string, dir string) {
	for i := 0; i < len(args); i++ {
		value, ok := strings.CutPrefix(args[i], "--data=")
		switch {
		case ok:
			dir = value
		case args[i] == "--data" && i+1 < len(args):
			i++
			dir = args[i]
		default:
			rest = append(rest, args[i])
		}
	}
	return rest, dir
}

// useServers puts the servers of a data directory into the environment, where every service looks for them.
func useServers(dir string) error {
	e, err := allinone.LoadEndpoints(dir)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"LINKFOLD_NATS_URL": e.NATS, "LINKFOLD_REDIS_URL": e.Redis, "LINKFOLD_CLICKHOUSE_DSN": e.ClickHouse} {
		if os.Getenv(name) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}
