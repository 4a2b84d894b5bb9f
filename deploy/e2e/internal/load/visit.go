package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// visitWait is how long a visitor waits for an answer; a frozen redirector gives none.
const visitWait = 2 * time.Second

// visitor has one connection to one redirector. It is not net/http's client, because that sends a request again by itself when a
// connection breaks: then one id could be two requests.
type visitor struct {
	address, host string
	conn          net.Conn
	in            *bufio.Reader
}

// visit asks for a path and returns status and Location. Any error means that no whole answer came.
func (v *visitor) visit(path string) (status int, location string, err error) {
	if v.conn == nil {
		if err := v.dial(); err != nil {
			return 0, "", err
		}
	}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	if err := v.conn.SetDeadline(time.Now().Add(visitWait)); err != nil {
		return 0, "", fmt.Errorf("set deadline: %w", err)
	}
	if _, err := fmt.Fprintf(v.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: linkfold-e2e\r\n\r\n", path, v.host); err != nil {
		return 0, "", fmt.Errorf("send request: %w", err)
	}
	resp, err := http.ReadResponse(v.in, nil)
	if err != nil {
		return 0, "", fmt.Errorf("read answer: %w", err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, "", fmt.Errorf("read answer: %w", err)
	}
	if resp.Close {
		v.close()
	}
	return resp.StatusCode, resp.Header.Get("Location"), nil
}

func (v *visitor) dial() error {
	c, err := net.DialTimeout("tcp", v.address, visitWait)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	v.conn, v.in = c, bufio.NewReader(c)
	return nil
}

func (v *visitor) close() {
	if v.conn != nil {
		_ = v.conn.Close() // Nothing is waited for on it any more.
		v.conn = nil
	}
}
