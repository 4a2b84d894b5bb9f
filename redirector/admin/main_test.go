package admin

import (
	"testing"

	"linkfold/deploy/devstack"
)

func TestMain(m *testing.M) { devstack.TestMain(m) }
