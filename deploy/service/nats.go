package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
)

// NATSOptions say how to connect to NATS.
type NATSOptions struct {
	URL         string // nats://user:password@host:port, several separated by commas
	Name        string // of the client, for the server's monitoring
	Credentials string // a .creds file; empty: what the URL says
	Log         *slog.Logger
	Options     []nats.Option // more of them; they win
}

// DialNATS returns a connection at once, be the server there or not, that goes on trying for ever. While it is not
// connected nothing is buffered: a publish fails, and its caller keeps the message (PIPELINE.md 1.4: a client's buffer
// would be flushed later, behind the caller's own retries). Changes of the connection are logged. The caller closes it.
func DialNATS(o NATSOptions) (*nats.Conn, error) {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	options := []nats.Option{
		nats.Name(o.Name),
		nats.Timeout(2 * time.Second),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(), // the server may know the password after its restart; the refusals are logged
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	options = append(append(options, natsLog(log)...), o.Options...)
	conn, err := nats.Connect(o.URL, options...)
	if notURL := (*url.Error)(nil); errors.As(err, &notURL) {
		return nil, errors.New("connect to nats: an address is not a URL") // that error would show the password
	}
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	return conn, nil
}

// ConnectNATS is DialNATS, and waits until the connection is up. When ctx ends first, the error wraps its cause and
// says what the last attempt met.
func ConnectNATS(ctx context.Context, o NATSOptions) (*nats.Conn, error) {
	conn, err := DialNATS(o)
	if err != nil {
		return nil, err
	}
	if err := WaitNATS(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// WaitNATS waits until the connection is up, or is closed, or ctx ends.
func WaitNATS(ctx context.Context, conn *nats.Conn) error {
	changed := conn.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer conn.RemoveStatusListener(changed)
	for {
		switch conn.Status() {
		case nats.CONNECTED:
			return nil
		case nats.CLOSED:
			return errors.Join(errors.New("connect to nats: the connection was closed"), conn.LastError())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("connect to nats: %w; last error: %v", context.Cause(ctx), conn.LastError())
		}
	}
}

// NATSReady is a readiness check that fails while the connection is down.
func NATSReady(conn *nats.Conn) Check {
	return func(context.Context) error {
		if conn.IsConnected() {
			return nil
		}
		return fmt.Errorf("nats is not connected: %v", conn.LastError())
	}
}

// natsLog reports changes of the connection. The URL is never logged: it may hold a password.
func natsLog(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.ConnectHandler(func(c *nats.Conn) { log.Info("nats connected", "address", c.ConnectedAddr()) }),
		nats.ReconnectHandler(func(c *nats.Conn) { log.Info("nats reconnected", "address", c.ConnectedAddr()) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // Without one it was closed here.
				log.Warn("nats disconnected", "err", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { log.Debug("nats connection attempt failed", "err", err) }),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			log.Warn("nats error", "subject", subject, "err", err)
		}),
	}
}
