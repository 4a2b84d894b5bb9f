package devstack

import (
	"context"
	_ "embed"
	"fmt"
	"io"
)

// installApt installs the package without letting it start a system service.
//
//go:embed install_redis_apt.sh
var installApt string

// redisPackagers are the ways to install Redis, in the order of trial.
func redisPackagers() []packager {
	return []packager{
		{"apt-get", "sudo apt-get install -y --no-install-recommends redis-server", []string{"sh", "-c", installApt}, true},
		{"dnf", "sudo dnf install -y redis", []string{"sh", "-c", "dnf install -y redis || dnf install -y valkey"}, true},
		{"apk", "sudo apk add redis", []string{"apk", "add", "redis"}, true},
		{"brew", "brew install redis", []string{"brew", "install", "redis"}, false},
	}
}

// redisAdvice says how to get Redis on this machine.
func redisAdvice() string {
	const orElse = ", or give a Redis URL"
	if p := findPackager(redisPackagers()); p != nil {
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
	p := findPackager(redisPackagers())
	if p == nil {
		return &MissingError{Server: Redis, Install: redisAdvice()}
	}
	if err := p.install(ctx, out, "redis"); err != nil {
		return fmt.Errorf("%w: %w", &MissingError{Server: Redis, Install: redisAdvice()}, err)
	}
	program, err := findRedis()
	if err != nil {
		return fmt.Errorf("set up redis with %s: it is still not on PATH: %w", p.program, err)
	}
	fmt.Fprintf(out, "redis: %s\n", program)
	return nil
}
