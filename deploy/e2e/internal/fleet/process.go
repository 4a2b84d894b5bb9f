package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one program that is started, killed, frozen and started again. Its methods may be called by several goroutines.
type Process struct {
	Name string
	path string
	args []string
	log  string // standard error of all its runs
	out  string // standard output of its last run

	mu  sync.Mutex
	run *run // the last one; nil before the first
	bad error
}

// run is one life of a process.
type run struct {
	pid    int
	done   chan struct{} // closed when it has ended
	err    error         // how; valid once done is closed
	wanted bool          // its end was asked for; guarded by Process.mu
}

// NewProcess prepares a process whose output goes to name.log and name.out in dir.
func NewProcess(name, dir, path string, args ...string) *Process {
	return &Process{Name: name, path: path, args: args, log: dir + "/" + name + ".log", out: dir + "/" + name + ".out"}
}

// Start starts the process, which must not be running, and returns at once.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil && !p.run.ended() {
		return fmt.Errorf("start %s: it is running", p.Name)
	}
	stderr, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", p.Name, err)
	}
	defer stderr.Close() // The process has its own copy.
	stdout, err := os.Create(p.out)
	if err != nil {
		return fmt.Errorf("open output of %s: %w", p.Name, err)
	}
	defer stdout.Close()
	fmt.Fprintf(stderr, "--- started %s\n", time.Now().UTC().Format(time.RFC3339Nano))
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = attributes()
	r := &run{done: make(chan struct{})}
	started := make(chan error, 1)
	go p.live(cmd, r, started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.run = r
	return nil
}

// live starts the command and waits for its end on one thread that does nothing else: the signal that ends the process with its parent
// is sent when the thread that started it ends.
func (p *Process) live(cmd *exec.Cmd, r *run, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	r.pid = cmd.Process.Pid
	started <- nil
	err := cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	r.err = err
	if !r.wanted && p.bad == nil {
		p.bad = fmt.Errorf("%s ended by itself: %v\n%s", p.Name, err, p.Tail(10))
	}
	close(r.done)
}

func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Bad is the first end of the process that nobody asked for, or nil.
func (p *Process) Bad() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bad
}

// Running reports whether the process runs, frozen or not.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run != nil && !p.run.ended()
}

// Pid is that of the last run.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return 0
	}
	return p.run.pid
}

// childrenWait is how long the children of a killed process may take to be gone.
const childrenWait = 10 * time.Second

// Kill ends the process with SIGKILL and waits until it is gone, and for a while until its children are. It does nothing when it does not
// run.
func (p *Process) Kill() {
	p.mu.Lock()
	r := p.run
	if r == nil || r.ended() {
		p.mu.Unlock()
		return
	}
	r.wanted = true
	children := Children(r.pid)
	_ = syscall.Kill(r.pid, syscall.SIGKILL) // It may have ended by itself just now.
	p.mu.Unlock()
	<-r.done
	deadline := time.Now().Add(childrenWait)
	for _, c := range children {
		for Alive(c) && time.Now().Before(deadline) { // The kernel kills them with their parent; a frozen one too.
			time.Sleep(time.Millisecond)
		}
	}
}

// Stop asks the process to end with SIGTERM and returns how it ended: nil for exit code 0. When ctx ends first it is killed.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	r := p.run
	if r == nil || r.ended() {
		p.mu.Unlock()
		return nil
	}
	r.wanted = true
	err := syscall.Kill(r.pid, syscall.SIGTERM)
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop %s: %w", p.Name, ctx.Err())
	}
	if r.err != nil {
		return fmt.Errorf("stop %s: %w\n%s", p.Name, r.err, p.Tail(10))
	}
	return nil
}

// Freeze stops the process and its children in their tracks (SIGSTOP) until Thaw; connections to them stay open.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil || p.run.ended() {
		return
	}
	for _, pid := range append([]int{p.run.pid}, Children(p.run.pid)...) {
		_ = syscall.Kill(pid, s) // It may have ended just now.
	}
}

// Output is what the last run printed so far.
func (p *Process) Output() string {
	b, err := os.ReadFile(p.out)
	if err != nil {
		return ""
	}
	return string(b)
}

// errEnded says that a process ended while something was awaited of it.
var errEnded = errors.New("it ended")

// AwaitOutput waits until what the process printed satisfies want, and returns it.
func (p *Process) AwaitOutput(ctx context.Context, want func(string) bool) (string, error) {
	for {
		ended := !p.Running() // before the look: what it printed last counts
		if s := p.Output(); want(s) {
			return s, nil
		}
		err := ctx.Err()
		if ended {
			err = errEnded
		}
		if err != nil {
			return "", fmt.Errorf("wait for %s: %w\n%s", p.Name, err, p.Tail(10))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Tail is the end of the process's log.
func (p *Process) Tail(lines int) string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
