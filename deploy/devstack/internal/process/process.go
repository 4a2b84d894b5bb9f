// Package process runs a server as a child process which never outlives its parent.
package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Spec describes a child process.
type Spec struct {
	Path    string     // the program
	Args    []string   // its arguments, without its own name
	Name    string     // what it is called in the process list; empty: Path
	Env     []string   // added to the parent's environment, KEY=value
	Dir     string     // its working directory
	LogFile string     // standard output and error are appended to it
	Inherit []*os.File // open in the child too, as descriptors 3 and up
	Stdin   bool       // give it a pipe as standard input, whose end tells it that its parent is gone
}

// Child is a running or ended child process. Its methods may be called by several goroutines.
type Child struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error // valid once done is closed
}

// Start starts the child and returns at once. The child is in a process group of its own, so that Ctrl-C in a terminal
// reaches the parent alone, which then stops its children in order.
func Start(s Spec) (*Child, error) {
	out, err := os.OpenFile(s.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own copy
	cmd := exec.Command(s.Path, s.Args...)
	if s.Name != "" {
		cmd.Args[0] = s.Name
	}
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = s.Dir, out, out, s.Inherit
	cmd.SysProcAttr = attributes()
	if s.Stdin {
		// Nobody writes to it: the kernel closes it when this process ends, however it ends.
		if _, err := cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	c := &Child{cmd: cmd, log: s.LogFile, done: make(chan struct{})}
	started := make(chan error, 1)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	return c, nil
}

// run starts the process and waits for its end, both on one operating system thread that does nothing else: the
// parent-death signal of Linux is sent when the thread that started the child ends, and the Go runtime ends threads
// as it likes unless a goroutine holds them.
func (c *Child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	if c.err = c.cmd.Start(); c.err != nil {
		started <- c.err
		return
	}
	started <- nil
	c.err = c.cmd.Wait()
}

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the process ended, with the end of what it printed; it waits for that end. It is nil for exit code 0.
func (c *Child) Err() error {
	<-c.done
	if c.err == nil {
		return nil
	}
	if t := tail(c.log); t != "" {
		return fmt.Errorf("%v; last output in %s:\n%s", c.err, c.log, t)
	}
	return c.err
}

// Pid is the process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Stop asks the process to end (SIGTERM) and waits for that. When ctx ends first the process is killed, and the error
// says so.
func (c *Child) Stop(ctx context.Context) error {
	c.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended already
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		c.Kill()
		return fmt.Errorf("stop process %d: killed: %w", c.Pid(), context.Cause(ctx))
	}
}

// Kill ends the process at once (SIGKILL) and waits until it is gone.
func (c *Child) Kill() {
	c.cmd.Process.Kill() // an error means that it has ended already
	<-c.done
}
