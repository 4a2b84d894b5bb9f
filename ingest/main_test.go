package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"linkfold/deploy/devstack"
	"linkfold/ingest"
)

// childEnv holds the settings of an ingester that a crash test runs as a process of its own: this test binary again.
const childEnv = "LINKFOLD_INGEST_TEST_CHILD"

func TestMain(m *testing.M) {
	if devstack.RunChild() {
		return
	}
	if settings := os.Getenv(childEnv); settings != "" {
		if err := runChild(settings); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func runChild(settings string) error {
	var c ingest.Config
	if err := json.Unmarshal([]byte(settings), &c); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return ingest.Run(ctx, c, ingest.Deps{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
}
