package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// serve starts a server and returns a target that wants the usual answer of it.
func serve(t *testing.T, h http.HandlerFunc) target {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return target{address: strings.TrimPrefix(s.URL, "http://"), host: domain, paths: []string{"/a", "/b"}, location: destination}
}

func TestClosedLoop(t *testing.T) {
	var a, b atomic.Int64
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != domain {
			t.Errorf("host %q", r.Host)
		}
		switch r.URL.Path {
		case "/a":
			a.Add(1)
		case "/b":
			b.Add(1)
		}
		w.Header().Set("Location", destination)
		w.WriteHeader(http.StatusFound)
		_, _ = w.Write([]byte("a body that must be skipped"))
	})
	if _, err := closedLoop(t.Context(), target, 4, 101); err != nil {
		t.Fatal(err)
	}
	if a.Load() != 51 || b.Load() != 50 {
		t.Errorf("%d and %d requests, want 51 and 50", a.Load(), b.Load())
	}
}

func TestWrongAnswers(t *testing.T) {
	for _, c := range []struct {
		name, location string
		status         int
	}{
		{"status", destination, http.StatusMovedPermanently},
		{"destination", "https://example.org/", http.StatusFound},
		{"no destination", "", http.StatusFound},
		{"not found", "", http.StatusNotFound},
	} {
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.location != "" {
				w.Header().Set("Location", c.location)
			}
			w.WriteHeader(c.status)
		})
		if _, err := closedLoop(t.Context(), target, 1, 1); !errors.Is(err, errAnswer) {
			t.Errorf("%s: %v, want errAnswer", c.name, err)
		}
	}
}

func TestPacedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 20 {
			cancel()
		}
		bareHTTP(w, nil)
	})
	sent, err := paced(ctx, target, 4, 1000)
	if err != nil || sent < 20 || int64(sent) != n.Load() {
		t.Errorf("sent %d, served %d: %v", sent, n.Load(), err)
	}
}
