// Command ingest stores Linkfold's streams in ClickHouse; see package ingest.
package main

import (
	"os"

	"linkfold/ingest/command"
)

func main() { os.Exit(command.Main("ingest", os.Args[1:])) }
