package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkfold/deploy/devstack"
)

func TestMain(m *testing.M) {
	if devstack.RunChild() {
		return
	}
	if served, err := runChild(); served {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestQuick runs everything once against the real servers: every answer must be right, every table there.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("starts all servers")
	}
	file := filepath.Join(t.TempDir(), "results.json")
	var out strings.Builder
	err := measure(t.Context(), cli{Quick: true, JSON: file}, &out, t.Output())
	if errors.Is(err, devstack.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Tables) != 7 || r.Machine == "" {
		t.Errorf("%d tables from machine %q, want 7", len(r.Tables), r.Machine)
	}
	for _, table := range r.Tables {
		if !strings.Contains(out.String(), table.Title) || len(table.Rows) == 0 {
			t.Errorf("table %q with %d rows is not whole, or not printed", table.Title, len(table.Rows))
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // part of the message
	}{
		{"-only nothing", `no benchmark is called "nothing"`},
		{"-requests 0", "every size must be at least 1"},
		{"-unknown", "unknown flag"},
	} {
		var out, screen strings.Builder
		if code := run(strings.Fields(c.args), &out, &screen); code != 2 || !strings.Contains(screen.String(), c.want) {
			t.Errorf("%s: code %d, %q; want 2 and %q", c.args, code, screen.String(), c.want)
		}
	}
}
