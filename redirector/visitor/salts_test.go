package visitor

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"linkfold/deploy/devstack"
	"linkfold/schema/stream"
)

func TestMain(m *testing.M) {
	if devstack.RunChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

// instances makes n sets of salts over one NATS, each with a connection of its own.
func instances(t *testing.T, n int) ([]*Salts, *devstack.Stack) {
	t.Helper()
	stack := devstack.ForTest(t, devstack.NATS)
	var out []*Salts
	for range n {
		nc, err := nats.Connect(stack.NATSURL(), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Ensure(t.Context(), js, stream.Config{Partitions: 1, HitsMaxAge: time.Hour, Replicas: 1}); err != nil {
			t.Fatal(err)
		}
		out = append(out, NewSalts(js, slog.New(slog.DiscardHandler)))
	}
	return out, stack
}

// All redirectors have one salt per day, whoever asks first; each day has its own.
func TestSaltsAreShared(t *testing.T) {
	t.Parallel()
	all, _ := instances(t, 8)
	now := time.Now()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() {
			if err := s.Load(t.Context(), now); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	today, tomorrow := *all[0].At(now), *all[0].At(now.Add(saltDay))
	if today == tomorrow || today == (Salt{}) {
		t.Error("the salts of two days are equal, or empty")
	}
	for _, s := range all {
		if *s.At(now) != today || *s.At(now.Add(saltDay)) != tomorrow {
			t.Error("two redirectors have different salts")
		}
	}
	later := now.Add(3 * saltDay)
	if err := all[0].Load(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if len(all[0].days) != 2 {
		t.Errorf("%d days remembered, want 2", len(all[0].days))
	}
}

// While NATS is away a salt of the process stands in, the same all day; the shared one takes over when it can be had.
func TestSaltsWithoutNATS(t *testing.T) {
	t.Parallel()
	all, stack := instances(t, 1)
	s := all[0]
	if err := stack.StopServer(context.Background(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	own := *s.At(now)
	if *s.At(now) != own {
		t.Error("the salt changes while NATS is away")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if s.Load(ctx, now) == nil {
		t.Error("loaded without NATS")
	}
	if s.Load(ctx, now.Add(saltDay+2*late)) == nil || len(s.days) != 0 {
		t.Errorf("%d days remembered, want none: a salt is forgotten without NATS, too", len(s.days))
	}
	own = *s.At(now)
	if err := stack.StartServer(context.Background(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	rctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	for !s.js.Conn().IsConnected() {
		time.Sleep(time.Millisecond)
	}
	go func() { done <- s.Run(rctx) }()
	for end := time.Now().Add(20 * time.Second); *s.At(now) == own; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the shared salt never took over")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
