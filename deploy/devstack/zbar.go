package devstack

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// zbar reads QR symbols. Nothing that runs needs it: tests read what they have drawn.
const zbar = "zbarimg"

// zbarPackagers are the ways to install it, in the order of trial.
func zbarPackagers() []packager {
	const apt = "apt-get update -q && apt-get install -q -y --no-install-recommends zbar-tools"
	return []packager{
		{"apt-get", "sudo apt-get install -y --no-install-recommends zbar-tools", []string{"sh", "-c", apt}, true},
		{"dnf", "sudo dnf install -y zbar", []string{"dnf", "install", "-y", "zbar"}, true},
		{"apk", "sudo apk add zbar", []string{"apk", "add", "zbar"}, true},
		{"brew", "brew install zbar", []string{"brew", "install", "zbar"}, false},
	}
}

func zbarAdvice() string {
	if p := findPackager(zbarPackagers()); p != nil {
		return "run `" + p.advice + "`"
	}
	return "install zbar so that zbarimg is on PATH"
}

// setupZBar tries to have the reader on PATH. That it cannot is no error: Linkfold works without it.
func setupZBar(ctx context.Context, out io.Writer) {
	if _, err := exec.LookPath(zbar); err != nil {
		if p := findPackager(zbarPackagers()); p != nil {
			if err := p.install(ctx, out, zbar); err != nil {
				fmt.Fprintf(out, "%s: %v\n", zbar, err)
			}
		}
	}
	program, err := exec.LookPath(zbar)
	if err != nil {
		fmt.Fprintf(out, "%s is missing, which only tests of QR symbols need: %s\n", zbar, zbarAdvice())
		return
	}
	fmt.Fprintf(out, "%s: %s\n", zbar, program)
}

// ReadQR returns what a decoder reads from the QR symbol in a picture, a PNG file; empty when it reads nothing. When the decoder is missing on
// this machine the test is skipped, or fails when the environment variable CI is set.
func ReadQR(t testing.TB, file string) string {
	t.Helper()
	program, err := exec.LookPath(zbar)
	if err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("%s is missing: %s", zbar, zbarAdvice())
		}
		t.Fatalf("%s is missing: %s", zbar, zbarAdvice())
	}
	out, err := exec.CommandContext(t.Context(), program, "--raw", "-q", "-Sdisable", "-Sqrcode.enable", file).Output()
	// 4 is its code for no symbol.
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 4 {
		return ""
	}
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	return strings.TrimSuffix(string(out), "\n")
}
