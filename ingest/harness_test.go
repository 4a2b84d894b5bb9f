package ingest_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"linkfold/deploy/devstack"
	"linkfold/ingest"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// env is one NATS and one empty ClickHouse database.
type env struct {
	t    testing.TB
	nats *devstack.Stack
	cfg  ingest.Config
	js   jetstream.JetStream
	conn driver.Conn
}

// newEnv starts a NATS for the test and makes a database in the given stack.
func newEnv(t testing.TB, clickhouse *devstack.Stack) *env {
	t.Helper()
	e := &env{t: t, nats: devstack.ForTest(t, devstack.NATS), cfg: ingest.Defaults()}
	e.cfg.NATSURL, e.cfg.ClickHouseDSN = e.nats.NATSURL(), clickhouse.Database(t)
	e.cfg.Until, e.cfg.MaxExecution, e.cfg.Grace = 2*time.Second, time.Second, time.Second
	e.cfg.Takeover, e.cfg.MaxDelay = 500*time.Millisecond, 20*time.Millisecond
	nc, err := nats.Connect(e.cfg.NATSURL, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	must(t, err)
	t.Cleanup(nc.Close)
	e.js, err = jetstream.New(nc)
	must(t, err)
	must(t, stream.Ensure(t.Context(), e.js, e.cfg.Streams))
	o, err := ch.ParseDSN(e.cfg.ClickHouseDSN)
	must(t, err)
	e.conn, err = ch.Open(o)
	must(t, err)
	t.Cleanup(func() { e.conn.Close() })
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs ingest until the returned function is called, which waits for it; the end of the test calls it too.
func (e *env) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ingest.Run(ctx, e.cfg, ingest.Deps{Log: testLog(e.t)}) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			e.t.Error("run:", err)
		}
	}
	e.t.Cleanup(stop)
	return stop
}

func testLog(t testing.TB) *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return slog.New(slog.DiscardHandler)
}

func testHit(i int) *linkfoldv1.Hit {
	id, _ := uuid.NewV7()
	return &linkfoldv1.Hit{
		Id: id[:], TimeUs: 1_767_225_600_000_000 + int64(i), Domain: "0x1f.ie", Key: fmt.Sprintf("k%d", i%7),
		Outcome: linkfoldv1.Outcome_OUTCOME_REDIRECTED, Status: 302, Method: "GET", Redirector: "r1",
	}
}

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	must(t, err)
	return b
}

// publish puts payloads on a subject.
func (e *env) publish(subject string, payloads ...[]byte) {
	e.t.Helper()
	for _, p := range payloads {
		_, err := e.js.Publish(e.t.Context(), subject, p)
		must(e.t, err)
	}
}

// hits publishes n hits with increasing times.
func (e *env) hits(from, n int) {
	e.t.Helper()
	for i := range n {
		e.publish(stream.HitSubject(0), encode(e.t, testHit(from+i)))
	}
}

// publishEvent publishes a LINKS event.
func (e *env) publishEvent(ev *linkfoldv1.Event) {
	e.t.Helper()
	m, err := event.Message(ev)
	must(e.t, err)
	_, err = e.js.PublishMsg(e.t.Context(), m)
	must(e.t, err)
}

// caughtUp waits until all streams are stored.
func (e *env) caughtUp() {
	e.t.Helper()
	e.eventually("streams are stored", func() bool {
		all, err := ingest.Pending(e.t.Context(), e.js, e.cfg.Streams)
		if err != nil {
			return false
		}
		for _, p := range all {
			if p.Pending > 0 {
				return false
			}
		}
		return true
	})
}

func (e *env) eventually(what string, ok func() bool) {
	e.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			e.t.Fatalf("not in time: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// number is the one number a query gives.
func (e *env) number(query string, args ...any) uint64 {
	e.t.Helper()
	var n uint64
	must(e.t, e.conn.QueryRow(context.Background(), query, args...).Scan(&n))
	return n
}

// exactlyOnce checks that the sequences 1..n of a stream are in the tables, each in exactly one row.
func (e *env) exactlyOnce(name string, n int, tables ...string) {
	e.t.Helper()
	union := ""
	for i, table := range tables {
		if i > 0 {
			union += " UNION ALL "
		}
		union += "SELECT _seq FROM " + table + " WHERE _stream = '" + name + "'"
	}
	var rows, distinct, lo, hi uint64
	q := "SELECT count(), uniqExact(_seq), min(_seq), max(_seq) FROM (" + union + ")"
	must(e.t, e.conn.QueryRow(context.Background(), q).Scan(&rows, &distinct, &lo, &hi))
	if want := uint64(n); rows != want || distinct != want || lo != 1 || hi != want {
		e.t.Errorf("%s: %d rows, %d sequences from %d to %d; want %d, each once", name, rows, distinct, lo, hi, n)
	}
}
