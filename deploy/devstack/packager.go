package devstack

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// packager is a system's way to install one program.
type packager struct {
	program string
	advice  string   // the command that a person types
	command []string // what Setup runs
	root    bool     // needs the rights of root
}

// findPackager returns the first packager that this machine has, or nil.
func findPackager(all []packager) *packager {
	for i := range all {
		if _, err := exec.LookPath(all[i].program); err == nil {
			return &all[i]
		}
	}
	return nil
}

// install runs the packager for what it is to install, telling out.
func (p *packager) install(ctx context.Context, out io.Writer, what string) error {
	command, err := p.asRoot(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: installing with %s\n", what, p.program)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("set up %s with %s: %w", what, p.program, err)
	}
	return nil
}

// asRoot returns the command with sudo in front when that is needed and works without a password.
func (p *packager) asRoot(ctx context.Context) ([]string, error) {
	if !p.root || os.Geteuid() == 0 {
		return p.command, nil
	}
	if out, err := exec.CommandContext(ctx, "sudo", "-n", "true").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("not root, and sudo without a password: %v %s", err, strings.TrimSpace(string(out)))
	}
	return append([]string{"sudo", "-n", "DEBIAN_FRONTEND=noninteractive"}, p.command...), nil
}
