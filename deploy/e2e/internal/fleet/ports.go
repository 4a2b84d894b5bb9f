package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// FreeAddress is a free loopback address. It lies below the kernel's own range of ports: there a client that keeps dialling a server that is
// down may be connected to itself and then holds the server's port.
func FreeAddress() (string, error) {
	for range 1000 {
		a := fmt.Sprintf("127.0.0.1:%d", 10240+rand.IntN(32000-10240))
		l, err := net.Listen("tcp", a)
		if err != nil {
			continue
		}
		return a, l.Close()
	}
	return "", errors.New("find free port: none found")
}
