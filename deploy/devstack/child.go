package devstack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"linkfold/deploy/devstack/internal/chdb"
	"linkfold/deploy/devstack/internal/process"
)

// childVariable makes a copy of this executable a server: its value is a childSpec in JSON.
const childVariable = "LINKFOLD_DEVSTACK_CHILD"

// childSpec tells a child which server it is. It holds no passwords, because other processes of the user can read a
// process's environment; those are in files.
type childSpec struct {
	Server  Server
	Dir     string // of the stack
	Port    int    `json:",omitempty"` // NATS
	Library string `json:",omitempty"` // ClickHouse
	Config  string `json:",omitempty"` // ClickHouse
}

// RunChild must be called first in main, and in the TestMain of tests that start a stack, before flags are parsed. In
// a process that a stack has started as one of its servers it runs that server, and returns true when the server has
// ended; the caller then returns, too. A failure is printed and ends the process with code 1. In any other process it
// returns false at once.
func RunChild() bool {
	value, requested := os.LookupEnv(childVariable)
	if !requested {
		return false
	}
	os.Unsetenv(childVariable) // not for the children of this child
	if err := runChild(value); err != nil {
		fmt.Fprintln(os.Stderr, "devstack child:", err)
		os.Exit(1)
	}
	return true
}

// childRequested reports whether this process should have called RunChild and has not.
func childRequested() bool {
	_, requested := os.LookupEnv(childVariable)
	return requested
}

func runChild(value string) error {
	var spec childSpec
	if err := json.Unmarshal([]byte(value), &spec); err != nil {
		return fmt.Errorf("read %s: %v", childVariable, err)
	}
	switch spec.Server {
	case ClickHouse:
		return chdb.Serve(spec.Library, spec.Config)
	case NATS:
		return serveNATS(spec)
	}
	return fmt.Errorf("run %q: not a server that runs as a copy of this program", spec.Server)
}

// launchChild starts a copy of this executable as the server.
func launchChild(spec childSpec, inherit *os.File) (run, error) {
	value, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	self, err := executable()
	if err != nil {
		return nil, err
	}
	return startProcess(process.Spec{
		Path: self, Name: "linkfold-" + string(spec.Server), Args: []string{spec.Dir},
		Env: []string{
			childVariable + "=" + string(value),
			"TZ=UTC",                   // the engine library takes the machine's time zone, whatever its configuration says
			"GORACE=atexit_sleep_ms=0", // a program built with -race would linger for a second at its end
		},
		Dir:     spec.Dir,
		LogFile: filepath.Join(spec.Dir, "logs", string(spec.Server)+".out"),
		Inherit: []*os.File{inherit}, Stdin: true,
	})
}

// executable is the path of this program. On Linux it is one that stays right when the file is replaced or removed
// while the program runs, as a new build does.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}
