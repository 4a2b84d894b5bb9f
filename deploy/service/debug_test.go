package service

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runDebug serves a debug listener until the test ends.
func runDebug(t *testing.T) *Debug {
	t.Helper()
	d, err := NewDebug("127.0.0.1:0", NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestDebugPages(t *testing.T) {
	d := runDebug(t)
	for _, c := range []struct {
		path, want string
		code       int
	}{
		{"/healthz", "ok", 200},
		{"/readyz", `"service":"it has not started yet"`, 503},
		{"/metrics", "go_goroutines", 200},
		{"/debug/pprof/", "goroutine", 200},
		{"/debug/pprof/goroutine?debug=1", "goroutine profile", 200},
		{"/", "not found", 404},
	} {
		code, body, err := get(t, "http://"+d.Addr()+c.path)
		if err != nil || code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %v, %.100q", c.path, code, err, body)
		}
	}
}

func TestReadySaysWhatItWaitsFor(t *testing.T) {
	d := runDebug(t)
	d.Ready("nats", func(context.Context) error { return errors.New("nats is not connected") })
	d.Ready("redis", func(context.Context) error { return nil })
	code, body, err := get(t, "http://"+d.Addr()+"/readyz")
	if err != nil {
		t.Fatal(err)
	}
	var got readiness
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := readiness{Waiting: map[string]string{"nats": "nats is not connected"}}
	if diff := cmp.Diff(want, got); diff != "" || code != http.StatusServiceUnavailable {
		t.Errorf("code %d, %s", code, diff)
	}
	d.Ready("nats", func(context.Context) error { return nil })
	if code, _, _ := get(t, "http://"+d.Addr()+"/readyz"); code != 200 {
		t.Errorf("code %d after the wait", code)
	}
}

func TestReadyDoesNotHangOnACheck(t *testing.T) {
	d, err := NewDebug("127.0.0.1:0", NewRegistry(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.listener.Close()
	release := make(chan struct{})
	defer close(release)
	d.Ready("stuck", func(context.Context) error { <-release; return nil })
	d.Ready("fine", func(context.Context) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := d.waiting(ctx)["stuck"]; !strings.HasPrefix(got, "no answer") {
		t.Errorf("stuck check: %q", got)
	}
}

func TestDebugAddressInUse(t *testing.T) {
	d := runDebug(t)
	if _, err := NewDebug(d.Addr(), NewRegistry(), nil); err == nil || !strings.Contains(err.Error(), "debug listener") {
		t.Errorf("second listener: %v", err)
	}
}
