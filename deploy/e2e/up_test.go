package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/devstack"
	"linkfold/deploy/e2e/internal/fleet"
)

// stopWait bounds a clean end; ClickHouse alone may take several seconds.
const stopWait = 30 * time.Second

// TestUp does what a newcomer does: starts everything with one command and types the commands that the first screen suggests. Then the
// process is killed, and everything is still there after the next start.
func TestUp(t *testing.T) {
	skipInShort(t)
	dir := filepath.Join(t.TempDir(), "data")
	listen, admin := freeAddress(t), freeAddress(t)
	up := fleet.NewProcess("up", t.TempDir(), binary, "up", "--data", dir, "--listen", listen, "--admin", admin)
	t.Cleanup(func() {
		up.Kill()
		if t.Failed() {
			t.Logf("log of linkfold up:\n%s", up.Tail(40))
		}
	})
	screen := start(t, up)
	for _, want := range []string{listen, admin, dir, "admin.token", "NATS", "Redis", "ClickHouse", "/readyz"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the first screen does not say %s:\n%s", want, screen)
		}
	}
	commands := suggestions(screen)
	if len(commands) != 3 {
		t.Fatalf("the first screen has %d commands, want 3:\n%s", len(commands), screen)
	}
	token := read(t, filepath.Join(dir, "admin.token"))
	shell(t, commands[0], `"key":"hello"`, `"revision"`)
	shell(t, commands[1], "302", "https://example.com/", "no-store")
	shell(t, commands[2], "localhost/hello")

	children := fleet.Children(up.Pid())
	if len(children) < 2 {
		t.Errorf("%d children, want Redis and ClickHouse", len(children))
	}
	up.Kill() // and waits for them
	for _, pid := range children {
		if fleet.Alive(pid) {
			t.Errorf("child %d lives on after its parent was killed", pid)
		}
	}
	start(t, up)
	if again := read(t, filepath.Join(dir, "admin.token")); again != token {
		t.Error("the second start made another token")
	}
	shell(t, commands[1], "302", "https://example.com/")
	rows := fmt.Sprintf(`linkfold sql --data %s -e "SELECT concat('rows:', toString(count())) FROM hits WHERE key = 'hello'"`, dir)
	shell(t, rows, "rows:2")

	ctx, cancel := context.WithTimeout(t.Context(), stopWait)
	defer cancel()
	if err := up.Stop(ctx); err != nil {
		t.Error(err)
	}
	if err := up.Bad(); err != nil {
		t.Error(err)
	}
}

// start starts linkfold up and returns its first screen.
func start(t *testing.T, up *fleet.Process) string {
	t.Helper()
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), settleWait)
	defer cancel()
	screen, err := up.AwaitOutput(ctx, func(s string) bool { return strings.Contains(s, "\nTry:\n") && strings.HasSuffix(s, "\n\n") })
	missing(t, err)
	return screen
}

// suggestions are the indented lines behind "Try:", those that end in a backslash joined.
func suggestions(screen string) []string {
	_, text, _ := strings.Cut(screen, "\nTry:\n")
	var commands []string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			commands = append(commands, line)
		}
	}
	return commands
}

// shell runs a command as it would be typed, until it succeeds and its output has all that is wanted: a click takes a moment to be a row.
func shell(t *testing.T, command string, want ...string) {
	t.Helper()
	if strings.HasPrefix(command, "curl ") {
		if _, err := exec.LookPath("curl"); err != nil && os.Getenv("CI") == "" {
			t.Skip(err)
		}
	}
	eventually(t, command+" works", func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		for _, w := range want {
			if err == nil && !strings.Contains(string(out), w) {
				err = fmt.Errorf("it does not say %s", w)
			}
		}
		if err != nil {
			return fmt.Errorf("%w:\n%s", err, out)
		}
		return nil
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	a, err := devstack.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return a
}
