package devstack_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"linkfold/deploy/devstack"
)

func TestMissingServersAreNamedWithTheCure(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("LINKFOLD_CACHE", t.TempDir())
	_, err := devstack.Start(t.Context(), all(t.TempDir()))
	if !errors.Is(err, devstack.ErrMissing) {
		t.Fatalf("start: %v", err)
	}
	for _, want := range []string{"redis is missing: install redis-server", "clickhouse is missing: ", "clickhouse binary on PATH"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestSetupWithoutAnything(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("LINKFOLD_CACHE", t.TempDir())
	err := devstack.Setup(t.Context(), devstack.Options{})
	if !errors.Is(err, devstack.ErrMissing) || !strings.Contains(err.Error(), "clickhouse") {
		t.Fatalf("setup: %v", err)
	}
}

func TestSetupIsInstantWhenDone(t *testing.T) {
	devstack.ForTest(t, devstack.Redis, devstack.ClickHouse) // skips when they are not there
	var out bytes.Buffer
	if err := devstack.Setup(t.Context(), devstack.Options{Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redis: ", "clickhouse: "} {
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "install") {
			t.Errorf("setup said: %s", &out)
		}
	}
}
