// Package fleet runs a Linkfold installation in which every part is a process of its own that can be killed, frozen and started again.
//
// The ways in which it differs from a real installation: everything is on one machine, and ingest's times for recovery are short.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linkfold/deploy/devstack"
)

// Names of the parts; redirectors and ingests are Redirector + "1" and so on.
const (
	NATS       = "nats"
	Redis      = "redis"
	ClickHouse = "clickhouse"
	Ingest     = "ingest"
	Projector  = "projector"
	Redirector = "redirector"
)

// Domain is the one that the redirectors serve.
const Domain = "e2e.test"

// Config says what to run.
type Config struct {
	Linkfold    string // the linkfold binary
	Dir         string // everything lives below it
	Redirectors int
	Ingests     int // one is at work, the others stand by
}

// Front is a redirector with its addresses, host:port each.
type Front struct {
	*Process
	Public, Admin, Debug string
}

// Fleet is a running installation.
type Fleet struct {
	cfg       Config
	Fronts    []*Front
	Parts     []*Process // all of them, in the order in which they were started first
	TokenFile string

	NATSURL, RedisURL, ClickHouseDSN string
}

// readyWait bounds the wait for one process to be ready.
const readyWait = time.Minute

// Start starts every part and returns when each is ready. Close the fleet whether there is an error or not.
func Start(ctx context.Context, c Config) (*Fleet, error) {
	f := &Fleet{cfg: c, TokenFile: filepath.Join(c.Dir, "admin.token")}
	if err := os.MkdirAll(f.logs(), 0o700); err != nil {
		return f, fmt.Errorf("make log directory: %w", err)
	}
	if err := f.startServers(ctx); err != nil {
		return f, err
	}
	return f, f.startServices(ctx)
}

func (f *Fleet) logs() string { return filepath.Join(f.cfg.Dir, "log") }

func (f *Fleet) startServers(ctx context.Context) error {
	urls := map[string]*string{NATS: &f.NATSURL, Redis: &f.RedisURL, ClickHouse: &f.ClickHouseDSN}
	for _, name := range []string{NATS, Redis, ClickHouse} {
		f.add(NewProcess(name, f.logs(), f.cfg.Linkfold, "devstack", name, "--data", filepath.Join(f.cfg.Dir, "servers")))
	}
	if err := f.Restart(ctx, NATS, Redis, ClickHouse); err != nil {
		return err
	}
	for name, url := range urls {
		*url = strings.TrimSpace(f.Part(name).Output())
	}
	return nil
}

func (f *Fleet) startServices(ctx context.Context) error {
	names := []string{Projector}
	f.add(NewProcess(Projector, f.logs(), f.cfg.Linkfold, "projector", "--nats-url", f.NATSURL, "--redis-url", f.RedisURL))
	for n := range f.cfg.Ingests {
		name := fmt.Sprint(Ingest, n+1)
		// An insert that a crash has left in doubt is settled after the sum of the first three.
		f.add(NewProcess(name, f.logs(), f.cfg.Linkfold, "ingest", "--nats-url", f.NATSURL, "--clickhouse-dsn", f.ClickHouseDSN,
			"--until", "2s", "--max-execution", "2s", "--grace", "1s", "--takeover", "1s"))
		names = append(names, name)
	}
	for n := range f.cfg.Redirectors {
		front, err := f.front(n + 1)
		if err != nil {
			return err
		}
		f.Fronts = append(f.Fronts, front)
		f.add(front.Process)
		names = append(names, front.Name)
	}
	if err := f.Restart(ctx, names...); err != nil {
		return err
	}
	for _, front := range f.Fronts {
		if err := front.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) front(n int) (*Front, error) {
	var a [3]string
	for i := range a {
		var err error
		if a[i], err = devstack.FreeAddress(); err != nil {
			return nil, err
		}
	}
	name := fmt.Sprint(Redirector, n)
	p := NewProcess(name, f.logs(), f.cfg.Linkfold, "redirector", "--nats-url", f.NATSURL, "--redis-url", f.RedisURL,
		"--listen", a[0], "--admin", a[1], "--debug-listen", a[2], "--default-domain", Domain, "--token-file", f.TokenFile,
		"--hits-spill-dir", filepath.Join(f.cfg.Dir, "spill", name))
	return &Front{Process: p, Public: a[0], Admin: a[1], Debug: a[2]}, nil
}

func (f *Fleet) add(p *Process) { f.Parts = append(f.Parts, p) }

// Part is the process of that name; nil when there is none.
func (f *Fleet) Part(name string) *Process {
	for _, p := range f.Parts {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Kill kills the named parts, one after the other.
func (f *Fleet) Kill(names ...string) {
	for _, n := range names {
		f.Part(n).Kill()
	}
}

// Restart starts the named parts, those that run already excepted, and waits until the servers among them answer. Services are not waited
// for: they may need a server that is still away.
func (f *Fleet) Restart(ctx context.Context, names ...string) error {
	for _, n := range names {
		if p := f.Part(n); !p.Running() {
			if err := p.Start(); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for _, n := range names {
		if n != NATS && n != Redis && n != ClickHouse {
			continue
		}
		// Its URL is the one line that a server prints, when it answers.
		if _, err := f.Part(n).AwaitOutput(ctx, func(s string) bool { return strings.HasSuffix(s, "\n") }); err != nil {
			return err
		}
	}
	return nil
}

// RestartAll starts every part that does not run.
func (f *Fleet) RestartAll(ctx context.Context) error {
	names := make([]string, len(f.Parts))
	for i, p := range f.Parts {
		names[i] = p.Name
	}
	return f.Restart(ctx, names...)
}

// Bad is every end of a part that nobody asked for.
func (f *Fleet) Bad() error {
	var errs []error
	for _, p := range f.Parts {
		errs = append(errs, p.Bad())
	}
	return errors.Join(errs...)
}

// Token is the bearer token of the authors' API.
func (f *Fleet) Token() (string, error) {
	b, err := os.ReadFile(f.TokenFile)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Close kills everything, the services first.
func (f *Fleet) Close() {
	for i := len(f.Parts) - 1; i >= 0; i-- {
		f.Parts[i].Kill()
	}
}
