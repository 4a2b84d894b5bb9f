package main

import (
	"context"
	"errors"

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
