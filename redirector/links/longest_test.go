package links

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"linkfold/deploy/devstack"
	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
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
	e.wantKey("/hot/new", "hot", e.store.metrics.stale)
	e.store.cache.expire()
	e.wantKey("/hot/a", "hot", e.store.metrics.stale)
	e.wantKey("/none", "", e.store.metrics.stale)
	if f, err := e.store.Longest(t.Context(), "go", "/cold"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Longest(/cold) = %v, %v; want ErrUnavailable", f, err)
	}
}
