package links

import (
	"testing"

	"go.uber.org/goleak"

	"linkfold/deploy/devstack"
)

func TestMain(m *testing.M) {
	if devstack.RunChild() {
		return
	}
	goleak.VerifyTestMain(m)
}
