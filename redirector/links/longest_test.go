package links

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"linkfold/deploy/devstack"
	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// longest looks a path up on the domain go.
func (e *env) longest(path string) Found {
	e.t.Helper()
	f, err := e.store.Longest(e.t.Context(), "go", path)
	must(e.t, err)
	return f
}

// wantKey looks path up and checks the key that answers and the source that was asked.
func (e *env) wantKey(path, key string, source prometheus.Counter) {
	e.t.Helper()
	before := testutil.ToFloat64(source)
	if f := e.longest(path); f.Key != key || (key != "") != f.Entry.Live() || key != "" && f.Entry.Link.GetKey() != key {
		e.t.Errorf("Longest(%s) = %q %v, want %q", path, f.Key, f.Entry.Link, key)
	}
	if testutil.ToFloat64(source) != before+1 {
		e.t.Errorf("Longest(%s) asked another source than expected", path)
	}
}

func TestLongestPrefix(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, k := range []string{"docs", "docs/api", "docs/api/v1/", "gh", "a/b/c"} {
		e.write(k, "https://example.com/")
	}
	e.open(config())
	m := e.store.metrics
	e.wantKey("/docs/api/v1/users", "docs/api", m.streamHits)
	e.wantKey("/docs/api/v1/users", "docs/api", m.cacheHits)
	e.wantKey("/docs/api/v1/", "docs/api/v1/", m.streamHits)
	e.wantKey("/docs/apix", "docs", m.streamHits)
	e.wantKey("/docs", "docs", m.cacheHits)
	e.wantKey("/docsx", "", m.streamHits)
	e.wantKey("/a/b", "", m.streamHits)
	e.wantKey("/a/b/c/", "a/b/c", m.streamHits)
	e.wantKey("//gh", "", m.streamHits)
	e.wantKey("/", "", m.cacheHits) // Nothing to ask for.
	e.wantKey("/"+strings.Repeat("x", link.MaxKey+1), "", m.cacheHits)
	e.wantKey("/gh"+strings.Repeat("/", 1000), "gh", m.streamHits)
}

// All candidates of a path are one round trip to Redis.
func TestLongestAsksRedisOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	last := e.write("a", "https://stream.example/")
	e.project(1, "a", "https://redis.example/", 0, 1, last)
	e.open(config())
	before, err := e.rdb.Info(t.Context(), "commandstats").Result()
	must(t, err)
	e.wantKey("/a/b/c/d/e/f/g/h", "a", e.store.metrics.redisHits)
	after, err := e.rdb.Info(t.Context(), "commandstats").Result()
	must(t, err)
	if calls(after, "mget")-calls(before, "mget") != 1 || calls(after, "get")-calls(before, "get") > 1 { // One GET for the generation.
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	e.wantKey("/a/b/c/x", "a", e.store.metrics.redisHits)
	e.wantKey("/a/b/c/x", "a", e.store.metrics.cacheHits)
}

// calls is how often a command was called, by INFO commandstats.
func calls(info, command string) int {
	n := 0
	_, rest, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// A link that is switched off or deleted is as good as unknown: shorter ones answer. It is told for the record.
func TestLongestPassesOverInactiveLinks(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.write("a", "https://a.example/")
	write := func(key string, change func(*linkfoldv1.Link)) {
		t.Helper()
		ev := linkEvent(key, "https://x.example/")
		change(ev.GetLink())
		m, err := event.Message(ev)
		must(t, err)
		_, err = e.js.PublishMsg(t.Context(), m)
		must(t, err)
	}
	write("a/off", func(l *linkfoldv1.Link) { l.Inactive = true })
	write("a/gone", func(l *linkfoldv1.Link) { l.Deleted = true })
	write("off", func(l *linkfoldv1.Link) { l.Inactive = true })
	e.open(config())
	for range 2 { // From the stream, then from memory.
		for path, want := range map[string][2]string{
			"/a/off": {"a", "a/off"}, "/a/gone": {"a", ""}, "/off": {"", "off"}, "/off/x": {"", "off"}, "/none": {"", ""},
		} {
			if f := e.longest(path); f.Key != want[0] || f.Inactive != want[1] || (f.Inactive != "") != (f.InactiveEntry.Revision > 0) {
				t.Errorf("Longest(%s) = %q, inactive %q; want %q", path, f.Key, f.Inactive, want)
			}
		}
	}
	rev := e.write("a/off", "https://on.example/")
	eventually(t, "switched on", func() bool { f := e.longest("/a/off/x"); return f.Key == "a/off" && f.Entry.Revision == rev })
}

// With nothing to ask, what is known answers; only a path of which nothing is known is unavailable.
func TestLongestDuringOutages(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.write("hot", "https://hot.example/")
	e.open(config())
	e.longest("/hot/a")
	e.longest("/none")
	must(t, e.stack.StopServer(context.Background(), devstack.NATS))
	must(t, e.stack.KillServer(devstack.Redis))
	eventually(t, "disconnected", func() bool { return !e.js.Conn().IsConnected() })
	e.wantKey("/hot/a", "hot", e.store.metrics.cacheHits)
	e.wantKey("/none", "", e.store.metrics.cacheHits)
	e.store.cache.expire()
	e.wantKey("/hot/a", "hot", e.store.metrics.stale)
	for _, path := range []string{"/cold", "/none", "/hot/new"} { // hot/new may be a link of its own.
		if f, err := e.store.Longest(t.Context(), "go", path); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Longest(%s) = %v, %v; want ErrUnavailable", path, f, err)
		}
	}
}

