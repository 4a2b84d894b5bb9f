// Package engine finds and installs the ClickHouse engine for development: libchdb.so of a pinned npm package, in a
// cache directory that all checkouts of a user share.
//
// The package holds the real engine with its TCP and HTTP servers, and needs nothing but a Linux system with glibc on
// an x86-64 processor with AVX2.
package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/cpu"
)

// Version is the pinned version of the npm package. It is the oldest that can listen: the registry's `latest` was
// still without that when this was pinned. npm/package.json and its lock file say the same version; a test compares.
const Version = "26.7.3-stable.1"

// ErrUnsupported says that the engine cannot run on this machine.
var ErrUnsupported = errors.New("clickhouse engine not supported here")

// ErrMissing says that the engine is not installed.
var ErrMissing = errors.New("clickhouse engine not installed")

// Dir is the directory of the pinned version: below $LINKFOLD_CACHE, or else below linkfold in the user's cache
// directory.
func Dir() (string, error) {
	root := os.Getenv("LINKFOLD_CACHE")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find cache directory (set LINKFOLD_CACHE): %w", err)
		}
		root = filepath.Join(cache, "linkfold")
	}
	return filepath.Abs(filepath.Join(root, "clickhouse-"+Version))
}

// Find returns the path of the installed library; the error wraps ErrMissing or ErrUnsupported.
func Find() (string, error) {
	if err := Supported(); err != nil {
		return "", err
	}
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	path := libraryIn(dir)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %v", ErrMissing, err)
	}
	return path, nil
}

// libraryIn is the path of the library below a directory in which npm has installed the package.
func libraryIn(dir string) string {
	return filepath.Join(dir, "node_modules", "@chdb", "lib-linux-x64-gnu", "libchdb.so")
}

// Supported returns nil or an error that wraps ErrUnsupported and says what the machine lacks.
func Supported() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("%w: it exists for linux/amd64 only, this is %s/%s", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
	}
	// Built for x86-64-v3; on an older processor it would die of an illegal instruction.
	if !cpu.X86.HasAVX2 || !cpu.X86.HasBMI2 || !cpu.X86.HasFMA {
		return fmt.Errorf("%w: the processor lacks AVX2, BMI2 or FMA", ErrUnsupported)
	}
	if _, err := os.Stat("/lib64/ld-linux-x86-64.so.2"); err != nil {
		return fmt.Errorf("%w: it needs glibc (musl, as on Alpine, will not do)", ErrUnsupported)
	}
	return nil
}
