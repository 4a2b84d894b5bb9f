package devstack

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// stopTimeout is for one server in Close: ClickHouse takes up to 7 s with connections open, the others well under 1 s.
const stopTimeout = 20 * time.Second

// Stack is a set of running servers. Its methods may be called by several goroutines.
//
// The URLs hold passwords; they are for clients, not for logs. They stay the same until Close, whatever is stopped and
// started meanwhile.
type Stack struct {
	dir   string
	units []*unit
	died  chan *DiedError
}

// NATSURL is nats://user:password@host:port, or "" when the stack has no NATS.
func (s *Stack) NATSURL() string { return s.url(NATS) }

// RedisURL is redis://:password@host:port/0, or "" when the stack has no Redis.
func (s *Stack) RedisURL() string { return s.url(Redis) }

// ClickHouseDSN is the native protocol's clickhouse://user:password@host:port/linkfold, or "" when the stack has no
// ClickHouse. The database exists.
func (s *Stack) ClickHouseDSN() string { return s.url(ClickHouse) }

// ClickHouseHTTP is http://user:password@host:port/?database=linkfold of a ClickHouse that this stack has started,
// else "".
func (s *Stack) ClickHouseHTTP() string {
	u := s.unit(ClickHouse)
	if u == nil {
		return ""
	}
	c, ok := u.kind.(*clickHouse)
	if !ok {
		return ""
	}
	return c.httpURL()
}

// Dir is the directory of one server's data, which may be removed while that server is stopped.
func (s *Stack) Dir(which Server) string { return filepath.Join(s.dir, string(which)) }

// Pid is the process in which the server runs, or 0 when it does not run or was not started here.
func (s *Stack) Pid(which Server) int {
	u := s.unit(which)
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.running() {
		return 0
	}
	return u.run.Pid()
}

// Died delivers every end of a server that was not asked for by StopServer, KillServer or Close. It is never closed.
// The server may then be started again with StartServer.
func (s *Stack) Died() <-chan *DiedError { return s.died }

// Wait blocks until a server ends unexpectedly, and returns its *DiedError, or until ctx ends, and returns nil.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case err := <-s.died:
		return err
	case <-ctx.Done():
		return nil
	}
}

// StopServer stops one server cleanly.
func (s *Stack) StopServer(ctx context.Context, which Server) error {
	u, err := s.own(which)
	if err != nil {
		return err
	}
	return u.stop(ctx)
}

// KillServer kills the process of one server (SIGKILL) and returns when it is gone. A NATS server in this process
// cannot be killed alone and is shut down instead: see Config.NATSChild.
func (s *Stack) KillServer(which Server) error {
	u, err := s.own(which)
	if err != nil {
		return err
	}
	u.kill()
	return nil
}

// StartServer starts a server again that was stopped, killed or has died, on the same port and data, and returns when
// it answers.
func (s *Stack) StartServer(ctx context.Context, which Server) error {
	u, err := s.own(which)
	if err != nil {
		return err
	}
	return u.restart(ctx)
}

// Close stops the servers in order, NATS last because the log is what matters, and gives the directory back. A server
// that does not end within 20 s, or before ctx ends, is killed, and the error says so; after Close none is left.
func (s *Stack) Close(ctx context.Context) error {
	var g errgroup.Group // the two children do not know each other: together
	for _, u := range s.units {
		if u.name != NATS {
			g.Go(func() error { return closeUnit(ctx, u) })
		}
	}
	err := g.Wait()
	if u := s.unit(NATS); u != nil {
		if e := closeUnit(ctx, u); err == nil {
			err = e
		}
	}
	return err
}

func closeUnit(ctx context.Context, u *unit) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := u.close(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", u.name, err)
	}
	return nil
}

func (s *Stack) unit(which Server) *unit {
	for _, u := range s.units {
		if u.name == which {
			return u
		}
	}
	return nil
}

// own returns the unit of a server that this stack has started itself.
func (s *Stack) own(which Server) (*unit, error) {
	u := s.unit(which)
	if u == nil || u.external() {
		return nil, fmt.Errorf("control %s: not started by this stack", which)
	}
	return u, nil
}

func (s *Stack) url(which Server) string {
	u := s.unit(which)
	if u == nil {
		return ""
	}
	return u.url
}
