// Package limit slows clients that guess keys: misses per client are counted in Redis, shared by all redirectors, and in memory while Redis
// is away (DESIGN.md §4).
package limit

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"
)

// Config is how many misses one client may have.
type Config struct {
	MissesPerMinute int           `help:"Unknown keys that one client may ask for in a minute, spread evenly; 0 switches the limit off." default:"120"`
	MissBurst       int           `help:"Unknown keys that one client may ask for at once." default:"120"`
	MissWait        time.Duration `help:"How long to wait for Redis before counting in memory." default:"50ms"`
}

// Validate names the setting that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.MissesPerMinute < 0 || c.MissesPerMinute > 1_000_000:
		return fmt.Errorf("misses per minute %d: give 0 to 1000000", c.MissesPerMinute)
	case c.MissesPerMinute > 0 && c.MissBurst < 1:
		return fmt.Errorf("miss burst %d: give at least 1", c.MissBurst)
	case c.MissWait <= 0:
		return fmt.Errorf("miss wait %v: give a positive duration", c.MissWait)
	}
	return nil
}

// Limiter counts misses. It is safe for concurrent use.
type Limiter struct {
	cfg      Config
	redis    *redis_rate.Limiter
	local    *local
	log      *slog.Logger
	fallback prometheus.Counter

	mu    sync.Mutex
	after time.Time // Redis failed: not asked before
}

// New makes a limiter over rdb.
func New(cfg Config, rdb redis.UniversalClient, reg prometheus.Registerer, log *slog.Logger) (*Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{
		cfg: cfg, redis: redis_rate.NewLimiter(rdb), local: newLocal(cfg), log: log,
		fallback: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "linkfold_redirector_local_limits_total", Help: "Misses counted in memory because Redis was away.",
		}),
	}
	reg.MustRegister(l.fallback)
	return l, nil
}

// Miss counts a miss of client and reports how long it has to wait; 0 means that the miss is within the limit.
func (l *Limiter) Miss(ctx context.Context, client netip.Addr) time.Duration {
	if l.cfg.MissesPerMinute == 0 {
		return 0
	}
	key := network(client)
	if l.askRedis() {
		ctx, cancel := context.WithTimeout(ctx, l.cfg.MissWait)
		defer cancel()
		res, err := l.redis.Allow(ctx, "lf:miss:"+key.String(),
			redis_rate.Limit{Rate: l.cfg.MissesPerMinute, Burst: l.cfg.MissBurst, Period: time.Minute})
		if err == nil {
			return max(res.RetryAfter, 0)
		}
		l.pauseRedis(err)
	}
	l.fallback.Inc()
	return l.local.miss(key, time.Now())
}

// network is what counts as one client: an address, or the /64 of an IPv6 address, since one subscriber has that many.
func network(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // No address: all such clients count as one.
	}
	return p
}

// pause is how long Redis is left alone after a failure.
const pause = time.Second

func (l *Limiter) askRedis() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().After(l.after)
}

func (l *Limiter) pauseRedis(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.after) {
		return // Another request has met the same failure.
	}
	l.after = now.Add(pause)
	l.log.Warn("redis does not count misses, counting in memory", "err", err)
}

// maxClients bounds the memory of the local limiter.
const maxClients = 50_000

// local is a token bucket per client, in memory.
type local struct {
	mu      sync.Mutex
	cfg     Config
	clients map[netip.Prefix]*rate.Limiter
}

func newLocal(cfg Config) *local {
	return &local{cfg: cfg, clients: map[netip.Prefix]*rate.Limiter{}}
}

func (l *local) miss(client netip.Prefix, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.clients[client]
	if !ok {
		if len(l.clients) >= maxClients {
			l.forget(now)
		}
		b = rate.NewLimiter(rate.Limit(float64(l.cfg.MissesPerMinute)/60), l.cfg.MissBurst)
		l.clients[client] = b
	}
	r := b.ReserveN(now, 1)
	delay := r.DelayFrom(now)
	if delay > 0 {
		r.CancelAt(now) // A refused miss costs nothing, as in Redis.
	}
	return delay
}

// forget makes room: clients whose bucket is full again need no memory; if that is not enough, arbitrary ones go.
func (l *local) forget(now time.Time) {
	for c, b := range l.clients {
		if b.TokensAt(now) >= float64(l.cfg.MissBurst) {
			delete(l.clients, c)
		}
	}
	for c := range l.clients {
		if len(l.clients) < maxClients/2 {
			return
		}
		delete(l.clients, c)
	}
}
