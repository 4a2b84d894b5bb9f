package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/e2e/internal/audit"
	"linkfold/deploy/e2e/internal/fleet"
	"linkfold/deploy/e2e/internal/load"
)

// binary is what is tested, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		return m.Run() // only the tests that start nothing
	}
	dir, err := os.MkdirTemp("", "linkfold-e2e-")
	if err == nil {
		defer os.RemoveAll(dir)
		binary, err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes the linkfold binary, as the README says, and returns its path. It is done in the binary's own module, so that it works with
// the workspace and without.
func build(dir string) (string, error) {
	path := filepath.Join(dir, "linkfold")
	cmd := exec.Command("go", "build", "-C", "../linkfold", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build linkfold: %w\n%s", err, out)
	}
	return path, nil
}

// town is an installation with people around it.
type town struct {
	*fleet.Fleet
	crowd  *load.Crowd
	author *load.Author
	keys   []string
}

// settleWait bounds the wait for everything to arrive; ingest's longest recovery takes 6 s and may begin anew.
const settleWait = time.Minute

// newTown starts an installation with links, and with as many ingests as redirectors. When the test fails, the end of each part's log is shown.
func newTown(t *testing.T, redirectors, links int) *town {
	t.Helper()
	skipInShort(t)
	f, err := fleet.Start(t.Context(), fleet.Config{
		Linkfold: binary, Dir: t.TempDir(), Redirectors: redirectors, Ingests: redirectors,
	})
	t.Cleanup(func() {
		f.Close()
		if t.Failed() {
			for _, p := range f.Parts {
				t.Logf("log of %s:\n%s", p.Name, p.Tail(40))
			}
		}
	})
	missing(t, err)
	token, err := f.Token()
	if err != nil {
		t.Fatal(err)
	}
	w := &town{
		Fleet: f, crowd: &load.Crowd{Host: fleet.Domain, Visitors: 200}, author: &load.Author{Domain: fleet.Domain, Token: token},
	}
	for _, front := range f.Fronts {
		w.crowd.Targets = append(w.crowd.Targets, front.Public)
		w.author.Admins = append(w.author.Admins, front.Admin)
	}
	for i := range links {
		w.keys = append(w.keys, fmt.Sprintf("link%03d", i))
	}
	if err := w.author.Create(t.Context(), w.keys); err != nil {
		t.Fatal(err)
	}
	return w
}

func skipInShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers")
	}
}

// missing ends the test when there is an error: as skipped when a server is not installed, and not in CI.
func missing(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case strings.Contains(err.Error(), " is missing: ") && os.Getenv("CI") == "": // what a server prints that is not installed
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// audit connects to the servers, which must run.
func (w *town) audit(t *testing.T) *audit.Audit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settleWait)
	defer cancel()
	a, err := audit.Open(ctx, w.NATSURL, w.RedisURL, w.ClickHouseDSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// settle starts whatever does not run, and waits until everything has arrived.
func (w *town) settle(t *testing.T) *audit.Audit {
	t.Helper()
	if err := w.RestartAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := w.audit(t)
	w.arrived(t, a)
	return a
}

// arrived waits until no redirector keeps a hit, nothing in the streams is pending, the ledger knows of all hits, and Redis equals the fold.
func (w *town) arrived(t *testing.T, a *audit.Audit) {
	t.Helper()
	for _, front := range w.Fronts {
		eventually(t, front.Name+" keeps no hits", func(ctx context.Context) error { return w.pendingIs(ctx, front, 0) })
		eventually(t, front.Name+" has reported", func(ctx context.Context) error {
			accepted, err := front.Metric(ctx, "linkfold_redirector_accepted_hits_total")
			if err != nil {
				return err
			}
			return a.Reported(ctx, uint64(accepted))
		})
	}
	eventually(t, "nothing is pending", func(ctx context.Context) error {
		n, err := a.Pending(ctx)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d messages pending", n)
		}
		return err
	})
	eventually(t, "redis equals the log", a.Fold)
}

// eventually tries until check returns nil, and fails the test when that takes too long.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), settleWait)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			if d := time.Since(begun); d > 5*time.Second {
				t.Logf("it took %v until %s", d.Round(time.Second), what)
			}
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("wait until %s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// checkStored starts and waits for everything, and then checks that what visitors and author saw is what is stored.
func (w *town) checkStored(t *testing.T) *audit.Audit {
	t.Helper()
	a := w.settle(t)
	w.checkPromises(t)
	w.arrived(t, a) // those visits, too
	for _, c := range []struct {
		what  string
		check func(context.Context) error
	}{
		{"redirects seen", func(ctx context.Context) error { return a.Seen(ctx, w.crowd.Record().Redirected) }},
		{"sequences", a.Sequences},
		{"rows", a.Rows},
		{"ledger", func(ctx context.Context) error { return a.Balanced(ctx, uint64(len(w.crowd.Record().Redirected))) }},
		{"rulesets", func(ctx context.Context) error { return w.rulesetsAgree(ctx, a) }},
		{"parts", func(context.Context) error { return w.Bad() }},
	} {
		if err := c.check(t.Context()); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	return a
}

// rulesetsAgree compares the domain's count and checksum as every API has them with those in Redis.
func (w *town) rulesetsAgree(ctx context.Context, a *audit.Audit) error {
	want, sum, err := a.Ruleset(ctx, fleet.Domain)
	if err == nil && want < len(w.keys) {
		err = fmt.Errorf("redis has %d links, there are %d", want, len(w.keys))
	}
	for _, front := range w.Fronts {
		if err != nil {
			return err
		}
		var n int
		var checksum string
		if n, checksum, err = w.author.Ruleset(ctx, front.Admin, fleet.Domain); err == nil && (n != want || checksum != sum) {
			err = fmt.Errorf("%s counts %d links with checksum %s, redis has %d with %s", front.Name, n, checksum, want, sum)
		}
	}
	return err
}

// checkPromises follows every link at every redirector: it leads where its author was told last.
func (w *town) checkPromises(t *testing.T) {
	t.Helper()
	for _, front := range w.Fronts {
		for key, want := range w.author.Promised {
			if got, err := load.Follow(front.Public, fleet.Domain, key); err != nil || got != want {
				t.Errorf("%s: %s leads to %s, %v; its author was promised %s", front.Name, key, got, err, want)
			}
		}
	}
}
