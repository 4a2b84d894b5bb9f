package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisOptions are the optional settings of OpenRedis.
type RedisOptions struct {
	Name     string        // of the client, for CLIENT LIST
	PoolSize int           // connections per node; 0: ten per processor
	Timeout  time.Duration // to read or write one command; 0: 100 ms
}

// OpenRedis returns a client that fails fast: Redis is a projection, and whoever cannot read it in time has another
// source (PIPELINE.md 3.3: the default settings take 1.7 s to see that a port is closed). It does not connect yet. A
// context's deadline holds for its command. The caller closes the client.
//
// The URL is redis://user:password@host:port/db, or rediss:// for TLS. A Redis Cluster is told by cluster=true, or by
// further nodes as addr=host:port, in its query.
func OpenRedis(rawURL string, o RedisOptions) (redis.UniversalClient, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("read redis url: not a URL") // the error of url.Parse would show the password
	}
	q := u.Query()
	if q.Get("cluster") != "true" && !q.Has("addr") {
		return openSingle(rawURL, o)
	}
	q.Del("cluster")
	u.RawQuery = q.Encode()
	return openCluster(u.String(), o)
}

func openSingle(rawURL string, o RedisOptions) (redis.UniversalClient, error) {
	c, err := redis.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("read redis url: %w", err)
	}
	c.ClientName, c.PoolSize = o.Name, o.PoolSize
	c.DialTimeout, c.DialerRetries, c.MaxRetries = dialTimeout, 1, -1 // -1: no retry
	c.ReadTimeout, c.WriteTimeout = o.timeout(), o.timeout()
	c.ContextTimeoutEnabled = true
	c.MaintNotificationsConfig = noNotifications()
	return redis.NewClient(c), nil
}

func openCluster(rawURL string, o RedisOptions) (redis.UniversalClient, error) {
	c, err := redis.ParseClusterURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("read redis url: %w", err)
	}
	c.ClientName, c.PoolSize = o.Name, o.PoolSize
	c.DialTimeout, c.DialerRetries, c.MaxRetries = dialTimeout, 1, -1
	c.ReadTimeout, c.WriteTimeout = o.timeout(), o.timeout()
	c.ContextTimeoutEnabled = true
	c.MaintNotificationsConfig = noNotifications()
	return redis.NewClusterClient(c), nil
}

const dialTimeout = 200 * time.Millisecond

func (o RedisOptions) timeout() time.Duration { return orElse(o.Timeout, 100*time.Millisecond) }

// noNotifications switches off a protocol of Redis Enterprise, which costs a round trip per connection elsewhere.
func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// RedisReady is a readiness check that fails while Redis does not answer.
func RedisReady(c redis.UniversalClient) Check {
	return func(ctx context.Context) error { return c.Ping(ctx).Err() }
}

// LogRedis sends what go-redis would print to standard error, a line for each refused dial, to log at debug level: every
// command that fails has an error of its own. It holds for the whole process, so it is for main functions.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

// Printf is called by the client.
func (r redisLog) Printf(ctx context.Context, format string, v ...any) {
	if r.log.Enabled(ctx, slog.LevelDebug) {
		r.log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, v...))
	}
}
