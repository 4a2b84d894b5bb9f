package fleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// AwaitReady waits until the redirector accepts visitors and says that it is ready.
func (f *Front) AwaitReady(ctx context.Context) error {
	// First: readiness says yes to everything before the service has added what it waits for.
	if err := f.AwaitAlive(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	return f.poll(ctx, func() error {
		_, err := get(ctx, "http://"+f.Debug+"/readyz")
		return err
	})
}

// AwaitAlive waits until the redirector answers on its debug listener and accepts visitors, ready or not.
func (f *Front) AwaitAlive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	return f.poll(ctx, func() error {
		// Any answer will do, be it that the method is not known; a hit like any other, but nobody's.
		req, err := http.NewRequestWithContext(ctx, "OPTIONS", "http://"+f.Public+"/", nil)
		if err != nil {
			return fmt.Errorf("make request: %w", err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return fmt.Errorf("ask redirector: %w", err)
		}
		return resp.Body.Close()
	})
}

func (f *Front) poll(ctx context.Context, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !f.Running() {
			return fmt.Errorf("wait for %s: %w\n%s", f.Name, err, f.Tail(10))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Pending is how many hits the redirector says that it keeps: in memory, in its spill directory, and there from earlier lives.
func (f *Front) Pending(ctx context.Context) (int, error) {
	n := 0
	for _, name := range []string{"buffered", "spilled", "inherited"} {
		v, err := f.Metric(ctx, "linkfold_redirector_"+name+"_hits")
		if err != nil {
			return 0, err
		}
		n += int(v)
	}
	return n, nil
}

// Metric reads one metric without labels.
func (f *Front) Metric(ctx context.Context, name string) (float64, error) {
	text, err := get(ctx, "http://"+f.Debug+"/metrics")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(v, 64)
		}
	}
	return 0, fmt.Errorf("%s has no metric %s", f.Name, name)
}

// get is the body of a page that answers 200.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("get %s: status %d: %s", url, resp.StatusCode, body)
	}
	return string(body), nil
}
