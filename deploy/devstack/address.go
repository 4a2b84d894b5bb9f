package devstack

import "linkfold/deploy/devstack/internal/state"

// FreeAddress is a loopback address, host:port, on which nobody listens now, for servers of the caller's own. Another process may take it
// before the caller does; it is drawn at random from a range that outgoing connections do not use, so that is rare.
func FreeAddress() (string, error) {
	port, err := state.FreePort()
	if err != nil {
		return "", err
	}
	return hostPort(port), nil
}
