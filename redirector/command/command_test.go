package command

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"linkfold/deploy/service"
)

// lines is a log that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// public is the address in the line that says that the redirector listens; empty before.
func (l *lines) public() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.b.Bytes()) {
		var entry struct{ Msg, Public string }
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "listening" {
			return entry.Public
		}
	}
	return ""
}

// The program starts and answers with NATS and Redis away, and says that it is not ready.
func TestStartWithNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var s settings
	_, err := service.Parse([]string{
		"--listen=127.0.0.1:0", "--admin=localhost:0", "--nats-url=nats://127.0.0.1:1", "--redis-url=redis://127.0.0.1:1/0",
		"--token-file=" + filepath.Join(dir, "token"), "--hits-spill-dir=" + filepath.Join(dir, "spill"), "--hits-drain=10ms",
	}, &s, service.Program{Name: "redirector", Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	out := &lines{}
	log := slog.New(slog.NewJSONHandler(out, nil))
	registry := service.NewRegistry()
	debug, err := service.NewDebug("127.0.0.1:0", registry, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = debug.Run(ctx) })
	wg.Go(func() { _ = run(ctx, s, service.Env{Log: log, Metrics: registry, Debug: debug}) }) // The last totals cannot be sent.
	defer wg.Wait()
	defer cancel()
	for end := time.Now().Add(20 * time.Second); out.public() == ""; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("does not listen")
		}
	}
	for url, want := range map[string]int{"http://" + out.public() + "/k": 503, "http://" + debug.Addr() + "/readyz": 503, "http://" + debug.Addr() + "/healthz": 200} {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", url, resp.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestSettings(t *testing.T) {
	t.Parallel()
	var s settings
	if _, err := service.Parse(nil, &s, service.Program{Name: "redirector", Out: t.Output()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	s.Partition = 7
	if s.Validate() == nil {
		t.Error("partition 7 of 1 is accepted")
	}
}
