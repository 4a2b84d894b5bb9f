package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// TestMain is the TestMain of a package whose tests start a stack and that needs nothing else:
//
//	func TestMain(m *testing.M) { devstack.TestMain(m) }
//
// A package that has more to do calls RunChild itself.
func TestMain(m *testing.M) {
	if RunChild() {
		return
	}
	os.Exit(m.Run())
}

// ForTest starts the named servers for one test, in a directory of its own, and closes them when the test and its
// subtests have ended. Nothing is shared with other tests, so the test may stop and kill what it likes. It takes
// 0.1-0.5 s, most of it ClickHouse; subtests can share a stack and isolate themselves with Database.
//
// When a server is missing on this machine the test is skipped, or fails when the environment variable CI is set.
func ForTest(t testing.TB, needs ...Server) *Stack {
	t.Helper()
	c := Config{Dir: t.TempDir()}
	for _, n := range needs {
		c.NATS = c.NATS || n == NATS
		c.Redis = c.Redis || n == Redis
		c.ClickHouse = c.ClickHouse || n == ClickHouse
	}
	return StartForTest(t, c)
}

// StartForTest is ForTest with a configuration. An empty Dir is a temporary one.
func StartForTest(t testing.TB, c Config) *Stack {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := Start(t.Context(), c)
	switch {
	case errors.Is(err, ErrMissing) && os.Getenv("CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Database creates an empty ClickHouse database for one test and returns its DSN. It is dropped when the test has
// ended, unless ClickHouse is down by then.
func (s *Stack) Database(t testing.TB) string {
	t.Helper()
	dsn := s.ClickHouseDSN()
	if dsn == "" {
		t.Fatal("create database: the stack has no clickhouse")
	}
	o, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := "t_" + strings.ToLower(rand.Text()[:12])
	if err := execClickHouse(t.Context(), o, "CREATE DATABASE "+name+" ENGINE = Atomic"); err != nil {
		t.Fatal("create database:", err)
	}
	t.Cleanup(func() {
		if s.Pid(ClickHouse) != 0 {
			execClickHouse(context.Background(), o, "DROP DATABASE IF EXISTS "+name+" SYNC") // the stack goes away soon anyway
		}
	})
	return withDatabase(dsn, name)
}
