package limit

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"linkfold/deploy/devstack"
	"linkfold/deploy/service"
)

func TestMain(m *testing.M) { devstack.TestMain(m) }

func newLimiter(t *testing.T, stack *devstack.Stack, cfg Config) *Limiter {
	t.Helper()
	rdb, err := service.OpenRedis(stack.RedisURL(), service.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	l, err := New(cfg, rdb, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var (
	slow    = Config{MissesPerMinute: 1, MissBurst: 3, MissWait: time.Second}
	visitor = netip.MustParseAddr("192.0.2.7")
)

// spend uses the burst up and checks that there is not more.
func spend(t *testing.T, n int, client netip.Addr, limiters ...*Limiter) {
	t.Helper()
	for i := range n {
		if w := limiters[i%len(limiters)].Miss(t.Context(), client); w != 0 {
			t.Errorf("miss %d of %s waits %v", i+1, client, w)
		}
	}
	for _, l := range limiters {
		if w := l.Miss(t.Context(), client); w <= 0 || w > time.Minute {
			t.Errorf("one miss too many of %s waits %v", client, w)
		}
	}
}

func TestSharedLimit(t *testing.T) {
	t.Parallel()
	stack := devstack.ForTest(t, devstack.Redis)
	a, b := newLimiter(t, stack, slow), newLimiter(t, stack, slow)
	spend(t, 3, visitor, a, b)
	spend(t, 3, netip.MustParseAddr("192.0.2.8"), b)
	spend(t, 3, netip.MustParseAddr("2001:db8::1"), a)
	if a.Miss(t.Context(), netip.MustParseAddr("2001:db8::ffff:1")) == 0 {
		t.Error("another address of the same /64 has a limit of its own")
	}
	spend(t, 3, netip.MustParseAddr("2001:db8:0:1::1"), a)
	spend(t, 3, netip.Addr{}, a)
	if n := testutil.ToFloat64(a.fallback) + testutil.ToFloat64(b.fallback); n != 0 {
		t.Errorf("%v misses counted in memory", n)
	}
}

func TestLocalLimit(t *testing.T) {
	t.Parallel()
	stack := devstack.ForTest(t, devstack.Redis)
	l := newLimiter(t, stack, slow)
	if err := stack.KillServer(devstack.Redis); err != nil {
		t.Fatal(err)
	}
	spend(t, 3, visitor, l)
	if n := testutil.ToFloat64(l.fallback); n != 4 {
		t.Errorf("%v misses counted in memory, want 4", n)
	}
}

func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	l := &Limiter{}
	for range 1000 {
		if w := l.Miss(t.Context(), visitor); w != 0 {
			t.Fatal(w)
		}
	}
}

func TestLocalIsBounded(t *testing.T) {
	t.Parallel()
	l := newLocal(slow)
	now := time.Unix(1e9, 0)
	for i := range 2*maxClients + 10 {
		a := netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
		l.miss(network(a), now)
	}
	if len(l.clients) > maxClients {
		t.Errorf("%d clients remembered", len(l.clients))
	}
	l.forget(now.Add(time.Hour)) // All are full again.
	if len(l.clients) != 0 {
		t.Errorf("%d clients remembered after an hour", len(l.clients))
	}
}

// A refused miss costs nothing: whoever goes on asking is let in when his time has come.
func TestLocalRefusalIsFree(t *testing.T) {
	t.Parallel()
	l := newLocal(slow)
	now := time.Unix(1e9, 0)
	for range 100 {
		l.miss(network(visitor), now)
	}
	if w := l.miss(network(visitor), now.Add(time.Minute)); w != 0 {
		t.Errorf("after a minute one miss waits %v", w)
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{"192.0.2.7": "192.0.2.7/32", "2001:db8::1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64"} {
		if got := network(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("network(%s) = %s, want %s", addr, got, want)
		}
	}
	if got := fmt.Sprint(network(netip.Addr{})); got != "invalid Prefix" {
		t.Errorf("no address: %s", got)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, bad := range []Config{
		{MissesPerMinute: -1, MissBurst: 1, MissWait: 1}, {MissesPerMinute: 1_000_001, MissBurst: 1, MissWait: 1},
		{MissesPerMinute: 1, MissWait: 1}, {MissesPerMinute: 1, MissBurst: 1},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if err := (Config{MissWait: 1}).Validate(); err != nil {
		t.Error(err)
	}
}
