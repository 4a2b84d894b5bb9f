package service

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestMainCodes(t *testing.T) {
	fail := errors.New("broken")
	for _, c := range []struct {
		name string
		args []string
		run  func(context.Context, sample, Env) error
		want int
	}{
		{"clean end", nil, func(context.Context, sample, Env) error { return nil }, 0},
		{"help", []string{"--help"}, nil, 0},
		{"failure", nil, func(context.Context, sample, Env) error { return fail }, 1},
		{"nonsense", []string{"--workers=0"}, nil, 2},
		{"nonsense level", []string{"--log-level=loud"}, nil, 2},
		{"debug address", []string{"--debug-listen=nowhere"}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Main(c.args, "sample", "Does a thing.", c.run); got != c.want {
				t.Errorf("code %d, want %d", got, c.want)
			}
		})
	}
}

func TestMainStopsOnASignal(t *testing.T) {
	code := Main(nil, "sample", "", func(ctx context.Context, c sample, e Env) error {
		if status, body, err := get(t, "http://"+e.Debug.Addr()+"/healthz"); err != nil || status != 200 {
			t.Errorf("healthz: %d %q %v", status, body, err)
		}
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-ctx.Done()
		// While the service drains, its debug listener still answers.
		_, body, err := get(t, "http://"+e.Debug.Addr()+"/metrics")
		if err != nil || !strings.Contains(body, "go_goroutines") {
			t.Errorf("metrics while draining: %v", err)
		}
		return nil
	})
	if code != 0 {
		t.Errorf("code %d", code)
	}
}

func TestMainGivesUpOnASecondSignal(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	code := Main(nil, "sample", "", func(ctx context.Context, c sample, e Env) error {
		defer close(ended)
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-ctx.Done()
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-release // a drain that does not end
		return nil
	})
	if code != 130 {
		t.Errorf("code %d", code)
	}
	close(release)
	<-ended
}
