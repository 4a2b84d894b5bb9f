package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrLocked says that another process holds a lock and did not let go of it in time.
var ErrLocked = errors.New("in use by another process")

// Lock takes the exclusive lock on the file at path, creating it when missing, and waits for it until ctx ends; then
// the error wraps ErrLocked. Closing the returned file gives the lock back.
//
// The lock belongs to the open file, not to the process: a child that inherits the file holds the lock too, for as
// long as it lives. So whoever gets the lock of a server's directory knows that no server of an earlier, killed
// owner is still writing there.
func Lock(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			file.Close()
			return nil, fmt.Errorf("lock %s: %v", path, err)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
		case <-tick.C:
		}
	}
}
