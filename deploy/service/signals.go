package service

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Causes of the contexts of Signals.
var (
	ErrStop     = errors.New("asked to stop")
	ErrStopHard = errors.New("asked to stop a second time")
)

// Signals returns two contexts. The first SIGINT or SIGTERM cancels soft: components stop taking work, finish what
// they have and end. The second signal cancels hard: whoever still waits gives up. Both carry their cause.
//
// stop gives the signals back to the system and cancels both; it returns when nothing of Signals is left.
func Signals(parent context.Context) (soft, hard context.Context, stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	soft, hard, wait := watch(parent, signals)
	return soft, hard, func() {
		signal.Stop(signals)
		wait()
	}
}

// watch cancels soft at the first signal and hard at the second.
func watch(parent context.Context, signals <-chan os.Signal) (soft, hard context.Context, stop func()) {
	hard, cancelHard := context.WithCancelCause(parent)
	soft, cancelSoft := context.WithCancelCause(hard)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for _, next := range []func(){
			func() { cancelSoft(ErrStop) },
			func() { cancelHard(ErrStopHard) },
		} {
			select {
			case <-signals:
				next()
			case <-quit:
				return
			}
		}
	}()
	return soft, hard, func() {
		close(quit)
		<-done
		cancelHard(context.Canceled)
	}
}
