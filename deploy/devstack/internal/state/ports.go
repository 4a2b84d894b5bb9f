package state

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Free ports are looked for in this range. It lies below the range from which the kernel takes the source ports of
// outgoing connections (32768 and up on Linux): there, a client that keeps dialling the port of a server that is down
// can end up connected to itself and then holds the port, so that the server cannot come back.
const (
	firstPort = 10240
	lastPort  = 32000
)

var errNoPort = errors.New("find free port: none found")

// Port returns the loopback TCP port recorded under name in dir. A fixed port, unless it is 0, replaces what is
// recorded. A recorded port that something else uses by now is replaced by a free one; so is a missing one.
func Port(ctx context.Context, dir, name string, fixed int) (int, error) {
	var port int
	err := update(ctx, dir, "ports.json", func(ports map[string]int) (bool, error) {
		old, recorded := ports[name]
		switch {
		case fixed != 0:
			port = fixed
		case recorded && PortFree(old):
			port = old
		default:
			p, err := freePort(ports)
			if err != nil {
				return false, err
			}
			port = p
		}
		ports[name] = port
		return port != old, nil
	})
	return port, err
}

// PortFree reports whether nobody listens on the loopback port. It asks by connecting: listening for a moment would make the port look
// taken to others, and a child that is just being forked would hold the socket for longer than that.
func PortFree(port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err == nil {
		conn.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// freePort draws a port which nobody listens on and which is not taken by another name.
func freePort(taken map[string]int) (int, error) {
	used := map[int]bool{}
	for _, p := range taken {
		used[p] = true
	}
	for range 1000 {
		p := firstPort + rand.IntN(lastPort-firstPort)
		if !used[p] && PortFree(p) {
			return p, nil
		}
	}
	return 0, errNoPort
}

// FreePort draws a port on which nobody listens.
func FreePort() (int, error) { return freePort(nil) }
