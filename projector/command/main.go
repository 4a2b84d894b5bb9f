package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"linkfold/deploy/service"
)

// Main runs the command line args of the program called name and returns its exit code: 0 when all is well, 1 when the command failed or found differences, 2 for a command line that makes
// no sense, 130 after a second signal.
func Main(ctx context.Context, name string, args []string) int {
	var c cli
	k, err := service.Parse(args, &c, service.Program{
		Name: name, Description: "Keeps Redis equal to Linkfold's log of links, rebuilds it and verifies it.", Out: os.Stdout,
	})
	if errors.Is(err, service.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 2
	}
	log, err := service.Logger(os.Stderr, c.LogFormat, c.LogLevel)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 2
	}
	soft, hard, stop := service.Signals(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- k.Run(&environment{ctx: soft, cli: &c, log: log, out: os.Stdout}) }()
	select {
	case err = <-ended:
	case <-hard.Done():
		return 130
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}
