// Command projector keeps Redis equal to the log of links, rebuilds it and verifies it; see package projector.
package main

import (
	"context"
	"os"

	"linkfold/projector/command"
)

func main() { os.Exit(command.Main(context.Background(), "projector", os.Args[1:])) }
