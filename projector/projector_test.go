package projector_test

import (
	"fmt"
	"os"
	"testing"

	"linkfold/deploy/devstack"
	"linkfold/projector"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"

	"github.com/nats-io/nats.go"
)

// some publishes n links and a second event for every third of them.
func (w *world) some(n int) {
	w.t.Helper()
	for i := range n {
		w.publish(linkEvent("go", fmt.Sprintf("k%d", i), "https://example.com/1", false))
		if i%3 == 0 {
			w.publish(linkEvent("go", fmt.Sprintf("k%d", i/2), "https://example.com/2", i%2 == 0))
		}
	}
}

func TestRunFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(50)
	w.start(projector.Config{})
	w.whole("first fill")
	for range 3 {
		w.some(20)
		w.whole("live events")
	}
}

func TestRunEmptyStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(projector.Config{})
	w.whole("nothing")
	w.publish(linkEvent("go", "a", "https://example.com/", false))
	w.whole("first event")
}

func TestHealsFlushWhileIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(100)
	w.start(projector.Config{})
	w.whole("fill")
	for range 3 {
		if err := w.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		w.whole("after FLUSHALL without new events")
	}
	if g := w.generations(); g.Active != 1 {
		t.Errorf("generation %d is active: a plain loss must heal in place", g.Active)
	}
}

func TestHealsRedisKilledWithoutDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(60)
	w.start(projector.Config{})
	w.whole("fill")
	if err := w.stack.KillServer(devstack.Redis); err != nil {
		t.Fatal(err)
	}
	w.some(10)
	if err := os.RemoveAll(w.stack.Dir(devstack.Redis)); err != nil {
		t.Fatal(err)
	}
	if err := w.stack.StartServer(t.Context(), devstack.Redis); err != nil {
		t.Fatal(err)
	}
	w.whole("after Redis lost data and function")
}

func TestHealsNATSRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(30)
	w.start(projector.Config{})
	w.whole("fill")
	if err := w.stack.StopServer(t.Context(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	if err := w.rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := w.stack.StartServer(t.Context(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	w.eventually("reconnect", func() string {
		if !w.nc.IsConnected() {
			return "not connected"
		}
		return ""
	})
	w.some(30)
	w.whole("after NATS was away and Redis was flushed meanwhile")
}

func TestStreamMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(40)
	w.start(projector.Config{})
	w.whole("fill")
	if err := w.js.DeleteStream(t.Context(), stream.Links); err != nil {
		t.Fatal(err)
	}
	if err := stream.Ensure(t.Context(), w.js, streams()); err != nil {
		t.Fatal(err)
	}
	w.publish(linkEvent("go", "k1", "https://example.com/new", false))
	w.whole("after the stream was made anew")
	if g := w.generations(); g.Active == 1 {
		t.Error("values of another stream are still active")
	}
}

func TestTwoProjectors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.some(30)
	stop := w.start(projector.Config{})
	w.start(projector.Config{})
	w.whole("two at once")
	for range 3 {
		w.some(20)
		if err := w.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		w.some(5)
		w.whole("two at once after FLUSHALL")
	}
	stop()
	w.some(10)
	w.whole("one left")
	if g := w.generations(); g.Active != 1 {
		t.Errorf("generation %d is active: two projectors must not spoil each other", g.Active)
	}
}

func TestUndecodableEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(linkEvent("go", "a", "https://example.com/", false))
	garbage := func(subject string) {
		if _, err := w.js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: []byte{0xff, 1, 2}}); err != nil {
			t.Fatal(err)
		}
	}
	garbage(stream.LinkSubject("go", "a")) // hides the good event above from a reading of last events
	garbage(stream.LinkSubject("go", "never"))
	garbage("lf.link.go.=2") // no subject of ours
	w.start(projector.Config{})
	w.whole("fill with garbage")
	n, err := w.rdb.Exists(t.Context(), projection.Key(1, stream.LinkAggregate("go", "a"))).Result()
	if err != nil || n != 1 {
		t.Errorf("the good event behind garbage is not applied: %d, %v", n, err)
	}
	garbage(stream.LinkSubject("go", "a"))
	w.publish(linkEvent("go", "b", "https://example.com/", false))
	w.whole("live garbage")
}

func TestDomainEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(&linkfoldv1.Event{Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, CommandId: "d",
		State: &linkfoldv1.Event_Domain{Domain: &linkfoldv1.Domain{Name: "go"}}})
	w.start(projector.Config{})
	w.whole("domain")
	if _, err := event.Message(&linkfoldv1.Event{}); err == nil {
		t.Error("an event without state has a message")
	}
}
