package redirector

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"linkfold/deploy/devstack"
	"linkfold/redirector/admin"
	"linkfold/redirector/links"
	"linkfold/redirector/website"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// benchDomain has four rules; its last is the usual one.
const benchRules = `hosted { required site = "[-a-z0-9]+\.snap\."; };
staff { required who = "staff\."; };
shop { required shop = "shop[0-9]+\."; };
main { optional www = website("w{1,4}\.", "www"); optional language = flag("(en|fr|de)\.", "en"); };`

// benchHandler answers from a warm near cache over a real stream.
func benchHandler(b *testing.B) *handler {
	b.Helper()
	stack := devstack.ForTest(b, devstack.NATS, devstack.Redis)
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	nc, err := nats.Connect(stack.NATSURL())
	check(err)
	b.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	check(err)
	check(stream.Ensure(b.Context(), js, stream.Config{Partitions: 1, HitsMaxAge: time.Hour, Replicas: 1}))
	opts, err := redis.ParseURL(stack.RedisURL())
	check(err)
	rdb := redis.NewClient(opts)
	b.Cleanup(func() { _ = rdb.Close() })
	log := slog.New(slog.DiscardHandler)
	// Nothing expires while it is measured.
	store, err := links.New(links.Config{CacheEntries: 10000, FreshFor: time.Hour, MissFor: time.Hour, RedisWait: time.Second, StreamWait: time.Second}, js, rdb, prometheus.NewRegistry(), log)
	check(err)
	w := admin.NewWriter(js)
	put := func(ev *linkfoldv1.Event) {
		ev.CommandId = fmt.Sprint(time.Now().UnixNano())
		_, err := w.Write(b.Context(), ev, 0)
		check(err)
	}
	ruled := &linkfoldv1.Domain{Name: "example.net", Rules: &linkfoldv1.RuleScript{Source: benchRules}}
	_, err = website.Compile(ruled)
	check(err)
	for _, d := range []*linkfoldv1.Domain{{Name: "go"}, ruled} {
		put(&linkfoldv1.Event{Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, State: &linkfoldv1.Event_Domain{Domain: d}})
	}
	link := func(domain, key, destination string) {
		put(&linkfoldv1.Event{Type: linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED, State: &linkfoldv1.Event_Link{
			Link: &linkfoldv1.Link{Domain: domain, Key: key, Destination: destination}}})
	}
	link("go", "abcde", "https://example.com/page?a=1")
	link("go", "p", "https://example.com/")
	link("www.example.net", "abcde", "https://example.com/page")
	for i := range 10 {
		link("go", fmt.Sprintf("hop%d", i), fmt.Sprintf("/hop%d", i+1))
	}
	link("go", "hop10", "https://example.com/")
	return &handler{links: store, log: log}
}

// BenchmarkDecide is what all steps of a request cost besides HTTP and recording the hit, with everything in the near cache.
func BenchmarkDecide(b *testing.B) {
	h := benchHandler(b)
	for _, c := range []struct {
		name, host, path, query string
		outcome                 linkfoldv1.Outcome
	}{
		{"one hop", "go", "/abcde", "", linkfoldv1.Outcome_OUTCOME_REDIRECTED},
		{"one hop and query", "go", "/abcde", "utm_source=poster", linkfoldv1.Outcome_OUTCOME_REDIRECTED},
		{"eight prefixes", "go", "/p/b/c/d/e/f/g/h", "", linkfoldv1.Outcome_OUTCOME_REDIRECTED},
		{"ten internal redirects", "go", "/hop0", "", linkfoldv1.Outcome_OUTCOME_REDIRECTED},
		{"unknown key", "go", "/" + strings.Repeat("x", 5), "", linkfoldv1.Outcome_OUTCOME_NOT_FOUND},
		{"four rules", "fr.example.net", "/abcde", "", linkfoldv1.Outcome_OUTCOME_REDIRECTED},
		{"four rules, unknown website", "nobody.example.net", "/abcde", "", linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE},
	} {
		r := request{method: "GET", scheme: "http", host: c.host, path: c.path, query: c.query}
		if d := h.decide(context.Background(), &r); d.outcome != c.outcome {
			b.Fatalf("%s: %v", c.name, d.outcome)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.decide(context.Background(), &r)
			}
		})
	}
}
