package service

import (
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/redis/go-redis/v9"
)

func TestOpenRedisSingle(t *testing.T) {
	c, err := OpenRedis("redis://u:secret@127.0.0.1:6379/3", RedisOptions{Name: "sample"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o := c.(*redis.Client).Options()
	if o.Addr != "127.0.0.1:6379" || o.DB != 3 || o.Username != "u" || o.Password != "secret" || o.ClientName != "sample" {
		t.Errorf("options %+v", o)
	}
	if o.DialTimeout != 200*time.Millisecond || o.ReadTimeout != 100*time.Millisecond || o.WriteTimeout != 100*time.Millisecond {
		t.Errorf("timeouts %v %v %v", o.DialTimeout, o.ReadTimeout, o.WriteTimeout)
	}
	if o.MaxRetries != 0 || o.DialerRetries != 1 || !o.ContextTimeoutEnabled { // -1 was read as 0 by the client
		t.Errorf("retries %d %d, context timeout %v", o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled)
	}
}

func TestOpenRedisCluster(t *testing.T) {
	for url, nodes := range map[string]int{
		"redis://u:secret@a:1?cluster=true": 1,
		"rediss://u:secret@a:1?addr=b:2":    2,
	} {
		c, err := OpenRedis(url, RedisOptions{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		o := c.(*redis.ClusterClient).Options()
		if len(o.Addrs) != nodes || o.Password != "secret" || o.ReadTimeout != time.Second || o.DialerRetries != 1 {
			t.Errorf("%s: options %+v", url, o)
		}
	}
}

func TestOpenRedisFailsWhenNobodyListens(t *testing.T) {
	l := listen(t)
	address := l.Addr().String()
	l.Close()
	c, err := OpenRedis("redis://"+address, RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := RedisReady(c)(t.Context()); err == nil {
		t.Error("ready")
	}
}

func TestOpenClickHouse(t *testing.T) {
	o, err := clickHouseOptions("clickhouse://u:secret@127.0.0.1:9000/db?max_execution_time=9", ClickHouseOptions{Name: "sample", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	if o.Settings["async_insert"] != 0 || o.Settings["max_execution_time"] != 9 {
		t.Errorf("settings %v", o.Settings)
	}
	if o.Compression.Method != clickhouse.CompressionLZ4 || o.MaxOpenConns != 2 || o.MaxIdleConns > 2 || o.Auth.Database != "db" {
		t.Errorf("options %+v", o)
	}
	conn, err := OpenClickHouse("clickhouse://127.0.0.1:1/db", ClickHouseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := ClickHouseReady(conn)(t.Context()); err == nil {
		t.Error("ready")
	}
}

// The errors about an address must not show the password in it, since they are logged.
func TestErrorsHidePasswords(t *testing.T) {
	for _, url := range []string{"redis://u:secret@host:port", "http://u:secret@a:1", "redis://u:secret@a:1/db"} {
		_, err := OpenRedis(url, RedisOptions{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("redis %s: %v", url, err)
		}
	}
	for _, dsn := range []string{"clickhouse://u:secret@host:port/db", "clickhouse://u:secret@a:1/db?dial_timeout=x"} {
		_, err := OpenClickHouse(dsn, ClickHouseOptions{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("clickhouse %s: %v", dsn, err)
		}
	}
	for _, url := range []string{"nats://u:secret@host:port"} {
		_, err := DialNATS(NATSOptions{URL: url})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("nats %s: %v", url, err)
		}
	}
}
