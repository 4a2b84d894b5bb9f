package service

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Defaults fills cfg with the defaults of its kong tags: what a program gets that was started without arguments and
// environment. Nothing is validated: the caller has settings to add.
func Defaults[C any](cfg *C) error {
	var p struct {
		Config C `embed:""`
	}
	if err := kong.ApplyDefaults(&p); err != nil {
		return fmt.Errorf("apply defaults: %w", err)
	}
	*cfg = p.Config
	return nil
}
