package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// Answer is what a request gets under one configuration.
type Answer struct {
	Outcome  string `json:"outcome"`
	Status   int    `json:"status"`
	Location string `json:"location,omitempty"`
	Domain   string `json:"domain,omitempty"`
	Website  string `json:"website,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Key      string `json:"key,omitempty"`
}

// differs reports that a visitor would notice, or that another link would be counted.
func (a Answer) differs(b Answer) bool {
	return a.Status != b.Status || a.Location != b.Location || a.Domain != b.Domain && a.Outcome == "redirected" || a.Key != b.Key && a.Outcome == "redirected"
}

// Preview makes d ready to be tried.
type Preview func(d *linkfoldv1.Domain) (Try, error)

// Try answers a past request as the current configuration does and as another one would, with the links as they are now. mine is false for
// requests that are none of its domain's.
type Try func(ctx context.Context, hit *linkfoldv1.Hit) (before, after Answer, mine bool, err error)

// Difference is a request that would be answered differently.
type Difference struct {
	Request string `json:"request"`
	Hits    int    `json:"hits" doc:"How many of the hits looked at were this request."`
	Before  Answer `json:"before"`
	After   Answer `json:"after"`
}

// DryRun says what a configuration would change.
type DryRun struct {
	Hits        int          `json:"hits" doc:"Hits on this domain that were looked at, the newest ones."`
	Requests    int          `json:"requests" doc:"Different requests among them."`
	ChangedHits int          `json:"changed_hits"`
	Changed     int          `json:"changed" doc:"Different requests that would be answered differently."`
	Differences []Difference `json:"differences" doc:"The most frequent first, at most 100."`
	Partial     bool         `json:"partial,omitempty" doc:"Time was over before all hits were looked at."`
	Warnings    []string     `json:"warnings,omitempty"`
}

type tryInput struct {
	Domain string `path:"domain" doc:"Host name, without port."`
	Hits   int    `query:"hits" minimum:"1" maximum:"10000" default:"1000" doc:"How many of the domain's last hits to look at."`
	Body   Configuration
}

type tryOutput struct{ Body DryRun }

// Bounds of a dry run.
const (
	listed = 100              // differences in the answer
	tries  = 15 * time.Second // within the time in which the API answers
	// Hits of all domains that are read, newest first: twenty times those that are wanted, within these.
	searchedAtLeast, searchedAtMost = 10_000, 50_000
)

// tryDomain changes nothing.
func (a *api) tryDomain(ctx context.Context, in *tryInput) (*tryOutput, error) {
	d, warnings, err := in.Body.compile(in.Domain)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	if a.cfg.Preview == nil {
		return nil, a.problem(ctx, link.Invalid("this API has no redirector to try with"))
	}
	if !a.trying.TryLock() {
		return nil, model(http.StatusServiceUnavailable, "another dry run is going on: try again in some seconds")
	}
	defer a.trying.Unlock()
	out := &tryOutput{Body: DryRun{Differences: []Difference{}, Warnings: warnings}}
	if err := a.try(ctx, d, in.Hits, &out.Body); err != nil {
		return nil, a.problem(ctx, err)
	}
	return out, nil
}

// try counts requests from the newest hit backwards and answers each different one once.
func (a *api) try(ctx context.Context, d *linkfoldv1.Domain, want int, out *DryRun) error {
	answer, err := a.cfg.Preview(d)
	if err != nil {
		return err
	}
	hits, err := a.lastHits(ctx, d.GetName(), min(max(20*want, searchedAtLeast), searchedAtMost))
	if err != nil {
		return err
	}
	type tried struct {
		mine bool
		diff *Difference // nil: answered equally
	}
	seen := map[string]tried{}
	for begun, i := time.Now(), len(hits)-1; i >= 0 && out.Hits < want; i-- {
		request := requestOf(hits[i])
		t, known := seen[request]
		if !known {
			if out.Partial = time.Since(begun) > tries; out.Partial {
				break
			}
			before, after, mine, err := answer(ctx, hits[i])
			if err != nil {
				return err
			}
			if t.mine = mine; mine {
				out.Requests++
			}
			if mine && before.differs(after) {
				t.diff = &Difference{Request: request, Before: before, After: after}
			}
			seen[request] = t
		}
		if t.mine {
			out.Hits++
		}
		if t.diff != nil {
			t.diff.Hits++
			out.ChangedHits++
		}
	}
	for _, t := range seen {
		if t.diff != nil {
			out.Differences = append(out.Differences, *t.diff)
		}
	}
	out.sort()
	return nil
}

func (r *DryRun) sort() {
	r.Changed = len(r.Differences)
	slices.SortFunc(r.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Request, b.Request))
	})
	r.Differences = r.Differences[:min(len(r.Differences), listed)]
}

// requestOf is what a hit asked for, as a URL.
func requestOf(h *linkfoldv1.Hit) string {
	request := cmp.Or(h.GetScheme(), "http") + "://" + h.GetHost() + h.GetPath()
	if h.GetQuery() != "" {
		request += "?" + h.GetQuery()
	}
	if h.GetMethod() != "GET" {
		request = h.GetMethod() + " " + request
	}
	return request
}

// lastHits are those of about the last n hits of all partitions that a domain may have to do with, oldest first: what they asked for, and no
// more of them, since visitors decide how large they are.
func (a *api) lastHits(ctx context.Context, domain string, n int) ([]*linkfoldv1.Hit, error) {
	var all []*linkfoldv1.Hit
	for p := range a.cfg.Partitions {
		hits, err := a.writer.lastHits(ctx, p, n/a.cfg.Partitions, func(h *linkfoldv1.Hit) bool {
			host, _, _ := strings.Cut(strings.ToLower(h.GetHost()), ":")
			return domain == a.cfg.DefaultDomain || strings.HasSuffix("."+strings.TrimSuffix(host, "."), "."+domain)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, hits...)
	}
	if a.cfg.Partitions > 1 {
		slices.SortStableFunc(all, func(a, b *linkfoldv1.Hit) int { return cmp.Compare(a.GetTimeUs(), b.GetTimeUs()) })
	}
	return all, nil
}

// lastHits are the last n hits of a partition, oldest first. What cannot be decoded is left out: ingest reports it.
func (w *Writer) lastHits(ctx context.Context, partition, n int, want func(*linkfoldv1.Hit) bool) ([]*linkfoldv1.Hit, error) {
	s, err := w.js.Stream(ctx, stream.HitsName(partition))
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", stream.HitsName(partition), err)
	}
	state := s.CachedInfo().State
	if state.Msgs == 0 {
		return nil, nil
	}
	first := state.FirstSeq
	if state.LastSeq >= first+uint64(n) {
		first = state.LastSeq - uint64(n) + 1
	}
	var hits []*linkfoldv1.Hit
	cfg := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first}
	err = scan(ctx, s, cfg, func(m message) (bool, error) {
		if h, err := event.DecodeHit(m.Data()); err == nil && want(h) {
			hits = append(hits, &linkfoldv1.Hit{
				TimeUs: h.GetTimeUs(), Method: h.GetMethod(), Scheme: h.GetScheme(), Host: h.GetHost(), Path: h.GetPath(), Query: h.GetQuery(),
			})
		}
		return m.seq < state.LastSeq, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read hits: %w", err)
	}
	return hits, nil
}
