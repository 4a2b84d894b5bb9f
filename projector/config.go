package projector

import (
	"errors"
	"fmt"
	"time"

	"linkfold/schema/stream"
)

// Config is everything a projector can be told. The tags make the flags, the LINKFOLD_* variables and the help text.
type Config struct {
	VerifyEvery time.Duration `name:"verify-every" env:"LINKFOLD_PROJECTOR_VERIFY_EVERY" default:"1h" help:"How often the projector compares Redis with the log by itself, and rebuilds on a difference; 0 for never."`
	Streams     stream.Config `embed:"" prefix:"streams-"`
}

// Validate names every setting that makes no sense.
func (c *Config) Validate() error {
	errs := []error{c.Streams.Validate()}
	if c.VerifyEvery < 0 || c.VerifyEvery > 0 && c.VerifyEvery < time.Second {
		errs = append(errs, fmt.Errorf("verify every %v: give 0 for never, or at least 1s", c.VerifyEvery))
	}
	return errors.Join(errs...)
}
