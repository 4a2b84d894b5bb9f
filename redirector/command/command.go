// Package command is the redirector's command line: it is the program redirector, and "linkfold redirector" as well.
package command

import (
	"context"
	"net"

	"linkfold/deploy/service"
	"linkfold/redirector"
)

// settings is the whole command line.
type settings struct {
	redirector.Config  `embed:""`
	redirector.Servers `embed:""`
}

// Validate names every setting that makes no sense.
func (s *settings) Validate() error { return s.Config.Validate() }

// Main runs the command line args of the program called name and returns its exit code; see service.Main.
func Main(name string, args []string) int {
	return service.Main(args, name, "Answers short links, records every request as a hit, and serves the authors' API.", run)
}

// run starts at once, be NATS and Redis there or not.
func run(ctx context.Context, s settings, e service.Env) error {
	deps, closeAll, err := s.Open("redirector", e.Log)
	if err != nil {
		return err
	}
	defer closeAll()
	deps.Metrics = e.Metrics
	deps.Ready = func(name string, check func(context.Context) error) { e.Debug.Ready(name, check) }
	deps.Listening = func(public, admin net.Addr) {
		e.Log.Info("listening", "public", public.String(), "admin", admin.String())
	}
	e.Debug.Ready("nats", service.NATSReady(deps.NATS))
	return redirector.Run(ctx, s.Config, deps)
}
