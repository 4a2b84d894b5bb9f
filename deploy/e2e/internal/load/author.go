package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// Author makes links and changes them. Its methods are for one goroutine.
type Author struct {
	Domain string
	Admins []string // admin listeners, host:port; the next one is asked when one does not answer
	Token  string

	// Promised is the destination of each link after the last change that was acknowledged.
	Promised map[string]string
	// Edits counts acknowledged changes, Repeats the requests that had to be sent again for them.
	Edits, Repeats int

	etags map[string]string
	next  int
}

// editWait bounds one request.
const editWait = 6 * time.Second

var client = &http.Client{Timeout: editWait}

// Create makes a link for each key.
func (a *Author) Create(ctx context.Context, keys []string) error {
	a.Promised, a.etags = map[string]string{}, map[string]string{}
	for _, key := range keys {
		to := destination(key, 0)
		if err := a.settle(ctx, key, to, http.MethodPost, "/v1/links", map[string]string{"domain": a.Domain, "key": key, "destination": to}); err != nil {
			return err
		}
	}
	return nil
}

// destination number n of a link.
func destination(key string, n int) string { return fmt.Sprintf("https://example.com/%s/%d", key, n) }

// Run changes links drawn at random, one per pause, until ctx ends. A change that is under way then is settled, as long as anybody
// answers before the deadline of final.
func (a *Author) Run(ctx, final context.Context, keys []string, pause time.Duration) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := a.Edit(final, keys[rand.IntN(len(keys))], n); err != nil {
			return err
		}
	}
}

// Edit gives a link its destination number n.
func (a *Author) Edit(ctx context.Context, key string, n int) error {
	to := destination(key, n)
	if err := a.settle(ctx, key, to, http.MethodPut, "/v1/links/"+a.Domain+"/"+key, map[string]string{"destination": to}); err != nil {
		return err
	}
	a.Edits++
	return nil
}

// settle sends a change until it is acknowledged. It is always the same command with the same key, so sending it again is safe whatever
// became of it; and a refusal is an error, since nobody else changes these links.
func (a *Author) settle(ctx context.Context, key, to, method, path string, body any) error {
	command := fmt.Sprintf("e2e-%d", rand.Uint64())
	for {
		etag, err := a.send(ctx, method, path, command, a.etags[key], body)
		if err == nil {
			a.Promised[key], a.etags[key] = to, etag
			return nil
		}
		if errors.Is(err, errRefused) || ctx.Err() != nil {
			return fmt.Errorf("change link %s: %w", key, err)
		}
		a.Repeats++
		a.next++
		time.Sleep(50 * time.Millisecond)
	}
}

// errRefused is an answer that repeating does not change.
var errRefused = errors.New("refused")

func (a *Author) send(ctx context.Context, method, path, command, etag string, body any) (newTag string, err error) {
	b, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("encode change: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.Admins[a.next%len(a.Admins)]+path, bytes.NewReader(b))
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", command)
	if etag != "" {
		req.Header.Set("If-Match", etag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("send change: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return "", fmt.Errorf("read answer: %w", err)
	case resp.StatusCode >= 500:
		return "", fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	case resp.StatusCode >= 300:
		return "", fmt.Errorf("status %d: %s: %w", resp.StatusCode, answer, errRefused)
	}
	return resp.Header.Get("ETag"), nil
}

// Ruleset asks one admin listener how many links a domain has, deleted ones included, and for their checksum.
func (a *Author) Ruleset(ctx context.Context, admin, domain string) (links int, checksum string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/v1/domains/"+domain+"/ruleset", nil)
	if err != nil {
		return 0, "", fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("ask for ruleset: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		Links, Deleted int
		Checksum       string
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, "", fmt.Errorf("read ruleset, status %d: %w", resp.StatusCode, err)
	}
	return answer.Links + answer.Deleted, answer.Checksum, nil
}

// Follow asks one public listener for a key and returns the destination that it answers with; the request carries no id.
func Follow(address, host, key string) (string, error) {
	v := &visitor{address: address, host: host}
	defer v.close()
	status, location, err := v.visit("/" + key)
	if err != nil {
		return "", err
	}
	if status != http.StatusFound {
		return "", fmt.Errorf("follow %s: status %d", key, status)
	}
	return location, nil
}
