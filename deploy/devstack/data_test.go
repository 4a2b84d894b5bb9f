package devstack_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"linkfold/deploy/devstack"
)

// dataServer writes one value to a server and reads it back, with a connection of its own each time.
type dataServer struct {
	name  devstack.Server
	url   func(*devstack.Stack) string
	write func(t *testing.T, url, value string)
	read  func(t *testing.T, url string) string
}

var (
	natsServer       = dataServer{devstack.NATS, (*devstack.Stack).NATSURL, writeNATS, readNATS}
	redisServer      = dataServer{devstack.Redis, (*devstack.Stack).RedisURL, writeRedis, readRedis}
	clickHouseServer = dataServer{devstack.ClickHouse, (*devstack.Stack).ClickHouseDSN, writeClickHouse, readClickHouse}
	dataServers      = []dataServer{natsServer, redisServer, clickHouseServer}
)

func urlsOf(s *devstack.Stack) [4]string {
	return [4]string{s.NATSURL(), s.RedisURL(), s.ClickHouseDSN(), s.ClickHouseHTTP()}
}

// alive reports whether a process exists.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func stream(t *testing.T, url string) (jetstream.Stream, jetstream.JetStream) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "TEST", Subjects: []string{"test"}})
	if err != nil {
		t.Fatal(err)
	}
	return s, js
}

func writeNATS(t *testing.T, url, value string) {
	t.Helper()
	_, js := stream(t, url)
	if _, err := js.Publish(t.Context(), "test", []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func readNATS(t *testing.T, url string) string {
	t.Helper()
	s, _ := stream(t, url)
	m, err := s.GetLastMsgForSubject(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Data)
}

func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func writeRedis(t *testing.T, url, value string) {
	t.Helper()
	if err := redisClient(t, url).Set(t.Context(), "test", value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func readRedis(t *testing.T, url string) string {
	t.Helper()
	value, err := redisClient(t, url).Get(t.Context(), "test").Result()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func clickHouseConn(t *testing.T, dsn string) clickhouse.Conn {
	t.Helper()
	o, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clickhouse.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeClickHouse(t *testing.T, dsn, value string) {
	t.Helper()
	c := clickHouseConn(t, dsn)
	defer c.Close() // before the server: it waits 5 s for open connections
	for _, statement := range []string{
		"CREATE OR REPLACE TABLE test (v String) ENGINE = MergeTree ORDER BY v",
		"INSERT INTO test VALUES ('" + value + "')",
	} {
		if err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

func readClickHouse(t *testing.T, dsn string) string {
	t.Helper()
	c := clickHouseConn(t, dsn)
	defer c.Close()
	var value string
	if err := c.QueryRow(t.Context(), "SELECT v FROM test").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
