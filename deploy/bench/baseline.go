package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/valyala/fasthttp"

	"linkfold/deploy/devstack"
)

// childVariable makes a copy of this program a bare server: its value is kind@address.
const childVariable = "LINKFOLD_BENCH_CHILD"

// runChild serves if this process was started as a bare server, and reports whether it was.
func runChild() (bool, error) {
	kind, address, ok := strings.Cut(os.Getenv(childVariable), "@")
	switch {
	case !ok:
		return false, nil
	case kind == "nethttp":
		return true, (&http.Server{Addr: address, Handler: http.HandlerFunc(bareHTTP)}).ListenAndServe()
	case kind == "fasthttp":
		return true, (&fasthttp.Server{Handler: bareFast, NoDefaultServerHeader: true}).ListenAndServe(address)
	}
	return true, fmt.Errorf("no bare server is called %q", kind)
}

// bareHTTP answers what a redirector does, and does nothing else.
func bareHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h["Location"] = []string{destination}
	h["Cache-Control"] = []string{"no-store"}
	w.WriteHeader(http.StatusFound)
}

func bareFast(c *fasthttp.RequestCtx) {
	c.Response.SetStatusCode(http.StatusFound)
	c.Response.Header.Set("Location", destination)
	c.Response.Header.Set("Cache-Control", "no-store")
}

// bare starts a bare server; the world's end kills it.
func (w *world) bare(ctx context.Context, kind string) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("find own program: %w", err)
	}
	address, err := devstack.FreeAddress()
	if err != nil {
		return nil, "", err
	}
	p, err := start(command{
		name: kind, path: self, env: []string{childVariable + "=" + kind + "@" + address}, log: filepath.Join(w.dir, "logs", kind+".log"),
	})
	if err != nil {
		return nil, "", err
	}
	w.onClose(p.kill)
	return p, address, p.listening(ctx, address)
}
