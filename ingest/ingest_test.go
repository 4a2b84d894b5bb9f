package ingest_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/deploy/devstack"
	"linkfold/ingest"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

var hitTables = []string{"hits", "quarantine"}

func TestAllStreamsGoThrough(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	e.hits(0, 100)
	e.publishEvent(domainEvent("0x1f.ie"))
	e.publishEvent(linkEvent("H83if", "c1"))
	retarget := linkEvent("H83if", "c2")
	retarget.GetLink().Destination, retarget.PreviousRevision = "https://example.org/new", 2
	e.publishEvent(retarget)
	e.publish(stream.LedgerSubject("r1"), encode(t, &linkfoldv1.Totals{Redirector: "r1", TimeUs: 1_767_225_600_000_000, Accepted: 205, Dropped: 3}))
	stop := e.run()
	e.caughtUp()
	e.hits(100, 100)
	e.caughtUp()
	stop()

	e.exactlyOnce(stream.HitsName(0), 200, hitTables...)
	e.exactlyOnce(stream.Links, 3, "link_events", "domain_events", "quarantine")
	e.exactlyOnce(stream.Ledger, 1, "redirector_totals", "quarantine")
	var destination string
	var revision uint64
	must(t, e.conn.QueryRow(t.Context(), "SELECT destination, revision FROM links WHERE key = 'H83if'").Scan(&destination, &revision))
	if destination != "https://example.org/new" || revision != 3 {
		t.Errorf("newest state is %q at %d", destination, revision)
	}
	if n := e.number("SELECT count() FROM links_at(moment = '2020-01-01 00:00:00')"); n != 0 {
		t.Errorf("%d links before there were any", n)
	}
	var accepted, stored uint64
	var pending int64
	must(t, e.conn.QueryRow(t.Context(), "SELECT accepted, stored, pending FROM ledger WHERE redirector = 'r1'").Scan(&accepted, &stored, &pending))
	if accepted != 205 || stored != 200 || pending != 2 {
		t.Errorf("ledger: accepted %d, stored %d, pending %d; want 205, 200, 2", accepted, stored, pending)
	}
}

func TestBadMessagesAreSetAside(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	subject := stream.HitSubject(0)
	late := testHit(1)
	late.TimeUs = 1 << 62
	badID := testHit(2)
	badID.Id = []byte("short")
	e.hits(0, 5)
	e.publish(subject, nil, []byte("\xff\xfe"), encode(t, badID), encode(t, late))
	m := nats.NewMsg(subject)
	m.Header.Set("X-Odd", "line\tone")
	m.Data = []byte("bad")
	_, err := e.js.PublishMsg(t.Context(), m)
	must(t, err)
	e.hits(5, 5)
	stop := e.run()
	e.caughtUp()
	stop()
	e.exactlyOnce(stream.HitsName(0), 15, hitTables...)
	if n := e.number("SELECT count() FROM quarantine WHERE reason = 'undecodable' AND detail != '' AND subject = 'lf.hit.0'"); n != 5 {
		t.Errorf("%d messages set aside, want 5", n)
	}
	var payload, headers string
	must(t, e.conn.QueryRow(t.Context(), "SELECT payload, headers FROM quarantine WHERE _seq = 10").Scan(&payload, &headers))
	if diff := cmp.Diff([]string{"bad", "X-Odd: line\tone\n"}, []string{payload, headers}); diff != "" {
		t.Error(diff)
	}
}

// resend publishes a hit with the mark of a second sending.
func (e *env) resend(h *linkfoldv1.Hit) {
	e.t.Helper()
	m := nats.NewMsg(stream.HitSubject(0))
	m.Header.Set(stream.HeaderResent, "1")
	m.Data = encode(e.t, h)
	_, err := e.js.PublishMsg(e.t.Context(), m)
	must(e.t, err)
}

