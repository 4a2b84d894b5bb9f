package devstack_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/devstack"
)

// Each server alone, in one directory, as a process manager would run them.
func TestRunServer(t *testing.T) {
	dir := t.TempDir()
	stop(t, start(t, all(dir))) // skips the test when a server is missing
	for _, server := range dataServers {
		t.Run(string(server.name), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ready, ended := make(chan string, 1), make(chan error, 1)
			go func() {
				ended <- devstack.RunServer(ctx, server.name, devstack.Config{Dir: dir}, func(url string) { ready <- url })
			}()
			select {
			case url := <-ready:
				server.write(t, url, "c")
			case err := <-ended:
				t.Fatal(err)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRunServerRefusesNonsense(t *testing.T) {
	err := devstack.RunServer(t.Context(), "kafka", devstack.Config{Dir: t.TempDir()}, nil)
	if err == nil || !strings.Contains(err.Error(), "kafka") {
		t.Errorf("run: %v", err)
	}
}

func TestOneOwnerPerDirectory(t *testing.T) {
	dir := t.TempDir()
	start(t, devstack.Config{Dir: dir, NATS: true})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := devstack.Start(ctx, devstack.Config{Dir: dir, NATS: true})
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("second start: %v", err)
	}
}

func TestFixedPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	for _, c := range []struct {
		port int
		want string
	}{
		{port, fmt.Sprintf("nats port %d: in use", port)},
		{70000, "not a port number"},
	} {
		_, err := devstack.Start(t.Context(), devstack.Config{Dir: t.TempDir(), NATS: true, NATSPort: c.port})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("port %d: %v", c.port, err)
		}
	}
	l.Close()
	s := start(t, devstack.Config{NATS: true, NATSPort: port})
	if !strings.HasSuffix(s.NATSURL(), fmt.Sprint(":", port)) {
		t.Error("not on the port that was given")
	}
}

// A program that forgot RunChild must not start itself for ever.
func TestStartInAnUnhandledChild(t *testing.T) {
	t.Setenv("LINKFOLD_DEVSTACK_CHILD", "{}")
	_, err := devstack.Start(t.Context(), all(t.TempDir()))
	if err == nil || !strings.Contains(err.Error(), "call devstack.RunChild first") {
		t.Errorf("start: %v", err)
	}
}

// A clickhouse binary on PATH is preferred, gets the configuration, and its last words are in the error.
func TestClickHouseBinary(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"called with $*\"\nexit 3\n"
	if err := os.WriteFile(filepath.Join(bin, "clickhouse"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	_, err := devstack.Start(t.Context(), devstack.Config{Dir: t.TempDir(), ClickHouse: true})
	for _, want := range []string{"start clickhouse", "exit status 3", "called with server --config-file ", "config.xml"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
