package devstack

import (
	"errors"
	"fmt"
)

// ErrMissing matches every *MissingError.
var ErrMissing = errors.New("server not installed")

// errNotHandled: without it, a program that forgot RunChild would start itself again and again.
var errNotHandled = errors.New("start devstack: this process is a devstack child; call devstack.RunChild first in main or TestMain")

// MissingError says that a server is not on this machine.
type MissingError struct {
	Server  Server
	Install string // what to do about it, a sentence with the exact command
}

// Error names the server and the cure.
func (e *MissingError) Error() string { return fmt.Sprintf("%s is missing: %s", e.Server, e.Install) }

// Is makes errors.Is(err, ErrMissing) true.
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// DiedError says that a server ended without being asked to.
type DiedError struct {
	Server Server
	Err    error // how it ended, with its last output
}

// Error names the server and how it ended.
func (e *DiedError) Error() string { return fmt.Sprintf("%s ended unexpectedly: %v", e.Server, e.Err) }

// Unwrap returns how it ended.
func (e *DiedError) Unwrap() error { return e.Err }
