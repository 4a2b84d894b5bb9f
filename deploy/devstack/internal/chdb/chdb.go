// Package chdb runs libchdb.so, the ClickHouse engine as a shared library, as a ClickHouse server with its native TCP
// and HTTP listeners, in the calling process and without cgo.
//
// The library offers clickhouse-local as one C function, chdb_query_cmdline. Given the statement SYSTEM START LISTEN
// and an interactive prompt that never gets a command, it is a server that runs until the prompt sees the end of its
// input. The process that calls Serve belongs to the library: it takes over the standard files and a thread, and ends
// with the server.
package chdb

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/ebitengine/purego"
)

// errEnded: start-up errors are printed on standard error by the library and give no text of their own.
var errEnded = errors.New("run clickhouse engine: it ended by itself; its reason is in its log")

// engine holds the functions of the library that are used.
type engine struct {
	handleSignals func(on int32)
	commandLine   func(argc int32, argv **byte) (result uintptr)
	errorOf       func(result uintptr) string
}

// Serve runs the engine of the library with the configuration file until SIGTERM, SIGINT or SIGHUP, or the end of
// standard input, and returns nil after such a clean stop. A second signal ends the process at once. Serve does not
// say when the listeners are up, and a listener that could not be opened (port in use) leaves a server without it:
// the caller probes.
func Serve(library, config string) error {
	// The library silently ignores a configuration that is not there, and would then listen without passwords.
	if _, err := os.Stat(config); err != nil {
		return fmt.Errorf("read clickhouse configuration: %w", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := load(library)
	if err != nil {
		return err
	}
	// Otherwise the library replaces the Go runtime's handlers of SIGSEGV and others, and a nil dereference, an
	// ordinary panic in Go, hangs the process.
	e.handleSignals(0)
	t, err := takeTerminal()
	if err != nil {
		return err
	}
	var stopping atomic.Bool
	go stopOnRequest(t, &stopping)
	if text := e.errorOf(e.run(config)); text != "" {
		return fmt.Errorf("run clickhouse engine: %s", text)
	}
	if !stopping.Load() {
		return errEnded
	}
	return nil
}

// load opens the library and looks up its functions.
func load(library string) (*engine, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load clickhouse engine: %w", err)
	}
	var e engine
	purego.RegisterLibFunc(&e.handleSignals, lib, "chdb_set_signal_handlers_enabled")
	purego.RegisterLibFunc(&e.commandLine, lib, "chdb_query_cmdline")
	purego.RegisterLibFunc(&e.errorOf, lib, "chdb_result_error")
	return &e, nil
}

// run calls the engine and returns when the server has ended.
func (e *engine) run(config string) uintptr {
	args := []string{
		"clickhouse-local", "--config-file=" + config,
		"--interactive", "--disable_suggestion", "--history_file=/dev/null",
		"--query=SYSTEM START LISTEN QUERIES ALL", // afterwards the idle prompt keeps the server running
	}
	// C keeps pointers into the arguments for the whole run; argv, which refers to them all, lives as long (KeepAlive).
	argv := make([]*byte, 0, len(args)+1)
	for _, a := range args {
		argv = append(argv, &append([]byte(a), 0)[0])
	}
	argv = append(argv, nil)
	result := e.commandLine(int32(len(args)), &argv[0])
	runtime.KeepAlive(argv)
	return result
}
