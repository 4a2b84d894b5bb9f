package devstack_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"linkfold/deploy/devstack"
)

// victimVariable makes the test binary a program that starts a stack in the directory it names and waits for its end.
const victimVariable = "LINKFOLD_DEVSTACK_TEST_VICTIM"

// report is what the victim prints when its stack is up.
type report struct {
	URLs []string
	Pids []int
}

func victim(dir string) int {
	c := all(dir)
	c.NATSChild = true
	s, err := devstack.Start(context.Background(), c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r := report{URLs: []string{s.NATSURL(), s.RedisURL(), s.ClickHouseDSN(), s.ClickHouseHTTP()}}
	for _, server := range dataServers {
		r.Pids = append(r.Pids, s.Pid(server.name))
	}
	json.NewEncoder(os.Stdout).Encode(r)
	fmt.Fprintln(os.Stderr, s.Wait(context.Background())) // until it is killed
	return 1
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	dir := t.TempDir()
	probe := start(t, all(dir)) // skips the test when a server is missing
	stop(t, probe)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), victimVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	cmd.Process.Kill()
	cmd.Wait()
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatalf("the victim said %q: %v", line, err)
	}
	for _, pid := range r.Pids {
		if pid <= 1 {
			t.Fatalf("no process id: %v", r.Pids)
		}
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
	for _, u := range r.URLs {
		eventually(t, "a port is free", func() bool { return free(t, u) })
	}
	after := start(t, all(dir)) // on the same directory and ports, with NATS inside this time
	if got := urlsOf(after); got != [4]string(r.URLs) {
		t.Errorf("urls changed from %v to %v", r.URLs, got)
	}
}

// eventually polls until ok returns true, for 20 s.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in 20 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// free reports whether one could listen on the URL's address.
func free(t *testing.T, raw string) bool {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", u.Host)
	if err != nil {
		return false
	}
	l.Close()
	return true
}
