// Package command is ingest's command line: it is the program ingest, and "linkfold ingest" as well.
package command

import (
	"context"

	"linkfold/deploy/service"
	"linkfold/ingest"
)

// Main runs the command line args of the program called name and returns its exit code; see service.Main.
func Main(name string, args []string) int {
	return service.Main(args, name, "Stores every message of Linkfold's streams in ClickHouse, exactly once.", run)
}

func run(ctx context.Context, c ingest.Config, e service.Env) error {
	return ingest.Run(ctx, c, ingest.Deps{
		Log: e.Log, Metrics: e.Metrics,
		Ready: func(name string, check func(context.Context) error) { e.Debug.Ready(name, check) },
	})
}
