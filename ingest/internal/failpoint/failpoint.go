// Package failpoint stops a process at a named place, so that a test can see what a crash there does.
//
// A spec is a comma-separated list of "name=action" or "name=action@n": the n-th time the place is reached, the first
// by default. Actions: exit (the process ends at once, nothing is flushed), stop (SIGSTOP to itself: somebody else goes
// on, and this process is a zombie when it is continued), block (the goroutine waits for ever). Without a spec Hit is one
// comparison.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ExitCode is the code with which the action exit ends the process.
const ExitCode = 86

// settle is how long the goroutine waits after SIGSTOP: another thread may take the signal, and this one would run on
// for a moment.
const settle = 20 * time.Millisecond

// Set is a parsed spec. The nil Set has no failpoints.
type Set struct{ points map[string]*point }

type point struct {
	action string
	nth    int64
	hits   atomic.Int64
}

// Parse reads a spec. An empty one gives a nil Set.
func Parse(spec string) (*Set, error) {
	if spec == "" {
		return nil, nil
	}
	s := &Set{points: map[string]*point{}}
	for part := range strings.SplitSeq(spec, ",") {
		name, action, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("failpoint %q is not name=action", part)
		}
		p, err := parseAction(action)
		if err != nil {
			return nil, fmt.Errorf("failpoint %q: %w", part, err)
		}
		s.points[name] = p
	}
	return s, nil
}

func parseAction(text string) (*point, error) {
	action, count, counted := strings.Cut(text, "@")
	p := &point{action: action, nth: 1}
	if counted {
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("count %q is not a positive number", count)
		}
		p.nth = n
	}
	switch action {
	case "exit", "stop", "block":
		return p, nil
	}
	return nil, fmt.Errorf("unknown action %q", action)
}

// Hit says that the place called name is reached, and does what the spec says about it.
func (s *Set) Hit(name string) {
	if s == nil {
		return
	}
	p := s.points[name]
	if p == nil || p.hits.Add(1) != p.nth {
		return
	}
	fmt.Fprintf(os.Stderr, "failpoint %s=%s\n", name, p.action)
	switch p.action {
	case "exit":
		os.Exit(ExitCode)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(settle)
	case "block":
		select {}
	}
}
