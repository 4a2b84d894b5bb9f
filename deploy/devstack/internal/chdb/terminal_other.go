//go:build unix && !linux

package chdb

import (
	"errors"
	"os"
)

type terminal struct {
	master *os.File
	stdin  *os.File
}

// takeTerminal: the engine's library exists for Linux only, so nothing else is ever asked for.
func takeTerminal() (*terminal, error) {
	return nil, errors.New("take terminal: the clickhouse engine runs on linux only")
}
