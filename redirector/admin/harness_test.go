package admin

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/deploy/devstack"
	"linkfold/schema/stream"
)

const token = "0123456789abcdef"

// env is the API over a real NATS.
type env struct {
	t       *testing.T
	stack   *devstack.Stack
	js      jetstream.JetStream
	handler http.Handler
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{t: t, stack: devstack.ForTest(t, devstack.NATS)}
	e.js = e.connect(e.stack.NATSURL())
	must(t, stream.Ensure(t.Context(), e.js, stream.Config{Partitions: 1, HitsMaxAge: time.Hour, Replicas: 1}))
	e.handler = New(Config{Token: token, DefaultDomain: "go"}, e.js, slog.New(slog.DiscardHandler))
	must(t, EnsureDomain(t.Context(), NewWriter(e.js), "go"))
	return e
}

func (e *env) connect(url string) jetstream.JetStream {
	e.t.Helper()
	nc, err := nats.Connect(url, nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	must(e.t, err)
	e.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(e.t, err)
	return js
}

// reply is an answer of the API with what the tests look at.
type reply struct {
	*httptest.ResponseRecorder
	link struct {
		Domain, Key, Destination, Title string
		Inactive, Deleted               bool
		Revision                        uint64
		Current                         uint64 `json:"current_revision"`
		Revisions                       []Revision
	}
}

// do calls the API with headers given as pairs.
func (e *env) do(method, path, body string, headers ...string) reply {
	e.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	r := reply{ResponseRecorder: httptest.NewRecorder()}
	e.handler.ServeHTTP(r, req)
	_ = json.Unmarshal(r.Body.Bytes(), &r.link) // What is missing fails the test's own checks.
	return r
}

func (e *env) want(status int, method, path, body string, headers ...string) reply {
	e.t.Helper()
	r := e.do(method, path, body, headers...)
	if r.Code != status {
		e.t.Errorf("%s %s: %d %s; want %d", method, path, r.Code, r.Body, status)
	}
	return r
}

// events is the number of events in LINKS, that of the default domain included.
func (e *env) events() uint64 {
	e.t.Helper()
	s, err := e.js.Stream(e.t.Context(), stream.Links)
	must(e.t, err)
	return s.CachedInfo().State.LastSeq
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
