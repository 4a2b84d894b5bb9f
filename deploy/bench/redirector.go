package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"linkfold/deploy/devstack"
)

const (
	domain      = "bench.example"
	destination = "https://example.com/"
)

// redirector is a running linkfold redirector with its API.
type redirector struct {
	*process
	public, admin, debug string
	token                string
	http                 *http.Client
}

// redirector starts one in a durability mode, with a spill directory and an access log; the world's end stops it.
func (w *world) redirector(ctx context.Context, name, mode string) (*redirector, error) {
	r := &redirector{http: &http.Client{Timeout: 10 * time.Second}}
	for _, a := range []*string{&r.public, &r.admin, &r.debug} {
		var err error
		if *a, err = devstack.FreeAddress(); err != nil {
			return nil, err
		}
	}
	file := func(suffix string) string { return filepath.Join(w.dir, name+suffix) }
	var err error
	r.process, err = w.linkfold(name, "redirector", "LINKFOLD_LISTEN="+r.public, "LINKFOLD_ADMIN="+r.admin, "LINKFOLD_DEBUG_LISTEN="+r.debug,
		"LINKFOLD_DEFAULT_DOMAIN="+domain, "LINKFOLD_ACCESS_LOG="+file(".access.log"), "LINKFOLD_TOKEN_FILE="+file(".token"),
		"LINKFOLD_HITS_MODE="+mode, "LINKFOLD_HITS_SPILL_DIR="+file(".spill"))
	if err != nil {
		return nil, err
	}
	w.onClose(r.stop)
	if err := r.listening(ctx, r.admin); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file(".token"))
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	r.token = strings.TrimSpace(string(b))
	return r, nil
}

// target is where links are asked for.
func (r *redirector) target(paths []string) target {
	return target{address: r.public, host: domain, paths: paths, location: destination}
}

// call sends a request to the API, wants one status, and returns the link's new revision.
func (r *redirector) call(ctx context.Context, method, path, ifMatch string, body any, want int) (etag string, err error) {
	b, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.admin+path, bytes.NewReader(b))
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	if ifMatch != "" {
		req.Header.Set("If-Match", ifMatch)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("call api: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // to the end: the connection is used again
	if err != nil {
		return "", fmt.Errorf("call api: %w", err)
	}
	if resp.StatusCode != want {
		return "", fmt.Errorf("%s %s: status %d, want %d: %s: %w", method, path, resp.StatusCode, want, answer, errAnswer)
	}
	return resp.Header.Get("ETag"), nil
}

// create makes a link.
func (r *redirector) create(ctx context.Context, key, destination string) (etag string, err error) {
	return r.call(ctx, "POST", "/v1/links", "", map[string]string{"domain": domain, "key": key, "destination": destination}, http.StatusCreated)
}

// retarget gives a link another destination.
func (r *redirector) retarget(ctx context.Context, key, etag, destination string) (newTag string, err error) {
	return r.call(ctx, "PUT", "/v1/links/"+domain+"/"+key, etag, map[string]string{"destination": destination}, http.StatusOK)
}

// inspect reads a page of the debug listener.
func (r *redirector) inspect(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.debug+path, nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	resp, err := http.DefaultClient.Do(req) // without a timeout: profiles take theirs
	if err != nil {
		return nil, fmt.Errorf("ask debug listener: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask debug listener: %s", resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// metrics are the numbers of /metrics that have no labels.
func (r *redirector) metrics(ctx context.Context) (map[string]float64, error) {
	b, err := r.inspect(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	m := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if v, err := strconv.ParseFloat(number, 64); err == nil {
			m[name] = v
		}
	}
	return m, nil
}

// settled waits until no hit is in memory or in the spill directory any more. It asks seldom: an answer costs the process some CPU time.
func (r *redirector) settled(ctx context.Context) error {
	err := poll(ctx, 2*time.Minute, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		m, err := r.metrics(ctx)
		return m["linkfold_redirector_buffered_hits"]+m["linkfold_redirector_spilled_hits"] == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for hits to be acknowledged: %w", err)
	}
	return nil
}

// createLinks makes n links to the destination and returns their paths.
func (r *redirector) createLinks(ctx context.Context, n int) ([]string, error) {
	paths := make([]string, n)
	for i := range paths {
		key := fmt.Sprintf("k%04d", i)
		if _, err := r.create(ctx, key, destination); err != nil {
			return nil, err
		}
		paths[i] = "/" + key
	}
	return paths, nil
}
