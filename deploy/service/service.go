// Package service is the plumbing that every Linkfold process shares: reading flags and LINKFOLD_* variables, logging,
// signals and the order of shutdown, the metrics registry, the debug listener, serving HTTP, and connections to NATS,
// Redis and ClickHouse with the settings that DESIGN.md sections 4 to 6 rest on.
//
// A program for one service is one call of Main. The all-in-one program calls the parts itself.
//
// Nothing here keeps global state, and nothing but Main ends the process.
package service

import (
	"context"
	"time"
)

// Drain returns a context for the last writes of a component whose own context has ended: it keeps the values of ctx,
// is not cancelled with it, and lasts for timeout at most.
func Drain(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
