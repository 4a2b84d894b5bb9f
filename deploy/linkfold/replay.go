package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"

	"linkfold/deploy/linkfold/internal/allinone"
	"linkfold/deploy/linkfold/internal/sample"
)

// replay sends recorded clicks to a running Linkfold as the HTTP requests they were.
type replay struct {
	public, admin, token string
	agents               int
	screen               io.Writer
	client               *http.Client
}

func newReplay(r allinone.Running, agents int, screen io.Writer) (*replay, error) {
	token, err := os.ReadFile(r.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return &replay{
		public: "http://" + reachable(r.Public), admin: "http://" + r.Admin, token: strings.TrimSpace(string(token)), agents: agents, screen: screen,
		client: &http.Client{
			Timeout:       30 * time.Second,
			Transport:     &http.Transport{MaxIdleConnsPerHost: agents, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// createLinks creates one link per key of the clicks. Their queries are locked: what the replay adds for itself does not reach destinations.
func (r *replay) createLinks(ctx context.Context, clicks []sample.Click) error {
	links := map[string]string{}
	for _, c := range clicks {
		links[c.Key] = c.URL
	}
	return each(ctx, r, "creating links  ", maps.All(links), len(links), func(ctx context.Context, key, url string) error {
		body, err := json.Marshal(map[string]any{"domain": sample.Domain, "key": key, "destination": url, "lock_query": true})
		if err != nil {
			return fmt.Errorf("encode link: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.admin+"/v1/links", bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("make request: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+r.token)
		req.Header.Set("Content-Type", "application/json")
		return r.do(req, http.StatusCreated)
	})
}

// sendClicks sends one request per click, with its agent, referrer and languages; the time of the click goes along as the parameter t.
func (r *replay) sendClicks(ctx context.Context, clicks []sample.Click) error {
	return each(ctx, r, "replaying clicks", slices.All(clicks), len(clicks), func(ctx context.Context, _ int, c sample.Click) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%s?t=%d", r.public, c.Key, c.Time), nil)
		if err != nil {
			return fmt.Errorf("make request: %w", err)
		}
		req.Host = sample.Domain
		req.Header.Set("User-Agent", c.Agent)
		setIf(req.Header, "Referer", c.Referrer)
		setIf(req.Header, "Accept-Language", c.Languages)
		return r.do(req, http.StatusFound)
	})
}

func setIf(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// do sends a request and wants one status.
func (r *replay) do(req *http.Request, status int) error {
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode != status {
		return fmt.Errorf("%s %s: status %d, want %d: %s", req.Method, req.URL.Path, resp.StatusCode, status, body)
	}
	return nil
}

// each calls do for every pair, r.agents at a time, and shows how far it is. The first error ends it.
func each[K, V any](ctx context.Context, r *replay, what string, seq iter.Seq2[K, V], n int, do func(context.Context, K, V) error) error {
	bar := progressbar.NewOptions(n, progressbar.OptionSetWriter(r.screen), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(r.screen) }))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.agents)
	seq(func(k K, v V) bool {
		g.Go(func() error {
			if gctx.Err() != nil {
				return nil
			}
			if err := do(gctx, k, v); err != nil {
				return err
			}
			return bar.Add(1)
		})
		return gctx.Err() == nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
