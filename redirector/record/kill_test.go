package record

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"linkfold/deploy/devstack"
	"linkfold/schema/stream"
)

// childEnv makes this test binary a recorder: its value is "<NATS URL> <spill directory> <first hit>".
const childEnv = "LINKFOLD_RECORD_TEST_CHILD"

// runChild records hits from 20 goroutines until it is killed, and prints the number of each hit once it was answered.
func runChild() int {
	var url, dir string
	var first int
	if _, err := fmt.Sscan(os.Getenv(childEnv), &url, &dir, &first); err != nil {
		return 1
	}
	nc, err := nats.Connect(url, nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		return 1
	}
	r, err := New(config(dir), "child"+strconv.Itoa(first), stream.HitSubject(0), nc, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return 1
	}
	var wg sync.WaitGroup
	for g := range 20 {
		wg.Go(func() {
			for i := first + g; ; i += 20 {
				if r.Record(hit(i)) {
					fmt.Printf("%d\n", i)
				}
			}
		})
	}
	if r.Run(context.Background()) != nil {
		return 1
	}
	return 0
}

// A redirector is killed again and again, with the stream there, gone and coming back. Every hit whose visitor was answered is in
// the stream in the end.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	dir := t.TempDir()
	answered := map[string]bool{}
	for round, away := range []bool{false, true, true, false} {
		if away && e.stack.Pid(devstack.NATS) != 0 && round%2 == 1 {
			must(t, e.stack.StopServer(context.Background(), devstack.NATS))
		}
		for _, id := range e.killChild(dir, round*1_000_000, 500) {
			answered[id] = true
		}
		if away && round%2 == 0 {
			must(t, e.stack.StartServer(context.Background(), devstack.NATS))
		}
	}
	r := e.run("last", config(dir))
	eventually(t, "the spill is empty", func() bool { return r.Totals().GetInherited() == 0 && e.js.Conn().IsConnected() })
	must(t, r.stop())
	stored := map[string]bool{}
	for _, s := range e.stored() {
		stored[s.id] = true
	}
	for id := range answered {
		if !stored[id] {
			t.Errorf("hit %s was answered and is lost", id)
		}
	}
	t.Logf("%d answered, %d stored, %d recovered by the last", len(answered), len(stored), r.Totals().GetRecovered())
}

// killChild runs a recorder in a process of its own, kills it after it has answered n hits, and returns the ids of all it answered.
func (e *env) killChild(dir string, first, n int) (ids []string) {
	e.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{e.stack.NATSURL(), dir, strconv.Itoa(first)}, " "))
	out, err := cmd.StdoutPipe()
	must(e.t, err)
	must(e.t, cmd.Start())
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		i, err := strconv.Atoi(lines.Text())
		if err != nil {
			break // The last line may be cut short.
		}
		if ids = append(ids, string(hit(i).GetId())); len(ids) == n {
			must(e.t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait() // Killed.
	if len(ids) < n {
		e.t.Fatalf("child answered %d hits, want %d", len(ids), n)
	}
	return ids
}
