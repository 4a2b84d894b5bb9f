package engine

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"linkfold/deploy/devstack/internal/state"
)

// Dot files are embedded only when they are named. The .npmrc keeps registry hosts out of the lock file and scripts
// from running.
//
//go:embed npm/package.json npm/package-lock.json npm/.npmrc
var npmFiles embed.FS

// Install makes sure that the pinned version is in the cache directory and returns the library's path. It does nothing
// when it is there already, may run in several processes at once, and leaves nothing half installed when interrupted:
// npm works in a temporary directory beside the final one, which is renamed into place at the end. Progress goes to
// out, a line at a time.
func Install(ctx context.Context, out io.Writer) (string, error) {
	if path, err := Find(); err == nil || errors.Is(err, ErrUnsupported) {
		return path, err
	}
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("create cache directory: %w", err)
	}
	lock, err := state.Lock(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if path, err := Find(); err == nil {
		return path, nil // another process installed it while this one waited
	}
	if err := installTo(ctx, dir, out); err != nil {
		return "", fmt.Errorf("install clickhouse engine: %w", err)
	}
	return Find()
}

// installTo lets npm install into a temporary directory and renames that to dir. The caller holds the lock.
func installTo(ctx context.Context, dir string, out io.Writer) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("npm is missing: install Node.js with npm (https://nodejs.org), or put a clickhouse binary on PATH")
	}
	removeLeftovers(dir)
	temp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := writePackage(temp); err != nil {
		return err
	}
	fmt.Fprintf(out, "clickhouse: downloading the engine %s with npm (170 MiB, 545 MiB on disk) to %s\n", Version, dir)
	cmd := exec.CommandContext(ctx, npm, "ci", "--no-progress")
	cmd.Dir, cmd.Stdout, cmd.Stderr = temp, out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm ci: %w", err)
	}
	// An optional dependency that does not fit the platform is skipped by npm without an error.
	if _, err := os.Stat(libraryIn(temp)); err != nil {
		return fmt.Errorf("npm ci left no library: %v", err)
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// removeLeftovers removes what interrupted installations left; nobody else works there while the lock is held.
func removeLeftovers(dir string) {
	old, _ := filepath.Glob(dir + ".tmp-*") // only a malformed pattern is an error
	for _, path := range append(old, dir) {
		os.RemoveAll(path)
	}
}

// writePackage writes the embedded npm project to dir.
func writePackage(dir string) error {
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		data, err := npmFiles.ReadFile("npm/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
