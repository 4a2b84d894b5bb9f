package devstack_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/devstack"
)

func start(t *testing.T, c devstack.Config) *devstack.Stack {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	return devstack.StartForTest(t, c)
}

func all(dir string) devstack.Config {
	return devstack.Config{Dir: dir, NATS: true, Redis: true, ClickHouse: true}
}

func stop(t *testing.T, s *devstack.Stack) {
	t.Helper()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal("close:", err)
	}
}

func TestRestartKeepsDataAndURLs(t *testing.T) {
	for _, child := range []bool{false, true} {
		t.Run(map[bool]string{false: "nats inside", true: "nats child"}[child], func(t *testing.T) {
			c := all(t.TempDir())
			c.NATSChild = child
			first := start(t, c)
			urls := urlsOf(first)
			for _, server := range dataServers {
				server.write(t, server.url(first), "a")
			}
			pids := []int{first.Pid(devstack.Redis), first.Pid(devstack.ClickHouse)}
			stop(t, first)
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("process %d is left after close", pid)
				}
			}

			second := start(t, c)
			if got := urlsOf(second); got != urls {
				t.Errorf("urls changed from %v to %v", urls, got)
			}
			for _, server := range dataServers {
				if got := server.read(t, server.url(second)); got != "a" {
					t.Errorf("%s: read %q after restart", server.name, got)
				}
			}
		})
	}
}

func TestKillAndStartAgain(t *testing.T) {
	c := all(t.TempDir())
	c.NATSChild = true
	s := start(t, c)
	for _, server := range dataServers {
		t.Run(string(server.name), func(t *testing.T) {
			url := server.url(s)
			server.write(t, url, "b")
			for range 2 {
				pid := s.Pid(server.name)
				if err := s.KillServer(server.name); err != nil {
					t.Fatal(err)
				}
				if alive(pid) || s.Pid(server.name) != 0 {
					t.Fatal("killed, and still there")
				}
				if err := s.StartServer(t.Context(), server.name); err != nil {
					t.Fatal(err)
				}
			}
			if got := server.read(t, url); got != "b" {
				t.Errorf("read %q after two kills", got)
			}
		})
	}
	select {
	case err := <-s.Died():
		t.Error("a kill that was asked for was reported:", err)
	default:
	}
}

func TestUnexpectedEndIsReported(t *testing.T) {
	s := start(t, devstack.Config{Redis: true})
	p, err := os.FindProcess(s.Pid(devstack.Redis))
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var died *devstack.DiedError
	if err := s.Wait(ctx); !errors.As(err, &died) || died.Server != devstack.Redis {
		t.Fatalf("wait: %v", err)
	}
	if !strings.Contains(died.Error(), "killed") || !strings.Contains(died.Error(), "redis.log") {
		t.Errorf("the error does not say how it ended and where its log is: %v", died)
	}
	if err := s.StartServer(t.Context(), devstack.Redis); err != nil {
		t.Fatal(err)
	}
}

func TestGivenServersAreUsed(t *testing.T) {
	own := start(t, all(""))
	c := devstack.Config{
		Dir: t.TempDir(), NATS: true, Redis: true, ClickHouse: true,
		NATSURL: own.NATSURL(), RedisURL: own.RedisURL(), ClickHouseDSN: own.ClickHouseDSN(),
	}
	s := start(t, c)
	want := urlsOf(own)
	want[3] = "" // the HTTP address of a given server is not known
	if got := urlsOf(s); got != want {
		t.Errorf("urls are %v, want %v", got, want)
	}
	if s.Pid(devstack.Redis) != 0 {
		t.Error("a server was started")
	}
	if err := s.KillServer(devstack.Redis); err == nil {
		t.Error("a given server could be killed")
	}
	stop(t, s)
	for _, server := range dataServers {
		server.write(t, server.url(own), "still there")
	}
}

func TestDatabaseIsFresh(t *testing.T) {
	s := devstack.ForTest(t, devstack.ClickHouse)
	one, two := s.Database(t), s.Database(t)
	if one == two {
		t.Fatal("twice the same database")
	}
	clickHouseServer.write(t, one, "one")
	clickHouseServer.write(t, two, "two")
	if got := clickHouseServer.read(t, one); got != "one" {
		t.Errorf("read %q", got)
	}
}
