package redirector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"linkfold/deploy/devstack"
	"linkfold/redirector"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

func TestMain(m *testing.M) { devstack.TestMain(m) }

// instance is a redirector on a real NATS and a real Redis.
type instance struct {
	t             *testing.T
	stack         *devstack.Stack
	cfg           redirector.Config
	public, admin string
	token         string
	nc            *nats.Conn
	js            jetstream.JetStream
	rdb           redis.UniversalClient
	stop          func() error
}

// defaults is a configuration as the flags would make it.
func defaults(dir string) redirector.Config {
	var c redirector.Config
	c.Listen, c.Admin, c.DefaultDomain = "127.0.0.1:0", "localhost:0", "localhost"
	c.TokenFile, c.AccessLog = filepath.Join(dir, "admin.token"), filepath.Join(dir, "access.log")
	c.Streams.Partitions, c.Streams.HitsMaxAge, c.Streams.Replicas = 1, 24*time.Hour, 1
	c.Links.CacheEntries, c.Links.FreshFor, c.Links.MissFor = 1000, time.Minute, 5*time.Second
	c.Links.RedisWait, c.Links.StreamWait = 100*time.Millisecond, 250*time.Millisecond
	c.Record.Mode, c.Record.AckWait, c.Record.BufferBytes = "stream", 50*time.Millisecond, 1<<20
	c.Record.SpillDir, c.Record.SpillBytes, c.Record.Drain = filepath.Join(dir, "spill"), 1<<30, 2*time.Second
	c.Limit.MissesPerMinute, c.Limit.MissBurst, c.Limit.MissWait = 600, 100, 50*time.Millisecond
	return c
}

func start(t *testing.T, change ...func(*redirector.Config)) *instance {
	t.Helper()
	in := &instance{t: t, stack: devstack.ForTest(t, devstack.NATS, devstack.Redis), cfg: defaults(t.TempDir())}
	for _, f := range change {
		f(&in.cfg)
	}
	in.run()
	return in
}

// run starts the service; stop ends it and reports its error.
func (in *instance) run() {
	in.t.Helper()
	nc, err := nats.Connect(in.stack.NATSURL(), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		in.t.Fatal(err)
	}
	opts, err := redis.ParseURL(in.stack.RedisURL())
	if err != nil {
		in.t.Fatal(err)
	}
	opts.MaxRetries, opts.DialTimeout, opts.DialerRetries = -1, 200*time.Millisecond, 1
	in.nc, in.rdb = nc, redis.NewClient(opts)
	if in.js, err = jetstream.New(nc); err != nil {
		in.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	addrs := make(chan [2]string, 1)
	done := make(chan error, 1)
	go func() {
		done <- redirector.Run(ctx, in.cfg, redirector.Deps{
			NATS: nc, Redis: in.rdb, Metrics: prometheus.NewRegistry(), Log: testLog(in.t),
			Listening: func(p, a net.Addr) { addrs <- [2]string{p.String(), a.String()} },
		})
	}()
	stopped := false
	in.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		err := <-done
		nc.Close()
		_ = in.rdb.Close()
		return err
	}
	in.t.Cleanup(func() {
		if err := in.stop(); err != nil {
			in.t.Error(err)
		}
	})
	select {
	case a := <-addrs:
		in.public, in.admin = "http://"+a[0], "http://"+a[1]
	case err := <-done:
		in.t.Fatal("redirector ended:", err)
	}
	b, err := os.ReadFile(in.cfg.TokenFile)
	if err != nil {
		in.t.Fatal(err)
	}
	in.token = strings.TrimSpace(string(b))
}

func testLog(t *testing.T) *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return slog.New(slog.DiscardHandler)
}

var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableKeepAlives: true},
}

// response is an answer with its body read.
type response struct {
	status int
	header http.Header
	body   string
}

func (in *instance) do(method, url, body string, headers ...string) response {
	in.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		in.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(b)}
}

// get asks the public listener; path begins with a slash.
func (in *instance) get(path string, headers ...string) response {
	in.t.Helper()
	return in.do("GET", in.public+path, "", append([]string{"Host", "localhost"}, headers...)...)
}

// api calls the admin listener with the token.
func (in *instance) api(method, path, body string, headers ...string) response {
	in.t.Helper()
	return in.do(method, in.admin+path, body, append([]string{"Authorization", "Bearer " + in.token, "Content-Type", "application/json"}, headers...)...)
}

// create makes a link on localhost and fails the test when that does not work.
func (in *instance) create(key, destination string) response {
	in.t.Helper()
	b, err := json.Marshal(map[string]string{"key": key, "destination": destination})
	if err != nil {
		in.t.Fatal(err)
	}
	r := in.api("POST", "/v1/links", string(b))
	if r.status != 201 {
		in.t.Fatalf("create %s: %d %s", key, r.status, r.body)
	}
	return r
}

// configure replaces a domain's configuration, whatever it was.
func (in *instance) configure(domain, configuration string) {
	in.t.Helper()
	etag := in.api("GET", "/v1/domains/"+domain, "").header.Get("ETag")
	if r := in.api("PUT", "/v1/domains/"+domain, configuration, "If-Match", etag); r.status != 200 {
		in.t.Fatal(r)
	}
}

// raw sends bytes and returns everything that comes back until the server closes the connection.
func (in *instance) raw(request string) string {
	in.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(in.public, "http://"))
	if err != nil {
		in.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		in.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		in.t.Fatal(err)
	}
	var b bytes.Buffer
	_, _ = io.Copy(&b, conn) // A reset after the answer is fine.
	return b.String()
}

// hits reads everything in HITS_0.
func (in *instance) hits() []*linkfoldv1.Hit {
	in.t.Helper()
	eventually(in.t, "connected to NATS", in.nc.IsConnected)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := in.js.Stream(ctx, stream.HitsName(0))
	if err != nil {
		in.t.Fatal(err)
	}
	var out []*linkfoldv1.Hit
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if err != nil {
			in.t.Fatal(err)
		}
		h, err := event.DecodeHit(m.Data)
		if err != nil {
			in.t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}

// eventually polls until ok, at most ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("never happened: ", what)
}
