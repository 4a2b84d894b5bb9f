// Command ingest stores Linkfold's streams in ClickHouse; see package ingest.
package main

import (
	"context"
	"os"

	"linkfold/deploy/service"
	"linkfold/ingest"
)

func main() {
	os.Exit(service.Main(os.Args[1:], "ingest", "Stores every message of Linkfold's streams in ClickHouse, exactly once.",
		func(ctx context.Context, c ingest.Config, e service.Env) error {
			ready := func(name string, check func(context.Context) error) { e.Debug.Ready(name, check) }
			return ingest.Run(ctx, c, ingest.Deps{Log: e.Log, Metrics: e.Metrics, Ready: ready})
		}))
}