func TestResentHits(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	first, second, third := testHit(1), testHit(2), testHit(3)
	e.publish(stream.HitSubject(0), encode(t, first)) // 1
	stop := e.run()
	e.caughtUp()
	stop()
	e.resend(first)                                    // 2: stored in an earlier batch
	e.publish(stream.HitSubject(0), encode(t, second)) // 3
	e.resend(second)                                   // 4: the first copy is in the same batch
	e.resend(third)                                    // 5: the first copy never arrived
	e.resend(third)                                    // 6
	e.resend(testHit(1))                               // 7: same link and time, another id
	stop = e.run()
	e.caughtUp()
	stop()
	e.exactlyOnce(stream.HitsName(0), 7, hitTables...)
	var stored, aside []uint64
	must(t, e.conn.QueryRow(t.Context(), "SELECT arraySort(groupArray(_seq)) FROM hits").Scan(&stored))
	must(t, e.conn.QueryRow(t.Context(), "SELECT arraySort(groupArray(_seq)) FROM quarantine WHERE reason = 'duplicate' AND redirector = 'r1'").Scan(&aside))
	if diff := cmp.Diff([][]uint64{{1, 3, 5, 7}, {2, 4, 6}}, [][]uint64{stored, aside}); diff != "" {
		t.Error(diff)
	}
}

// trim removes all messages before seq from a stream that refuses deletes but not purges.
func (e *env) trim(name string, seq uint64) {
	e.t.Helper()
	s, err := e.js.Stream(e.t.Context(), name)
	must(e.t, err)
	must(e.t, s.Purge(e.t.Context(), jetstream.WithPurgeSequence(seq)))
}

func (e *env) gap() (first, last uint64, reason string) {
	e.t.Helper()
	must(e.t, e.conn.QueryRow(e.t.Context(), "SELECT first, last, reason FROM ingest_gaps FINAL").Scan(&first, &last, &reason))
	return first, last, reason
}

func TestGapIsRecorded(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	e.hits(0, 10)
	stop := e.run()
	e.caughtUp()
	stop()
	e.hits(10, 10)
	e.trim(stream.HitsName(0), 16)
	for range 2 {
		stop = e.run()
		e.caughtUp()
		stop()
	}
	if first, last, reason := e.gap(); first != 11 || last != 15 || reason != "trimmed" {
		t.Errorf("gap %d to %d, %s; want 11 to 15, trimmed", first, last, reason)
	}
	if n := e.number("SELECT count() + uniqExact(_seq) FROM hits"); n != 30 {
		t.Errorf("rows and sequences are %d, want 30", n)
	}
}

// TestGapWithinPending: messages of a pending range leave the stream before it is stored.
func TestGapWithinPending(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	e.hits(0, 10)
	e.start("ingest.insert.before=exit").ended(86)
	e.trim(stream.HitsName(0), 4)
	stop := e.run()
	e.caughtUp()
	stop()
	if first, last, _ := e.gap(); first != 1 || last != 3 {
		t.Errorf("gap %d to %d, want 1 to 3", first, last)
	}
	if n := e.number("SELECT count() + uniqExact(_seq) FROM hits WHERE _seq BETWEEN 4 AND 10"); n != 14 {
		t.Errorf("rows and sequences are %d, want 14", n)
	}
}

func TestCursorLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*env, jetstream.KeyValue){
		"deleted": func(e *env, kv jetstream.KeyValue) { must(e.t, kv.Purge(e.t.Context(), "ingest.HITS_0")) },
		"old":     rewind,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
			e.cfg.BatchRows = 7 // recovery in several parts
			e.hits(0, 30)
			e.publish(stream.HitSubject(0), []byte("bad"))
			stop := e.run()
			e.caughtUp()
			stop()
			must(t, e.conn.Exec(t.Context(), "ALTER TABLE hits DELETE WHERE _seq IN (12, 13, 30) SETTINGS mutations_sync = 1")) // as if half a batch had not landed
			kv, err := e.js.KeyValue(t.Context(), stream.Cursors)
			must(t, err)
			lose(e, kv)
			e.hits(31, 9)
			stop = e.run()
			e.caughtUp()
			stop()
			e.exactlyOnce(stream.HitsName(0), 40, hitTables...)
		})
	}
}