// Lookups of one path that find different things in the cache share no load: an edit in between changes what is left to ask for.
func TestConcurrentLookupsOfOnePathDuringEdits(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.write("a", "https://a.example/")
	cfg := config()
	cfg.FreshFor, cfg.MissFor = 2*time.Millisecond, 2*time.Millisecond
	e.open(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var visitors sync.WaitGroup
	for range 8 {
		visitors.Go(func() {
			for ctx.Err() == nil {
				f, err := e.store.Longest(t.Context(), "go", "/a/b")
				if err != nil || f.Key == "" || f.Entry.Link.GetKey() != f.Key {
					t.Errorf("Longest(/a/b) = %q, %v, %v", f.Key, f.Entry.Link, err)
					return
				}
			}
		})
	}
	for i := range 200 {
		ev := linkEvent("a/b", "https://ab.example/")
		ev.GetLink().Inactive = i%2 == 0
		m, err := event.Message(ev)
		must(t, err)
		_, err = e.js.PublishMsg(t.Context(), m)
		must(t, err)
	}
	cancel()
	visitors.Wait()
}

// A domain's rules are compiled once per change, however often they expire.
func TestRulesAreCompiledOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	d := &linkfoldv1.Domain{Name: "example.net", Rules: &linkfoldv1.RuleScript{Source: `main { optional www = website("www\\.", "www"); };`}}
	m, err := event.Message(&linkfoldv1.Event{Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, TimeUs: 1, State: &linkfoldv1.Event_Domain{Domain: d}})
	must(t, err)
	_, err = e.js.PublishMsg(t.Context(), m)
	must(t, err)
	e.open(config())
	first, err := e.store.Get(t.Context(), stream.DomainAggregate("example.net"))
	must(t, err)
	e.store.cache.expire()
	again, err := e.store.Get(t.Context(), stream.DomainAggregate("example.net"))
	if err != nil || first.Sites == nil || again.Sites != first.Sites {
		t.Errorf("sites %p, then %p, %v", first.Sites, again.Sites, err)
	}
}

// A link that is switched off is asked for as often as a key that was never used.
func TestInactiveLinksAreForgottenLikeUnknownOnes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.open(config())
	ev := linkEvent("off", "https://off.example/")
	ev.GetLink().Inactive = true
	m, err := event.Message(ev)
	must(t, err)
	ack, err := e.js.PublishMsg(t.Context(), m)
	must(t, err)
	eventually(t, "the event", func() bool {
		got, known, _ := e.store.cache.get(stream.LinkAggregate("go", "off"), time.Now())
		return known && got.Revision == ack.Sequence
	})
	e.wantKey("/off", "", e.store.metrics.streamHits)
	e.wantKey("/off", "", e.store.metrics.cacheHits)
	if on, off := e.store.ttl(Entry{Revision: 1, Link: &linkfoldv1.Link{}}), e.store.ttl(Entry{Revision: 1, Link: &linkfoldv1.Link{Inactive: true}}); on != e.store.cfg.FreshFor || off != e.store.ttl(Entry{}) {
		t.Errorf("live for %v, inactive for %v", on, off)
	}
}
