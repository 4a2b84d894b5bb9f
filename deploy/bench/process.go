package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	startWait = 30 * time.Second
	stopWait  = 20 * time.Second
)

// command is a server to start.
type command struct {
	name string // for messages and the log file
	path string
	args []string
	env  []string // beside this process's own
	log  string   // file for its output
}

// process is a running server. It does not outlive this process.
type process struct {
	name, log string
	cmd       *exec.Cmd
	ended     chan struct{}
	err       error // once ended
}

// start starts the command. The thread that does must live as long as the child, see attributes, so it waits for the child's end.
func start(c command) (*process, error) {
	out, err := os.Create(c.log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	cmd := exec.Command(c.path, c.args...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, attributes()
	p := &process{name: c.name, log: c.log, cmd: cmd, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() { // owned by stop
		defer close(p.ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process, by force if it must be. A process that ended earlier, or badly, is an error.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return p.died()
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
	case <-time.After(stopWait):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("stop %s: killed after %v", p.name, stopWait)
	}
	if p.err != nil {
		return p.died()
	}
	return nil
}

// died describes the end of a process, with the last that it said.
func (p *process) died() error {
	tail, _ := os.ReadFile(p.log)
	if len(tail) > 2000 {
		tail = tail[len(tail)-2000:]
	}
	return fmt.Errorf("%s ended: %v\n%s", p.name, p.err, bytes.TrimSpace(tail))
}

// listening waits until the process accepts connections at an address.
func (p *process) listening(ctx context.Context, address string) error {
	return poll(ctx, startWait, 10*time.Millisecond, func(ctx context.Context) (bool, error) {
		select {
		case <-p.ended:
			return false, p.died()
		default:
		}
		c, err := dial(ctx, address)
		if err != nil {
			return false, nil
		}
		c.close()
		return true, nil
	})
}

// poll asks until the answer is yes or an error, or the time is over.
func poll(ctx context.Context, most, every time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not in %v: %w", most, context.DeadlineExceeded))
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// kill is for processes that have nothing to lose.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}