// ClickHouse is thrown away: the streams fill it again.
func TestClickHouseThrownAway(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	e.hits(0, 30)
	e.publish(stream.HitSubject(0), []byte("bad"))
	stop := e.run()
	e.caughtUp()
	stop()
	for _, table := range hitTables {
		must(t, e.conn.Exec(t.Context(), "TRUNCATE TABLE "+table))
	}
	e.hits(31, 9)
	stop = e.run()
	e.caughtUp()
	stop()
	e.exactlyOnce(stream.HitsName(0), 40, hitTables...)
}

// rewind puts the cursor back to the start of the stream's life.
func rewind(e *env, kv jetstream.KeyValue) {
	e.t.Helper()
	s, err := e.js.Stream(e.t.Context(), stream.HitsName(0))
	must(e.t, err)
	gen := stream.Generation(s.CachedInfo())
	_, err = kv.Put(e.t.Context(), "ingest.HITS_0", []byte(`{"gen":"`+gen+`","done":3,"pend":null,"owner":"old"}`))
	must(e.t, err)
}

func TestStreamMadeAgain(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	e.hits(0, 10)
	stop := e.run()
	e.caughtUp()
	stop()
	must(t, e.js.DeleteStream(t.Context(), stream.HitsName(0)))
	must(t, stream.Ensure(t.Context(), e.js, e.cfg.Streams))
	e.hits(10, 5)
	stop = e.run()
	e.caughtUp()
	stop()
	if n := e.number("SELECT count() * 100 + uniqExact(_gen, _seq) + uniqExact(_gen) * 10000 FROM hits"); n != 2*10000+15*100+15 {
		t.Errorf("generations, rows and sequences are %d", n)
	}
	if first, last, reason := e.gap(); first != 11 || last != 0 || reason != "recreated" {
		t.Errorf("gap %d to %d, %s", first, last, reason)
	}
}

// TestStreamBehindItsCursor: a stream that lost messages is not stored over the rows of the lost ones.
func TestStreamBehindItsCursor(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	kv, err := e.js.KeyValue(t.Context(), stream.Cursors)
	must(t, err)
	rewind(e, kv) // done: 3, and the stream is empty
	ready := make(chan func(context.Context) error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- ingest.Run(ctx, e.cfg, ingest.Deps{Log: testLog(t), Ready: func(name string, check func(context.Context) error) {
			if name == "ingest HITS_0" {
				ready <- check
			}
		}})
	}()
	check := <-ready
	e.eventually("worker says what it waits for", func() bool {
		err := check(ctx)
		return err != nil && err.Error() != "starting"
	})
	cancel()
	must(t, <-done)
}

func TestServersAwayAtStart(t *testing.T) {
	t.Parallel()
	clickhouse := devstack.ForTest(t, devstack.ClickHouse)
	e := newEnv(t, clickhouse)
	e.hits(0, 10)
	must(t, clickhouse.KillServer(devstack.ClickHouse))
	must(t, e.nats.StopServer(t.Context(), devstack.NATS))
	stop := e.run()
	must(t, e.nats.StartServer(t.Context(), devstack.NATS))
	must(t, clickhouse.StartServer(t.Context(), devstack.ClickHouse))
	e.caughtUp()
	must(t, e.nats.StopServer(t.Context(), devstack.NATS))
	must(t, e.nats.StartServer(t.Context(), devstack.NATS))
	e.eventually("hit is published", func() bool {
		_, err := e.js.Publish(t.Context(), stream.HitSubject(0), encode(t, testHit(10)), jetstream.WithMsgID("once"))
		return err == nil
	})
	e.caughtUp()
	stop()
	e.exactlyOnce(stream.HitsName(0), 11, hitTables...)
}

func TestSmallestBatches(t *testing.T) {
	t.Parallel()
	e := newEnv(t, devstack.ForTest(t, devstack.ClickHouse))
	e.cfg.BatchRows, e.cfg.MaxDelay = 1, 0
	e.hits(0, 20)
	stop := e.run()
	e.caughtUp()
	stop()
	e.exactlyOnce(stream.HitsName(0), 20, hitTables...)
}
