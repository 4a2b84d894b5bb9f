package devstack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// installApt installs the package without letting it start a system service.
//
//go:embed install_redis_apt.sh
var installApt string

// packager is a system's way to install Redis.
type packager struct {
	program string
	advice  string   // the command that a person types
	command []string // what Setup runs
	root    bool     // needs the rights of root
}

// packagers in the order of trial.
var packagers = [...]packager{
	{"apt-get", "sudo apt-get install -y --no-install-recommends redis-server", []string{"sh", "-c", installApt}, true},
	{"dnf", "sudo dnf install -y redis", []string{"sh", "-c", "dnf install -y redis || dnf install -y valkey"}, true},
	{"apk", "sudo apk add redis", []string{"apk", "add", "redis"}, true},
	{"brew", "brew install redis", []string{"brew", "install", "redis"}, false},
}

// findPackager returns the first packager of this machine, or nil.
func findPackager() *packager {
	for i := range packagers {
		if _, err := exec.LookPath(packagers[i].program); err == nil {
			return &packagers[i]
		}
	}
	return nil
}

// redisAdvice says how to get Redis on this machine.
func redisAdvice() string {
	const orElse = ", or give a Redis URL"
	if p := findPackager(); p != nil {
		return "run `" + p.advice + "`" + orElse
	}
	return "install redis-server (https://redis.io/docs/latest/operate/oss_and_stack/install) so that it is on PATH" + orElse
}

// setupRedis makes sure that a Redis server is on PATH.
func setupRedis(ctx context.Context, out io.Writer) error {
	if program, err := findRedis(); err == nil {
		fmt.Fprintf(out, "redis: %s\n", program)
		return nil
	}
	p := findPackager()
	if p == nil {
		return &MissingError{Server: Redis, Install: redisAdvice()}
	}
	command, err := p.asRoot(ctx)
	if err != nil {
		return errors.Join(&MissingError{Server: Redis, Install: redisAdvice()}, err)
	}
	fmt.Fprintf(out, "redis: installing with %s\n", p.program)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("set up redis with %s: %w; %s", p.program, err, redisAdvice())
	}
	program, err := findRedis()
	if err != nil {
		return fmt.Errorf("set up redis with %s: it is still not on PATH: %w", p.program, err)
	}
	fmt.Fprintf(out, "redis: %s\n", program)
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
