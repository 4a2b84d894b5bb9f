package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// child is an ingester in a process of its own.
type child struct {
	e    *env
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{} // closed when the process has ended
}

// lockedBuffer is a buffer that is read while the process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs an ingester with the given failpoints.
func (e *env) start(failpoints string) *child {
	e.t.Helper()
	c := e.cfg
	c.Failpoint = failpoints
	settings, err := json.Marshal(c)
	must(e.t, err)
	k := &child{e: e, cmd: exec.Command(os.Args[0]), log: &lockedBuffer{}, done: make(chan struct{})}
	k.cmd.Env = append(os.Environ(), childEnv+"="+string(settings))
	k.cmd.Stderr = k.log
	must(e.t, k.cmd.Start())
	go func() {
		_ = k.cmd.Wait() // the exit code is looked at where it matters
		close(k.done)
	}()
	e.t.Cleanup(func() {
		_ = k.cmd.Process.Kill()
		<-k.done
		if e.t.Failed() {
			e.t.Log("child:\n" + k.log.String())
		}
	})
	return k
}

// ended waits for the process and checks its exit code.
func (k *child) ended(code int) {
	k.e.t.Helper()
	k.e.eventually("child ends", func() bool {
		select {
		case <-k.done:
			return true
		default:
			return false
		}
	})
	if got := k.cmd.ProcessState.ExitCode(); got != code {
		k.e.t.Fatalf("child ended with %d, want %d", got, code)
	}
}

// stopped waits until the process has stopped itself at a failpoint.
func (k *child) stopped() {
	k.e.t.Helper()
	k.e.eventually("child stops", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.cmd.Process.Pid))
		if err != nil {
			return false
		}
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		return bytes.HasPrefix(rest, []byte("T"))
	})
}

func (k *child) signal(s syscall.Signal) {
	k.e.t.Helper()
	must(k.e.t, k.cmd.Process.Signal(s))
}

// logged waits for a line of the process's log.
func (k *child) logged(text string) {
	k.e.t.Helper()
	k.e.eventually("child logs "+text, func() bool { return strings.Contains(k.log.String(), text) })
}
