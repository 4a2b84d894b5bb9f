package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	backgroundRate = 2000                  // hits per second while scans are followed
	background     = 64                    // connections of that load
	scanners       = 2                     // scans followed at the same time
	scanEvery      = 10 * time.Millisecond // between questions: they cost ClickHouse more than the inserts
	arriveWait     = 30 * time.Second
)

// benchLatency measures how long an edit takes to every redirector, and a scan to its row.
func benchLatency(ctx context.Context, b *bench) (tables []*table, err error) {
	w, err := b.newWorld(ctx, "latency", true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	stop, err := w.projector(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if _, err := w.ingest(); err != nil {
		return nil, err
	}
	var all []*redirector
	for _, mode := range []string{"stream", "async"} {
		r, err := w.redirector(ctx, mode, mode)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	b.say("latency: %d edits", b.Edits)
	edits, err := benchEdits(ctx, all, b.Edits)
	if err != nil {
		return nil, err
	}
	scans, err := benchScans(ctx, w, all[0])
	if err != nil {
		return nil, err
	}
	return []*table{edits, scans}, nil
}

// benchEdits changes a link again and again, and after each 200 asks both redirectors for it until they answer with the new destination.
func benchEdits(ctx context.Context, all []*redirector, n int) (*table, error) {
	etag, err := all[0].create(ctx, "edited", destination)
	if err != nil {
		return nil, err
	}
	clients := make([]*client, len(all))
	for i, r := range all {
		if clients[i], err = dial(ctx, r.public); err != nil {
			return nil, err
		}
		defer clients[i].close()
	}
	request := all[0].target(nil).request("/edited")
	took := make([][]float64, len(all)+1) // the last: until all of them
	for i := range n {
		want := fmt.Sprintf("https://example.com/version/%d", i)
		if etag, err = all[0].retarget(ctx, "edited", etag, want); err != nil {
			return nil, err
		}
		var g errgroup.Group
		begun := time.Now()
		for k, c := range clients {
			g.Go(func() error {
				err := follow(c, request, want)
				took[k] = append(took[k], milliseconds(time.Since(begun)))
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		took[len(all)] = append(took[len(all)], max(took[0][i], took[1][i]))
	}
	t := &table{
		Title: fmt.Sprintf("Edit to redirect: from the API's 200 to the new destination, %d edits, milliseconds", n), Columns: []string{"redirector", "p50", "p99"},
		Notes: []string{"asked without a pause; in mode stream an answer waits for its hit to be on disk, and that is in these times"},
	}
	for k, name := range []string{"mode stream, took the edit", "mode async, another process", "both"} {
		t.row(name, percentile(took[k], 50), percentile(took[k], 99))
	}
	return t, nil
}

// follow asks until the answer is the one that is wanted.
func follow(c *client, request []byte, want string) error {
	for deadline := time.Now().Add(arriveWait); time.Now().Before(deadline); {
		status, location, err := c.get(request)
		if err != nil {
			return err
		}
		if status != 302 {
			return fmt.Errorf("status %d, want 302: %w", status, errAnswer)
		}
		if string(location) == want {
			return nil
		}
	}
	return fmt.Errorf("an edit is not live after %v: %w", arriveWait, errAnswer)
}

// scans is what the scanners share.
type scans struct {
	*world
	r    *redirector
	mu   sync.Mutex
	took []float64
}

// benchScans follows single requests to their rows while other load goes on.
func benchScans(ctx context.Context, w *world, r *redirector) (_ *table, err error) {
	paths, err := r.createLinks(ctx, links)
	if err != nil {
		return nil, err
	}
	if _, err := r.create(ctx, "scanned", destination); err != nil {
		return nil, err
	}
	lctx, stop := context.WithCancel(ctx)
	loaded := make(chan error, 1)
	begun, sent := time.Now(), 0
	go func() {
		var err error
		sent, err = paced(lctx, r.target(paths), background, backgroundRate)
		loaded <- err
	}()
	w.b.say("latency: %d scans at %d hits/s", w.b.Scans, backgroundRate)
	s := &scans{world: w, r: r}
	err = s.run(ctx, w.b.Scans)
	stop()
	if err := errors.Join(err, <-loaded); err != nil {
		return nil, err
	}
	t := &table{
		Title:   fmt.Sprintf("Scan to row: from the 302 to the row in hits, %d scans, milliseconds", len(s.took)),
		Columns: []string{"what", "p50", "p99"},
		Notes:   []string{fmt.Sprintf("beside a load of %s hits/s; ingest waits up to 100 ms for a batch to grow", show(rate(sent, time.Since(begun))))},
	}
	t.row("scan to row", percentile(s.took, 50), percentile(s.took, 99))
	return t, nil
}

func (s *scans) run(ctx context.Context, n int) error {
	g, gctx := errgroup.WithContext(ctx)
	for k := range scanners {
		g.Go(func() error {
			c, err := dial(gctx, s.r.public)
			if err != nil {
				return err
			}
			defer c.close()
			for i := k; i < n; i += scanners {
				if err := s.scan(gctx, c, fmt.Sprintf("scan=%d", i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// scan sends a request whose query no other has, and asks ClickHouse for it until it is there.
func (s *scans) scan(ctx context.Context, c *client, query string) error {
	if err := c.redirect(s.r.target(nil).request("/scanned?"+query), destination+"?"+query); err != nil {
		return err
	}
	begun := time.Now()
	err := poll(ctx, arriveWait, scanEvery, func(ctx context.Context) (bool, error) {
		n, err := s.count(ctx, "SELECT count() FROM hits WHERE domain = ? AND key = 'scanned' AND query = ?", domain, query)
		return n > 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for row: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, milliseconds(time.Since(begun)))
	return nil
}
