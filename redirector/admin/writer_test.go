package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkfold/deploy/devstack"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// replyLoss is a proxy to NATS that can lose what the server sends.
type replyLoss struct {
	lose  atomic.Bool
	mu    sync.Mutex
	conns []net.Conn
}

func newReplyLoss(t *testing.T, rawURL string) (*replyLoss, string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	must(t, err)
	target := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &replyLoss{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
			wg.Go(func() { _, _ = io.Copy(lossy{in, &p.lose}, out); _ = in.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); p.heal(); wg.Wait() })
	u.Host = l.Addr().String()
	return p, u.String()
}

// heal loses nothing any more, on new connections.
func (p *replyLoss) heal() {
	p.lose.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

type lossy struct {
	io.Writer
	lose *atomic.Bool
}

func (l lossy) Write(b []byte) (int, error) {
	if l.lose.Load() {
		return len(b), nil
	}
	return l.Writer.Write(b)
}

func created(key, command string) *linkfoldv1.Event {
	return &linkfoldv1.Event{Type: linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED, CommandId: command, State: &linkfoldv1.Event_Link{
		Link: &linkfoldv1.Link{Domain: "go", Key: key, Destination: "https://" + command + ".example/"}}}
}

// A write that was stored but not acknowledged is found by its command id: it is one event, and a success.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		e := newEnv(t)
		proxy, through := newReplyLoss(t, e.stack.NATSURL())
		w := NewWriter(e.connect(through))
		direct := NewWriter(e.js)
		if _, err := w.Current(t.Context(), stream.DomainAggregate("go")); err != nil {
			t.Fatal(err)
		}
		proxy.lose.Store(true)
		var rev uint64
		var wg sync.WaitGroup
		wg.Go(func() {
			var err error
			if rev, err = w.Write(t.Context(), created("k", "mine"), 0); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "stored", func() bool { return e.events() == 2 })
		if changed { // Somebody changes the link before its author learns that it exists.
			_, err := direct.Write(t.Context(), created("k", "theirs"), 2)
			must(t, err)
		}
		proxy.heal()
		wg.Wait()
		if rev != 2 {
			t.Errorf("changed %v: revision %d, want 2", changed, rev)
		}
		if n := e.events(); n != 2 && !changed || n != 3 && changed {
			t.Errorf("changed %v: %d events", changed, n)
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	w := NewWriter(e.js)
	rev, err := w.Write(t.Context(), created("k", "one"), 0)
	must(t, err)
	for _, expected := range []uint64{0, rev - 1, rev + 7} {
		_, err := w.Write(t.Context(), created("k", "two"), expected)
		var c *ConflictError
		if !errors.As(err, &c) || c.Current != rev || c.Aggregate.Key != "k" {
			t.Errorf("expected %d: %v", expected, err)
		}
	}
	if _, err := w.Write(t.Context(), created("k", "two"), rev); err != nil {
		t.Error(err)
	}
}

// Without NATS nobody is told that something was changed, or that it was not.
func TestStreamAway(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	must(t, e.stack.StopServer(context.Background(), devstack.NATS))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := NewWriter(e.js).Write(ctx, created("k", "one"), 0); !errors.Is(err, ErrUnsettled) {
		t.Errorf("Write = %v, want ErrUnsettled", err)
	}
	e.handler = New(Config{Token: token, DefaultDomain: "go"}, e.js, slog.New(slog.DiscardHandler))
	e.want(503, "POST", "/v1/links", `{"key":"k","destination":"https://example.com"}`)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("never happened: ", what)
}
