package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The version in this package is the one that npm installs, and the lock file binds the project to no registry.
func TestLockFile(t *testing.T) {
	data, err := npmFiles.ReadFile("npm/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity, Resolved string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	p := lock.Packages["node_modules/@chdb/lib-linux-x64-gnu"]
	if p.Version != Version || !strings.HasPrefix(p.Integrity, "sha512-") || p.Resolved != "" {
		t.Errorf("locked: %+v", p)
	}
	if bytes.Contains(data, []byte("http")) {
		t.Error("the lock file names a host")
	}
}

// fakeNPM puts an npm on PATH that runs the script in the project's directory, and counts its calls in a file.
func fakeNPM(t *testing.T, script string) (calls func() int) {
	t.Helper()
	if err := Supported(); err != nil {
		t.Skip(err)
	}
	bin := t.TempDir()
	count := filepath.Join(bin, "calls")
	text := "#!/bin/sh\necho call >>" + count + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("LINKFOLD_CACHE", filepath.Join(t.TempDir(), "cache"))
	return func() int {
		data, _ := os.ReadFile(count)
		return bytes.Count(data, []byte("call"))
	}
}

const fakeInstall = `test -f package.json && test -f package-lock.json && test -f .npmrc || exit 9
mkdir -p node_modules/@chdb/lib-linux-x64-gnu && echo so >node_modules/@chdb/lib-linux-x64-gnu/libchdb.so`

func TestInstallOnceThoughManyAsk(t *testing.T) {
	calls := fakeNPM(t, fakeInstall)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := Install(context.Background(), &bytes.Buffer{})
			if err != nil {
				t.Error(err)
			} else if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := calls(); n != 1 {
		t.Errorf("npm was called %d times", n)
	}
}

func TestInstallLeavesNothingHalfDone(t *testing.T) {
	for name, script := range map[string]string{
		"npm fails":            "mkdir -p node_modules/@chdb; echo no network >&2; exit 1",
		"npm skips the option": "exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			fakeNPM(t, script)
			if _, err := Install(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "npm ci") {
				t.Errorf("install: %v", err)
			}
			left, err := filepath.Glob(filepath.Join(os.Getenv("LINKFOLD_CACHE"), "*"))
			if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
				t.Errorf("left: %v, %v", left, err)
			}
			fakeNPM(t, fakeInstall)
			if _, err := Install(t.Context(), &bytes.Buffer{}); err != nil {
				t.Error("second try:", err)
			}
		})
	}
}
