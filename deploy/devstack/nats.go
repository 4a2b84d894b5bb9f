package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"linkfold/deploy/devstack/internal/natsd"
	"linkfold/deploy/devstack/internal/state"
)

const loopback = "127.0.0.1"

// natsKind runs the embedded NATS server, in this process or in a child.
type natsKind struct {
	dir      string
	fixed    int
	child    bool
	port     int
	password string
}

func newNATS(c Config) kind {
	return &natsKind{dir: c.Dir, fixed: c.NATSPort, child: c.NATSChild}
}

func (n *natsKind) configure(ctx context.Context) (string, error) {
	var err error
	if n.port, err = choosePort(ctx, n.dir, string(NATS), n.fixed); err != nil {
		return "", err
	}
	if n.password, err = state.Secret(ctx, n.dir, string(NATS)); err != nil {
		return "", err
	}
	u := url.URL{Scheme: "nats", User: url.UserPassword("linkfold", n.password), Host: hostPort(n.port)}
	return u.String(), nil
}

func (n *natsKind) launch(_ context.Context, inherit *os.File) (run, error) {
	if n.child {
		return launchChild(childSpec{Server: NATS, Dir: n.dir, Port: n.port}, inherit)
	}
	s, err := natsd.Start(n.options())
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (n *natsKind) options() natsd.Options {
	return natsd.Options{
		Host: loopback, Port: n.port, User: "linkfold", Password: n.password,
		StoreDir: filepath.Join(n.dir, string(NATS)), LogFile: filepath.Join(n.dir, "logs", "nats.log"),
	}
}

func (n *natsKind) probe(ctx context.Context, url string) error { return probeNATS(ctx, url) }

// choosePort returns the port recorded under name, or the fixed one, and an error when a fixed one is in use.
func choosePort(ctx context.Context, dir, name string, fixed int) (int, error) {
	if fixed < 0 || fixed > 65535 {
		return 0, fmt.Errorf("%s port %d: not a port number", name, fixed)
	}
	port, err := state.Port(ctx, dir, name, fixed)
	if err != nil {
		return 0, err
	}
	if !state.PortFree(port) {
		return 0, fmt.Errorf("%s port %d: %w", name, port, errPortInUse)
	}
	return port, nil
}

var errPortInUse = errors.New("in use by another process")

func hostPort(port int) string { return loopback + ":" + strconv.Itoa(port) }
