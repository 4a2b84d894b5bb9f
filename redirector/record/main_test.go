package record

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"linkfold/deploy/devstack"
)

func TestMain(m *testing.M) {
	if devstack.RunChild() {
		return
	}
	if os.Getenv(childEnv) != "" {
		os.Exit(runChild())
	}
	goleak.VerifyTestMain(m)
}
