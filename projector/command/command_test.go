package command

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/deploy/devstack"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

func TestMain(m *testing.M) { devstack.TestMain(m) }

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--help"}, 0},
		{[]string{"verify", "--help"}, 0},
		{[]string{"run", "--verify-every=5ms"}, 2},
		{[]string{"--streams-replicas=2"}, 2},
		{[]string{"rebuild", "--keep=soon"}, 2},
		{[]string{"nonsense"}, 2},
		{[]string{"--log-level=loud"}, 2},
		{[]string{"verify", "--redis-url=http://x"}, 1},
	} {
		if got := Main(t.Context(), "projector", c.args); got != c.want {
			t.Errorf("run(%q) = %d, want %d", c.args, got, c.want)
		}
	}
}

// The commands, one after the other, on real servers: run fills Redis, rebuild switches, verify agrees, rollback goes back.
func TestCommands(t *testing.T) {
	stack := devstack.ForTest(t, devstack.NATS, devstack.Redis)
	seed(t, stack.NATSURL())
	servers := []string{"--nats-url=" + stack.NATSURL(), "--redis-url=" + stack.RedisURL(), "--log-level=error"}
	ended := make(chan int)
	go func() { ended <- Main(t.Context(), "projector", append(slices.Clip(servers), "run")) }()
	deadline := time.Now().Add(30 * time.Second)
	for Main(t.Context(), "projector", append(slices.Clip(servers), "verify")) != 0 {
		if time.Now().After(deadline) {
			t.Fatal("verify never agreed")
		}
	}
	for _, command := range []string{"rebuild", "verify", "rollback", "verify"} {
		if got := Main(t.Context(), "projector", append(slices.Clip(servers), command)); got != 0 {
			t.Errorf("%s = %d", command, got)
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != 0 {
		t.Errorf("run ended with %d", got)
	}
}

// seed publishes one link.
func seed(t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.Config{Partitions: 1, HitsMaxAge: 720 * time.Hour, Replicas: 1}
	if err := stream.Ensure(t.Context(), js, c); err != nil {
		t.Fatal(err)
	}
	m, err := event.Message(&linkfoldv1.Event{CommandId: "1", State: &linkfoldv1.Event_Link{
		Link: &linkfoldv1.Link{Domain: "go", Key: "a", Destination: "https://example.com/"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}
