package chdb

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// terminal is the pseudo terminal that the engine gets as its standard input.
type terminal struct {
	master *os.File
	stdin  *os.File // the original standard input
}

// takeTerminal puts a pseudo terminal in place of standard input and drops what is written to standard output, which
// is only the prompt; errors still go to standard error.
//
// Without a terminal clickhouse-local installs an error handler that aborts the process on any exception that leaves
// a connection thread, so that one wrong password over TCP would end the server.
func takeTerminal() (*terminal, error) {
	stdin, err := syscall.Dup(0)
	if err != nil {
		return nil, fmt.Errorf("keep standard input: %w", err)
	}
	syscall.CloseOnExec(stdin)
	master, slave, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer syscall.Close(slave)
	if err := syscall.Dup3(slave, 0, 0); err != nil {
		return nil, fmt.Errorf("replace standard input: %w", err)
	}
	null, err := syscall.Open(os.DevNull, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer syscall.Close(null)
	if err := syscall.Dup3(null, 1, 0); err != nil {
		return nil, fmt.Errorf("replace standard output: %w", err)
	}
	go io.Copy(io.Discard, master) // ends when the master is closed
	return &terminal{master: master, stdin: os.NewFile(uintptr(stdin), "stdin")}, nil
}

// openTerminal opens both ends of a new pseudo terminal. The master is never asked for its descriptor with Fd, which
// would make it blocking, and closing it would then not close it.
func openTerminal() (master *os.File, slave int, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open pseudo terminal: %w", err)
	}
	raw, err := master.SyscallConn()
	if err != nil {
		return nil, 0, err
	}
	var number, unlock int32
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, e1 := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number)))
		_, _, e2 := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock)))
		failed = max(e1, e2)
	})
	if err != nil || failed != 0 {
		return nil, 0, fmt.Errorf("unlock pseudo terminal: %v, %v", err, failed)
	}
	slave, err = syscall.Open(fmt.Sprintf("/dev/pts/%d", number), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open pseudo terminal: %w", err)
	}
	return master, slave, nil
}
