package record

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a client and NATS and can lose what goes through it, in either direction.
type proxy struct {
	listener     net.Listener
	target       string
	dropRequests atomic.Bool // bytes to the server are lost
	dropReplies  atomic.Bool // bytes to the client are lost

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

// newProxy starts a proxy for the server at rawURL and returns it with the URL that leads through it.
func newProxy(t *testing.T, rawURL string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{listener: l, target: u.Host}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		p.wg.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.wg.Go(func() { pipe(out, in, &p.dropRequests) })
		p.wg.Go(func() { pipe(in, out, &p.dropReplies) })
	}
}

// pipe copies until either side is closed. Once bytes were lost the connection is of no use any more, so it goes on losing them.
func pipe(dst, src net.Conn, drop *atomic.Bool) {
	defer dst.Close()
	buf := make([]byte, 32<<10)
	lost := false
	for {
		n, err := src.Read(buf)
		if lost = lost || drop.Load(); !lost && n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// heal lets everything through again, on new connections.
func (p *proxy) heal() {
	p.dropRequests.Store(false)
	p.dropReplies.Store(false)
	p.cut()
}
