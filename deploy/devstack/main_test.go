package devstack_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"linkfold/deploy/devstack"
)

// TestMain also serves the test of parent death, for which the test binary is the parent that gets killed.
func TestMain(m *testing.M) {
	if devstack.RunChild() {
		return
	}
	if dir := os.Getenv(victimVariable); dir != "" {
		os.Exit(victim(dir))
	}
	goleak.VerifyTestMain(m)
}
