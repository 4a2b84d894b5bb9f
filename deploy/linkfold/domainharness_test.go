package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/linkfold/internal/allinone"
	"linkfold/deploy/linkfold/internal/api"
	"linkfold/projector"
	"linkfold/redirector/admin"
	"linkfold/schema/projection"
)

// running is a Linkfold that commands are tried on.
type running struct {
	t *testing.T
	allinone.Running
	dir string
}

// startUp runs everything as linkfold up does, until the test ends.
func startUp(t *testing.T) *running {
	t.Helper()
	needServers(t)
	in := &running{t: t, dir: t.TempDir()}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan allinone.Running, 1), make(chan error, 1)
	go func() {
		cfg := allinone.Config{Dir: in.dir, Listen: "127.0.0.1:0", Admin: "localhost:0", Debug: "127.0.0.1:0", Durability: "stream"}
		done <- allinone.Run(ctx, cfg, slog.New(slog.DiscardHandler), func(_ context.Context, r allinone.Running) error {
			ready <- r
			return nil
		})
	}()
	select {
	case in.Running = <-ready:
	case err := <-done:
		cancel()
		t.Fatal("linkfold ended:", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return in
}

// command runs "linkfold domain …" and wants an exit code; it returns what was printed.
func (in *running) command(code int, args ...string) (out, screen string) {
	in.t.Helper()
	var o, s bytes.Buffer
	got := run(append(append([]string{"domain"}, args...), "--data", in.dir), &o, &s)
	if got != code {
		in.t.Fatalf("domain %q: exit code %d, want %d\n%s%s", args, got, code, o.String(), s.String())
	}
	return o.String(), s.String()
}

// domain reads a domain by the command.
func (in *running) domain(name string) admin.Domain {
	in.t.Helper()
	out, _ := in.command(0, "get", name, "--json")
	var d admin.Domain
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		in.t.Fatal(err)
	}
	return d
}

// visit asks the public listener for a path on a host and returns the status.
func (in *running) visit(host, path string) int {
	in.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+in.Public+path, nil)
	if err != nil {
		in.t.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		in.t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		in.t.Fatal(err)
	}
	return resp.StatusCode
}

func (in *running) link(domain, key string) {
	in.t.Helper()
	client, err := api.Open(api.Flags{Data: in.dir})
	if err == nil {
		err = client.Do(in.t.Context(), http.MethodPost, "/v1/links", map[string]string{"domain": domain, "key": key, "destination": "https://example.com/"}, nil)
	}
	if err != nil {
		in.t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("never happened: ", what)
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

// verified is what projector verify --rulesets says of a domain's links in Redis.
func (in *running) verified(domain string) string {
	in.t.Helper()
	deps, closeAll, err := projector.Servers{NATSURL: in.Endpoints.NATS, RedisURL: in.Endpoints.Redis}.Open("verify", slog.New(slog.DiscardHandler))
	if err != nil {
		in.t.Fatal(err)
	}
	defer closeAll()
	r, err := projector.Verify(in.t.Context(), deps)
	if err != nil {
		in.t.Fatal(err)
	}
	sum := r.Rulesets[domain]
	return fmt.Sprintf("%d %s", sum.Count, projection.FormatChecksum(sum.Checksum))
}
