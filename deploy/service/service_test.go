package service

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDrainOutlivesItsParent(t *testing.T) {
	type key struct{}
	parent, cancelParent := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
	cancelParent()
	ctx, cancel := Drain(parent, time.Hour)
	defer cancel()
	if ctx.Err() != nil || ctx.Value(key{}) != "v" {
		t.Errorf("err %v, value %v", ctx.Err(), ctx.Value(key{}))
	}
	if _, limited := ctx.Deadline(); !limited {
		t.Error("no deadline")
	}
}

func TestSignals(t *testing.T) {
	signals := make(chan os.Signal)
	soft, hard, stop := watch(t.Context(), signals)
	defer stop()
	signals <- os.Interrupt
	<-soft.Done()
	if hard.Err() != nil || !errors.Is(context.Cause(soft), ErrStop) {
		t.Fatalf("after one signal: hard %v, cause %v", hard.Err(), context.Cause(soft))
	}
	signals <- os.Interrupt
	<-hard.Done()
	if !errors.Is(context.Cause(hard), ErrStopHard) {
		t.Errorf("cause %v", context.Cause(hard))
	}
}

func TestSignalsOfTheProcess(t *testing.T) {
	soft, hard, stop := Signals(t.Context())
	syscall.Kill(os.Getpid(), syscall.SIGTERM)
	<-soft.Done()
	stop()
	if hard.Err() == nil {
		t.Error("stop left the hard context open")
	}
}
