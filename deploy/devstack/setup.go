package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"linkfold/deploy/devstack/internal/engine"
)

// Options are those of Setup.
type Options struct {
	Out   io.Writer // gets progress, a line at a time; nil drops it
	Tests bool      // also try to install what only tests need: a reader of QR symbols
}

// Setup installs what a stack needs and this machine lacks: Redis from the system's packages, the ClickHouse engine
// from npm into the cache directory ($LINKFOLD_CACHE, else linkfold in the user's cache directory). What is there
// already is left alone, so a second Setup is instant; two at once wait for each other. The error says, for each thing
// that could not be installed, which command to type.
func Setup(ctx context.Context, o Options) error {
	if o.Out == nil {
		o.Out = io.Discard
	}
	err := errors.Join(setupRedis(ctx, o.Out), setupClickHouse(ctx, o.Out))
	if o.Tests {
		setupZBar(ctx, o.Out)
	}
	return err
}

func setupClickHouse(ctx context.Context, out io.Writer) error {
	if program, err := exec.LookPath("clickhouse"); err == nil {
		fmt.Fprintf(out, "clickhouse: %s\n", program)
		return nil
	}
	library, err := engine.Install(ctx, out)
	if err != nil {
		return fmt.Errorf("set up clickhouse: %w", err)
	}
	fmt.Fprintf(out, "clickhouse: engine %s in %s\n", engine.Version, library)
	return nil
}
