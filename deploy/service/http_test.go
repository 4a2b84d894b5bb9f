package service

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func get(t *testing.T, url string) (int, string, error) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// A request that is being answered when the server is told to stop gets its answer, and its context stays alive.
func TestHTTPFinishesRequestsAtWork(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	h := HTTP{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-release
		if r.Context().Err() == nil {
			io.WriteString(w, "whole")
		}
	})}
	ctx, cancel := context.WithCancel(t.Context())
	l, ended, body := listen(t), make(chan error, 1), make(chan string, 1)
	go func() { ended <- h.Run(ctx, l) }()
	go func() {
		_, b, err := get(t, "http://"+l.Addr().String())
		if err != nil {
			b = err.Error()
		}
		body <- b
	}()
	<-started
	cancel()
	close(release)
	if b := <-body; b != "whole" {
		t.Errorf("body %q", b)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestHTTPSaysWhenRequestsWereCutOff(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	h := HTTP{DrainTimeout: time.Millisecond, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(started)
		<-release
	})}
	ctx, cancel := context.WithCancel(t.Context())
	l, ended, answered := listen(t), make(chan error, 1), make(chan struct{})
	go func() { ended <- h.Run(ctx, l) }()
	go func() { get(t, "http://"+l.Addr().String()); close(answered) }()
	<-started
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "drain http") {
		t.Errorf("run: %v", err)
	}
	close(release)
	<-answered
}

func TestHTTPReportsAListenerThatFails(t *testing.T) {
	l := listen(t)
	l.Close()
	if err := (HTTP{}).Run(t.Context(), l); err == nil {
		t.Error("no error")
	}
}

func TestHTTPLimitsHeaders(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, ended := listen(t), make(chan error, 1)
	go func() { ended <- HTTP{Handler: http.NotFoundHandler(), MaxHeaderBytes: 1024}.Run(ctx, l) }()
	code, _, err := get(t, "http://"+l.Addr().String()+"/"+strings.Repeat("x", 10_000))
	if err != nil || code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("code %d, %v", code, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
