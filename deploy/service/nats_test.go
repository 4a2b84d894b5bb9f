package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// fakeNATS speaks as much of the protocol as a client needs to feel connected.
type fakeNATS struct {
	l     net.Listener
	conns sync.WaitGroup
}

func startFakeNATS(t *testing.T) *fakeNATS {
	f := &fakeNATS{l: listen(t)}
	f.conns.Go(func() {
		for {
			c, err := f.l.Accept()
			if err != nil {
				return
			}
			f.conns.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() { f.l.Close(); f.conns.Wait() })
	return f
}

func (f *fakeNATS) serve(c net.Conn) {
	defer c.Close()
	fmt.Fprint(c, `INFO {"server_id":"x","version":"2.15.2","proto":1,"headers":true,"max_payload":1048576}`+"\r\n")
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "PING") {
			fmt.Fprint(c, "PONG\r\n")
		}
	}
}

func TestConnectNATS(t *testing.T) {
	f := startFakeNATS(t)
	conn, err := ConnectNATS(t.Context(), NATSOptions{URL: "nats://" + f.l.Addr().String(), Name: "sample"})
	if err != nil {
		t.Fatal(err)
	}
	if conn.Opts.ReconnectBufSize != -1 || conn.Opts.MaxReconnect != -1 || conn.Opts.Name != "sample" {
		t.Errorf("options %+v", conn.Opts)
	}
	if err := NATSReady(conn)(t.Context()); err != nil {
		t.Error(err)
	}
	conn.Close()
	if err := WaitNATS(t.Context(), conn); err == nil {
		t.Error("a closed connection is up")
	}
	if err := NATSReady(conn)(t.Context()); err == nil {
		t.Error("a closed connection is ready")
	}
}

// A connection to a server that is down is there at once, buffers nothing, and comes up by itself.
func TestDialNATSWithoutAServer(t *testing.T) {
	l := listen(t)
	address := l.Addr().String()
	l.Close()
	conn, err := DialNATS(NATSOptions{URL: "nats://" + address})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		conn.Barrier(func() {})
	}()
	if err := conn.Publish("x", nil); !errors.Is(err, nats.ErrReconnectBufExceeded) {
		t.Errorf("publish: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no patience"))
	if err := WaitNATS(ctx, conn); err == nil || !strings.Contains(err.Error(), "no patience") {
		t.Errorf("wait: %v", err)
	}
}

func TestDialNATSRefusesNonsense(t *testing.T) {
	if _, err := DialNATS(NATSOptions{URL: "nats://127.0.0.1", Credentials: "not-there.creds"}); err == nil {
		t.Error("credentials that are not there were accepted")
	}
}
