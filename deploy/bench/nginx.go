package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"linkfold/deploy/devstack"
)

// errNoNginx means that there is no nginx to compare with.
var errNoNginx = errors.New("nginx is not installed: install it (Debian: apt-get install nginx-light) to compare with it")

// nginxConfig is one worker in one process in the foreground, with an access log in its usual format. @ is the directory.
const nginxConfig = `daemon off;
master_process off;
worker_processes 1;
pid @/nginx.pid;
error_log @/error.log;
events { worker_connections 2048; }
http {
    access_log @/access.log;
    client_body_temp_path @/body;
    proxy_temp_path @/proxy;
    fastcgi_temp_path @/fastcgi;
    uwsgi_temp_path @/uwsgi;
    scgi_temp_path @/scgi;
    keepalive_requests 1000000000;
    server {
        listen $ADDRESS;
        return 302 $DESTINATION;
    }
}
`

// nginx starts one; the world's end stops it. The error is errNoNginx when there is none.
func (w *world) nginx(ctx context.Context) (*process, string, error) {
	path, err := findNginx(ctx)
	if err != nil {
		return nil, "", err
	}
	address, err := devstack.FreeAddress()
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(w.dir, "nginx")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("make nginx directory: %w", err)
	}
	config := filepath.Join(dir, "nginx.conf")
	text := strings.NewReplacer("@", dir, "$ADDRESS", address, "$DESTINATION", destination).Replace(nginxConfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, "", fmt.Errorf("write nginx configuration: %w", err)
	}
	p, err := start(command{
		name: "nginx", path: path, args: []string{"-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", config}, log: filepath.Join(w.dir, "logs", "nginx.log"),
	})
	if err != nil {
		return nil, "", err
	}
	w.onClose(p.stop)
	return p, address, p.listening(ctx, address)
}

// findNginx looks where systems put it, and installs it where that is possible without asking anybody.
func findNginx(ctx context.Context) (string, error) {
	if path, ok := lookNginx(); ok {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Getuid() != 0 {
		return "", errNoNginx
	}
	for _, args := range [][]string{{"-qq", "update"}, {"-qq", "install", "-y", "--no-install-recommends", "nginx-light"}} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w (apt-get %s: %v: %s)", errNoNginx, args[1], err, out)
		}
	}
	if path, ok := lookNginx(); ok {
		return path, nil
	}
	return "", errNoNginx
}

func lookNginx() (string, bool) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} { // sbin is often not on a user's PATH
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}
