package ingest_test

import (
	"strings"
	"syscall"
	"testing"

	"linkfold/deploy/devstack"
	"linkfold/ingest/internal/failpoint"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// points are all places at which a crash matters, in the order of the protocol.
var points = []string{
	"ingest.boot.before", "ingest.boot.after",
	"ingest.open.before", "ingest.open.after",
	"ingest.collect.before", "ingest.collect.after",
	"ingest.pend.before", "ingest.pend.after",
	"ingest.insert.before", "ingest.insert.between", "ingest.insert.after",
	"ingest.done.before", "ingest.done.after",
}

// recoveryPoints are reached only when something is pending: a first crash at the place before "/" makes it so.
var recoveryPoints = []string{
	"ingest.insert.before/ingest.recover.before", "ingest.insert.before/ingest.recover.after",
	"ingest.insert.before/ingest.pend.before", "ingest.insert.before/ingest.pend.after",
	"ingest.insert.between/ingest.insert.before", "ingest.insert.between/ingest.insert.after",
	"ingest.insert.after/ingest.done.before", "ingest.insert.after/ingest.done.after",
}

// input is what a case of the matrix sends, and checks.
type input struct {
	e      *env
	stream string
	tables []string
	n      int
}

func hitsInput(e *env) *input {
	return &input{e: e, stream: stream.HitsName(0), tables: []string{"hits", "quarantine"}}
}

func linksInput(e *env) *input {
	return &input{e: e, stream: stream.Links, tables: []string{"link_events", "domain_events", "quarantine"}}
}

// send publishes a few messages, one of them not decodable, so that two tables are written.
func (in *input) send() {
	in.e.t.Helper()
	for i := range 10 {
		switch {
		case in.stream == stream.Links:
			in.e.publishEvent(linkEvent("k", "LinkCreated"))
			in.e.publishEvent(domainEvent("0x1f.ie"))
		case i == 5:
			in.e.publish(stream.HitSubject(0), []byte("not a hit"))
			in.e.hits(in.n, 1)
		default:
			in.e.hits(in.n, 2)
		}
		in.n += 2
	}
}

func (in *input) check() { in.e.t.Helper(); in.e.exactlyOnce(in.stream, in.n, in.tables...) }

func TestCrashIngester(t *testing.T) {
	clickhouse := devstack.ForTest(t, devstack.ClickHouse)
	for _, chain := range append(points, recoveryPoints...) {
		t.Run(chain, func(t *testing.T) {
			t.Parallel()
			crash(hitsInput(newEnv(t, clickhouse)), chain)
		})
	}
	for _, chain := range []string{"ingest.pend.after", "ingest.insert.between", "ingest.insert.after", "ingest.done.before"} {
		t.Run("links/"+chain, func(t *testing.T) {
			t.Parallel()
			crash(linksInput(newEnv(t, clickhouse)), chain)
		})
	}
}

// crash kills one ingester after the other at the places of the chain, and checks what the last one makes of it.
func crash(in *input, chain string) {
	in.send()
	for point := range strings.SplitSeq(chain, "/") {
		in.e.start(point + "=exit").ended(failpoint.ExitCode)
	}
	in.send()
	stop := in.e.run()
	in.e.caughtUp()
	stop()
	in.check()
}

func TestCrashClickHouse(t *testing.T) {
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			clickhouse := devstack.ForTest(t, devstack.ClickHouse)
			in := hitsInput(newEnv(t, clickhouse))
			in.send()
			k := in.e.start(point + "=stop")
			k.stopped()
			must(t, clickhouse.KillServer(devstack.ClickHouse))
			must(t, clickhouse.StartServer(t.Context(), devstack.ClickHouse))
			k.signal(syscall.SIGCONT)
			in.send()
			in.e.caughtUp()
			k.signal(syscall.SIGTERM)
			k.ended(0)
			in.check()
		})
	}
}

func TestZombie(t *testing.T) {
	clickhouse := devstack.ForTest(t, devstack.ClickHouse)
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			in := hitsInput(newEnv(t, clickhouse))
			in.send()
			zombie := in.e.start(point + "=stop")
			zombie.stopped()
			in.send()
			stop := in.e.run()
			in.e.caughtUp()
			zombie.signal(syscall.SIGCONT)
			if strings.Contains(point, ".pend.") || strings.Contains(point, ".insert.") || point == "ingest.done.before" {
				zombie.logged("another ingester is active")
			}
			in.send()
			in.e.caughtUp()
			zombie.signal(syscall.SIGTERM)
			zombie.ended(0)
			stop()
			in.check()
		})
	}
}

// TestTakeover is two healthy ingesters, one of which is killed.
func TestTakeover(t *testing.T) {
	in := hitsInput(newEnv(t, devstack.ForTest(t, devstack.ClickHouse)))
	a := in.e.start("")
	in.send()
	in.e.caughtUp()
	b := in.e.start("")
	in.send()
	in.send()
	in.e.caughtUp()
	a.signal(syscall.SIGKILL)
	<-a.done
	in.send()
	in.e.caughtUp()
	b.signal(syscall.SIGTERM)
	b.ended(0)
	in.check()
}

func linkEvent(key, command string) *linkfoldv1.Event {
	return &linkfoldv1.Event{
		Type: linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED, CommandId: command, Actor: "test", TimeUs: 1_767_225_600_000_000,
		State: &linkfoldv1.Event_Link{Link: &linkfoldv1.Link{
			Domain: "0x1f.ie", Key: key, Destination: "https://example.com/", Tags: []string{"a", "b"}, CreatedUs: 1_767_225_600_000_000,
		}},
	}
}

func domainEvent(name string) *linkfoldv1.Event {
	return &linkfoldv1.Event{
		Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, Actor: "test", TimeUs: 1_767_225_600_000_000,
		State: &linkfoldv1.Event_Domain{Domain: &linkfoldv1.Domain{Name: name, Tracking: linkfoldv1.Tracking_TRACKING_HASH}},
	}
}
