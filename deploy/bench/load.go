package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// ioTimeout bounds the wait for one answer.
const ioTimeout = 20 * time.Second

// errAnswer means that a server answered something else than it should.
var errAnswer = errors.New("wrong answer")

// target is where redirects are asked for, and what they must say.
type target struct {
	address  string
	host     string   // Host header
	paths    []string // asked in turn
	location string   // that every answer must have
}

// request is a browser's: without a cookie, as most scanners of QR codes are new visitors.
func (t target) request(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + t.host + "\r\n" +
		"User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"Accept-Language: de-DE,de;q=0.9,en;q=0.8\r\nReferer: https://www.example.net/a/page\r\n\r\n")
}

// client is one keep-alive connection. For one goroutine.
type client struct {
	conn net.Conn
	r    *bufio.Reader
}

func dial(ctx context.Context, address string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &client{conn: conn, r: bufio.NewReaderSize(conn, 8<<10)}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// get sends a request and reads the whole answer. location is valid until the next call.
func (c *client) get(request []byte) (status int, location []byte, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
		return 0, nil, fmt.Errorf("set deadline: %w", err)
	}
	if _, err := c.conn.Write(request); err != nil {
		return 0, nil, fmt.Errorf("send request: %w", err)
	}
	return c.answer()
}

// answer parses no more of an answer than is needed to check it: a client like net/http would use more of the machine than the servers.
func (c *client) answer() (status int, location []byte, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	if len(line) < 12 {
		return 0, nil, fmt.Errorf("status line %q: %w", line, errAnswer)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, fmt.Errorf("status line %q: %w", line, errAnswer)
	}
	length := 0
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return 0, nil, fmt.Errorf("read answer: %w", err)
		}
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		if len(name) == 0 {
			break
		}
		switch {
		case ok && len(name) == len("Location") && bytes.EqualFold(name, []byte("Location")):
			location = bytes.Clone(value)
		case ok && len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, nil, fmt.Errorf("content length %q: %w", value, errAnswer)
			}
		}
	}
	if _, err := c.r.Discard(length); err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	return status, location, nil
}

// redirect is get, and wants 302 to one place.
func (c *client) redirect(request []byte, want string) error {
	status, location, err := c.get(request)
	if err != nil {
		return err
	}
	if status != 302 || string(location) != want {
		return fmt.Errorf("status %d to %q, want 302 to %q: %w", status, location, want, errAnswer)
	}
	return nil
}

// closedLoop sends n requests over some connections, each of which sends the next when it has the answer, and returns the time that
// took. The first wrong answer ends it.
func closedLoop(ctx context.Context, t target, connections, n int) (time.Duration, error) {
	clients := make([]*client, connections)
	for i := range clients {
		c, err := dial(ctx, t.address)
		if err != nil {
			return 0, err
		}
		defer c.close()
		clients[i] = c
	}
	requests := make([][]byte, len(t.paths))
	for i, p := range t.paths {
		requests[i] = t.request(p)
	}
	g, gctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i, c := range clients {
		g.Go(func() error {
			for k := i; k < n && gctx.Err() == nil; k += connections {
				if err := c.redirect(requests[k%len(requests)], t.location); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return time.Since(begun), errors.Join(err, ctx.Err())
}

// paced sends perSecond requests per second, spread over some connections, until ctx ends, and returns how many were answered. A
// connection that is late does not wait before the next.
func paced(ctx context.Context, t target, connections, perSecond int) (sent int, err error) {
	counts := make([]int, connections)
	g, gctx := errgroup.WithContext(context.WithoutCancel(ctx))
	gap := time.Second * time.Duration(connections) / time.Duration(perSecond)
	for i := range counts {
		g.Go(func() error {
			c, err := dial(gctx, t.address)
			if err != nil {
				return err
			}
			defer c.close()
			next := time.Now().Add(gap * time.Duration(i) / time.Duration(connections))
			for k := i; ; k++ {
				select {
				case <-ctx.Done():
					return nil
				case <-gctx.Done():
					return nil
				case <-time.After(time.Until(next)):
				}
				if err := c.redirect(t.request(t.paths[k%len(t.paths)]), t.location); err != nil {
					return err
				}
				counts[i]++
				next = next.Add(gap)
			}
		})
	}
	err = g.Wait()
	for _, n := range counts {
		sent += n
	}
	return sent, err
}
