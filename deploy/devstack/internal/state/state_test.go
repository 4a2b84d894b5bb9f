package state

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPortIsKeptWhileFree(t *testing.T) {
	dir := t.TempDir()
	port := func(name string, fixed int) int {
		t.Helper()
		p, err := Port(t.Context(), dir, name, fixed)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := port("a", 0)
	if again := port("a", 0); again != first {
		t.Errorf("got %d, then %d", first, again)
	}
	if other := port("b", 0); other == first {
		t.Error("two names got the same port")
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first)))
	if err != nil {
		t.Fatal(err)
	}
	if moved := port("a", 0); moved == first {
		t.Error("got a port that is in use")
	}
	l.Close()
	if fixed := port("a", 12345); fixed != 12345 {
		t.Errorf("got %d instead of the fixed port", fixed)
	}
}

// Secrets are made once, also when many ask at once, differ by name, and are for the owner's eyes.
func TestSecretIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = Secret(context.Background(), dir, "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range got {
		if s != got[0] || len(s) < 26 {
			t.Errorf("secrets %v", got)
		}
	}
	if other, err := Secret(t.Context(), dir, "b"); err != nil || other == got[0] {
		t.Errorf("the other secret is %q, %v", other, err)
	}
	info, err := os.Stat(filepath.Join(dir, "secrets.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestBrokenStateIsReported(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ports.json"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Port(t.Context(), dir, "a", 0); err == nil || !strings.Contains(err.Error(), "ports.json") {
		t.Errorf("port: %v", err)
	}
}

func TestLockExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		f, err := Lock(context.Background(), path)
		if err == nil {
			f.Close()
		}
		got <- err
	}()
	first.Close()
	if err := <-got; err != nil {
		t.Errorf("the lock was not given on: %v", err)
	}
}
