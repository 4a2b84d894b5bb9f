package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/deploy/service"
	"linkfold/schema/clickhouse"
)

// peers are the servers that ingest works with.
type peers struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	conn driver.Conn
}

func (p *peers) close() {
	p.nc.Close()
	_ = p.conn.Close() // nothing is in flight any more
}

// errWaiting is what a server is waited for with before the first answer.
var errWaiting = errors.New("no answer yet")

// wait is a condition of readiness that begins unmet.
type wait struct{ err atomic.Pointer[error] }

func (w *wait) set(err error) { w.err.Store(&err) }

func (w *wait) check(context.Context) error { return *w.err.Load() }

type waits struct{ nats, clickhouse *wait }

func newWaits(ready func(string, func(context.Context) error)) waits {
	w := waits{&wait{}, &wait{}}
	w.nats.set(errWaiting)
	w.clickhouse.set(errWaiting)
	ready("ingest streams", w.nats.check)
	ready("ingest tables", w.clickhouse.check)
	return w
}

// retry calls do until it succeeds, ctx ends (nil then), or the error is one that waiting does not cure.
func retry(ctx context.Context, log *slog.Logger, w *wait, msg string, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil {
			w.set(nil)
		}
		if err == nil || fatal(err) {
			return err
		}
		w.set(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
			log.Info(msg, "err", err)
		}
	}
}

// fatal reports an error that stays until somebody changes something.
func fatal(err error) bool {
	return errors.Is(err, clickhouse.ErrNewer) || errors.Is(err, clickhouse.ErrChanged) ||
		errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || errors.Is(err, jetstream.ErrBucketExists)
}

// connect prepares the connections; servers that are away are waited for later.
func connect(c Config, log *slog.Logger) (*peers, error) {
	dsn, err := withReadTimeout(c.ClickHouseDSN)
	if err != nil {
		return nil, err
	}
	// Two per stream: while an insert is open the server is asked how long it has been up.
	conns := 2*len(Streams(c.Streams)) + 2
	conn, err := service.OpenClickHouse(dsn, service.ClickHouseOptions{Name: clientName, MaxConns: conns})
	if err != nil {
		return nil, err
	}
	nc, err := service.DialNATS(service.NATSOptions{URL: c.NATSURL, Name: clientName, Credentials: c.NATSCredentials, Log: log})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, errors.Join(fmt.Errorf("open jetstream: %w", err), conn.Close())
	}
	return &peers{nc, js, conn}, nil
}

const clientName = "linkfold-ingest"

// withReadTimeout bounds the wait for a server that has stopped answering, unless the DSN does; the client's own bound
// is five minutes.
func withReadTimeout(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("read clickhouse dsn: %w", err)
	}
	q := u.Query()
	if !q.Has("read_timeout") {
		q.Set("read_timeout", "30s")
		u.RawQuery = q.Encode()
	}
	return u.String(), nil
}
