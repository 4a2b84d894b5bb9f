package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	projector "linkfold/projector/command"
)

func TestTakeData(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"verify --rulesets": {"verify --rulesets", ""}, "verify --data x --rulesets": {"verify --rulesets", "x"}, "--data=y verify": {"verify", "y"}, "verify --data": {"verify --data", ""},
	} {
		rest, dir := takeData(strings.Fields(in))
		if !slices.Equal(rest, strings.Fields(want[0])) || dir != want[1] {
			t.Errorf("takeData(%s) = %v, %q", in, rest, dir)
		}
	}
}

// A service finds the servers of a running linkfold by its data directory.
func TestServiceOnARunningLinkfold(t *testing.T) {
	in := startUp(t)
	for _, name := range []string{"LINKFOLD_NATS_URL", "LINKFOLD_REDIS_URL", "LINKFOLD_CLICKHOUSE_DSN"} {
		t.Setenv(name, "") // Put back afterwards.
	}
	var screen bytes.Buffer
	main := func(args []string) int { return projector.Main(context.Background(), "linkfold projector", args) }
	if code := runService(main, []string{"verify", "--rulesets", "--data", in.dir}, &screen); code != 0 {
		t.Errorf("exit code %d: %s", code, screen.String())
	}
	if code := runService(main, []string{"verify", "--data", t.TempDir()}, &screen); code != 2 || !strings.Contains(screen.String(), "linkfold up") {
		t.Errorf("exit code %d: %s", code, screen.String())
	}
}
