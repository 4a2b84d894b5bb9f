package devstack

import (
	"context"
	"errors"
	"os"
)

// external is a server that was given: it is asked whether it answers, and otherwise left alone.
type external struct {
	url   string
	check func(ctx context.Context, url string) error
}

func (e external) configure(context.Context) (string, error) { return e.url, nil }

func (e external) launch(context.Context, *os.File) (run, error) { return noRun{}, nil }

func (e external) probe(ctx context.Context, url string) error { return e.check(ctx, url) }

// noRun stands for the run of a server that is somebody else's: it never ends here.
type noRun struct{}

func (noRun) Done() <-chan struct{}      { return nil }
func (noRun) Err() error                 { return errors.New("not started here") }
func (noRun) Pid() int                   { return 0 }
func (noRun) Stop(context.Context) error { return nil }
func (noRun) Kill()                      {}
