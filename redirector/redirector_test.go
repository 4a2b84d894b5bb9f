package redirector_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/devstack"
	"linkfold/redirector"
	"linkfold/schema/linkfoldv1"
)

func TestRedirectAndItsHit(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.create("H83if", "http://innerfunction.com/wp/whelans/?p=14")
	r := in.get("/H83if?utm_term=1", "User-Agent", "Agent \xff", "Referer", "http://t.co/x", "Accept-Language", "en-IE", "Sec-Purpose", "prefetch", "Range", "bytes=0-")
	if r.status != 302 || r.header.Get("Location") != "http://innerfunction.com/wp/whelans/?p=14&utm_term=1" || r.header.Get("Cache-Control") != "no-store" || r.body != "" {
		t.Errorf("answer %+v", r)
	}
	hits := in.hits()
	if len(hits) != 1 {
		t.Fatalf("%d hits, want 1", len(hits))
	}
	h := hits[0]
	if h.GetDomain() != "localhost" || h.GetKey() != "H83if" || h.GetLinkRev() != 2 || h.GetOutcome() != linkfoldv1.Outcome_OUTCOME_REDIRECTED || h.GetStatus() != 302 ||
		h.GetDestination() != r.header.Get("Location") || h.GetMethod() != "GET" || h.GetPath() != "/H83if" || h.GetQuery() != "utm_term=1" || h.GetScheme() != "http" || h.GetReferrer() != "http://t.co/x" ||
		h.GetUserAgent() != "Agent %FF" || h.GetAcceptLanguage() != "en-IE" || h.GetHints().GetSecPurpose() != "prefetch" || h.GetHints().GetRange() != "bytes=0-" ||
		string(h.GetPerson().GetClientIp()) != "\x7f\x00\x00\x01" || len(h.GetPerson().GetCookieId()) != 45 || h.GetVisitorDay() == 0 || h.GetRedirector() == "" {
		t.Errorf("hit %v", h)
	}
	if id := h.GetId(); id[6]>>4 != 7 || id[8]>>6 != 2 {
		t.Errorf("hit id %x is no UUIDv7", id)
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.create("abcde", "https://example.com/")
	if r := in.do("HEAD", in.public+"/abcde", "", "Host", "localhost"); r.status != 302 || r.header.Get("Location") != "https://example.com/" {
		t.Errorf("HEAD: %+v", r)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"} {
		if r := in.do(method, in.public+"/abcde", "body", "Host", "localhost"); r.status != 501 || r.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, r.status, r.header.Get("Allow"))
		}
	}
	if n := len(in.hits()); n != 7 {
		t.Errorf("%d hits, want one per request: 7", n)
	}
}

// A visitor cannot tell an unknown key from an inactive or a deleted one.
func TestRefusalsAreUniform(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.create("off", "https://example.com/")
	in.create("gone", "https://example.com/")
	if r := in.api("POST", "/v1/links/localhost/off/deactivate", ""); r.status != 200 {
		t.Fatal(r)
	}
	if r := in.api("DELETE", "/v1/links/localhost/gone", ""); r.status != 200 {
		t.Fatal(r)
	}
	strip := func(s string) string {
		return regexp.MustCompile(`(?m)^(Date|Set-Cookie): .*$`).ReplaceAllString(s, "$1")
	}
	request := "GET /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	var unknown string
	eventually(t, "the edits are live", func() bool {
		unknown = strip(in.raw(fmt.Sprintf(request, "unknown")))
		return strip(in.raw(fmt.Sprintf(request, "off"))) == unknown && strip(in.raw(fmt.Sprintf(request, "gone"))) == unknown
	})
	if !strings.HasPrefix(unknown, "HTTP/1.1 404 Not Found") {
		t.Error(unknown)
	}
	outcomes := map[linkfoldv1.Outcome]bool{}
	for _, h := range in.hits() {
		outcomes[h.GetOutcome()] = true
	}
	if !outcomes[linkfoldv1.Outcome_OUTCOME_NOT_FOUND] || !outcomes[linkfoldv1.Outcome_OUTCOME_INACTIVE] {
		t.Errorf("hits record outcomes %v", outcomes)
	}
}

func TestEditIsLive(t *testing.T) {
	t.Parallel()
	in := start(t)
	etag := in.create("k", "https://one.example/").header.Get("ETag")
	if r := in.get("/k"); r.header.Get("Location") != "https://one.example/" {
		t.Fatal(r)
	}
	if r := in.api("PUT", "/v1/links/localhost/k", `{"destination":"https://two.example/"}`, "If-Match", etag); r.status != 200 {
		t.Fatal(r)
	}
	eventually(t, "the new destination", func() bool { return in.get("/k").header.Get("Location") == "https://two.example/" })
	// Unknown keys are remembered as such, until they exist.
	in.get("/new")
	in.create("new", "https://new.example/")
	eventually(t, "the new link", func() bool { return in.get("/new").status == 302 })
}

func TestHosts(t *testing.T) {
	t.Parallel()
	in := start(t, func(c *redirector.Config) { c.DefaultDomain = "" })
	for _, d := range []string{"go", "example.co.uk", "127.0.0.1"} {
		if r := in.api("PUT", "/v1/domains/"+d, `{}`); r.status != 200 {
			t.Fatal(r)
		}
		if r := in.api("POST", "/v1/links", `{"domain":"`+d+`","key":"k","destination":"https://`+d+`.example/"}`); r.status != 201 {
			t.Fatal(r)
		}
	}
	for host, want := range map[string]string{
		"go": "https://go.example/", "GO:8080": "https://go.example/", "go.": "https://go.example/", "www.Example.co.uk": "https://example.co.uk.example/",
		"127.0.0.1:80": "https://127.0.0.1.example/", "other.example": "", "co.uk": "", "[::1]:80": "", "xgo": "",
	} {
		r := in.get("/k", "Host", host)
		if r.header.Get("Location") != want || want == "" && (r.status != 404 || r.body != "Unknown Domain\n") {
			t.Errorf("host %s: %d, Location %q, body %q; want %q", host, r.status, r.header.Get("Location"), r.body, want)
		}
	}
}

func TestTracking(t *testing.T) {
	t.Parallel()
	in := start(t)
	cookie := func(r response) string {
		for _, c := range (&http.Response{Header: r.header}).Cookies() {
			if c.Name == "0x1f" {
				if c.MaxAge != 900 || !c.HttpOnly {
					t.Errorf("cookie %v", c)
				}
				return c.Value
			}
		}
		return ""
	}
	first := cookie(in.get("/x"))
	if !regexp.MustCompile(`^\d{13}[0-9a-f]{32}$`).MatchString(first) {
		t.Errorf("tracking id %q", first)
	}
	if got := cookie(in.get("/x", "Cookie", "a=b; 0x1f="+first)); got != first {
		t.Errorf("cookie %q is not echoed: %q", first, got)
	}
	for _, hostile := range []string{"x", first + "0", strings.ToUpper(first), "1331923247123%0d%0aevil", strings.Repeat("a", 45), `"` + first[1:44] + `"`} {
		if got := cookie(in.get("/x", "Cookie", "0x1f="+hostile)); got == hostile || len(got) != 45 {
			t.Errorf("hostile cookie %q answered with %q", hostile, got)
		}
	}
	for _, c := range []struct{ policy, gpc, want string }{
		{"cookie", "", "TRACKING_COOKIE"}, {"cookie", "1", "TRACKING_HASH"}, {"hash", "", "TRACKING_HASH"}, {"none", "", "TRACKING_NONE"}, {"none", "1", "TRACKING_NONE"},
	} {
		in.configure("localhost", `{"tracking":"`+c.policy+`"}`)
		eventually(t, "policy "+c.policy, func() bool {
			r := in.get("/x", "Sec-GPC", c.gpc)
			hits := in.hits()
			h := hits[len(hits)-1]
			return h.GetTracking().String() == c.want && (cookie(r) != "") == (c.want == "TRACKING_COOKIE") &&
				(h.GetPerson() != nil) == (c.want == "TRACKING_COOKIE") && (h.GetVisitorDay() != 0) == (c.want != "TRACKING_NONE")
		})
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.create("k", "https://example.com/")
	in.get("/k", "User-Agent", "Mozilla/5.0 (X)", "X-Forwarded-For", "192.0.2.7")
	in.get("/no%20pe?x", "User-Agent", "a\tb")
	in.raw("GET /k HTTP/1.0\r\nHost: localhost\r\nCookie: 0x1f=a b\r\n\r\n")
	in.do("POST", in.public+"/k", "", "Host", "localhost", "User-Agent", "p")
	if err := in.stop(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(in.cfg.AccessLog)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	want := []string{
		` Mozilla%2F5.0%20\(X\) /k OK https://example.com/$`, ` a%09b /no%20pe NF$`, ` - /k OK https://example.com/$`, ` p /k NI$`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), b)
	}
	for i, w := range want {
		if re := `^\d{14}\.\d 127\.0\.0\.1 \d{13}[0-9a-f]{32}` + w; !regexp.MustCompile(re).MatchString(lines[i]) {
			t.Errorf("line %q does not match %s", lines[i], re)
		}
	}
	if now := time.Now().UTC().Format("20060102150"); !strings.HasPrefix(lines[0], now[:10]) {
		t.Errorf("line %q is not of this hour in UTC, %s", lines[0], now)
	}
}

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	in := start(t, func(c *redirector.Config) { c.TrustedProxies = []string{"127.0.0.0/8", "10.0.0.1"} })
	for header, want := range map[string]string{
		"": "127.0.0.1", "192.0.2.7": "192.0.2.7", "203.0.113.9, 192.0.2.7, 10.0.0.1": "192.0.2.7", "junk, 192.0.2.7": "192.0.2.7", "junk": "127.0.0.1",
	} {
		in.get("/x", "X-Forwarded-For", header)
		hits := in.hits()
		if got := fmt.Sprint(hits[len(hits)-1].GetPerson().GetClientIp()); got != strings.ReplaceAll("["+strings.ReplaceAll(want, ".", " ")+"]", ",", "") {
			t.Errorf("X-Forwarded-For %q: client %s, want %s", header, got, want)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	in := start(t)
	for name, c := range map[string]struct{ request, want string }{
		"long path":       {"GET /" + strings.Repeat("a", 3000) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 414 "},
		"control byte":    {"GET /a\x01b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
		"invalid UTF-8":   {"GET /a\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
		"large header":    {"GET /a HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 20000) + "\r\n\r\n", "HTTP/1.1 431 "},
		"no request line": {"\x16\x03\x01 hello\r\n\r\n", "HTTP/1.1 400 "},
		"large body":      {"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\nxx", "HTTP/1.1 501 "},
		"asterisk":        {"GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
	} {
		if got := in.raw(c.request); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.200q, want %s", name, got, c.want)
		}
	}
	if n := len(in.hits()); n != 7 {
		t.Errorf("%d hits, want 7: a refused request is a hit too", n)
	}
}

func TestMissesAreLimited(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("redis down %v", down), func(t *testing.T) {
			t.Parallel()
			in := start(t, func(c *redirector.Config) { c.Limit.MissesPerMinute, c.Limit.MissBurst = 1, 3 })
			in.create("k", "https://example.com/")
			if down {
				if err := in.stack.KillServer(devstack.Redis); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 3 {
				if r := in.get(fmt.Sprintf("/miss%d", i)); r.status != 404 {
					t.Fatal(r)
				}
			}
			r := in.get("/miss4")
			if r.status != 429 || r.header.Get("Retry-After") == "" {
				t.Errorf("fourth miss: %+v", r)
			}
			if r := in.get("/k"); r.status != 302 {
				t.Errorf("a known link must not be limited: %+v", r)
			}
			hits := in.hits()
			if h := hits[len(hits)-2]; h.GetOutcome() != linkfoldv1.Outcome_OUTCOME_RATE_LIMITED || h.GetStatus() != 429 {
				t.Errorf("hit %v", h)
			}
		})
	}
}

func TestHotLinksSurviveOutages(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.create("hot", "https://example.com/")
	if r := in.get("/hot"); r.status != 302 {
		t.Fatal(r)
	}
	if err := in.stack.KillServer(devstack.Redis); err != nil {
		t.Fatal(err)
	}
	if r := in.get("/hot"); r.status != 302 {
		t.Errorf("without Redis: %+v", r)
	}
	in.create("cold", "https://cold.example/") // Redis is away: JetStream answers.
	eventually(t, "a new link without Redis", func() bool { return in.get("/cold").status == 302 })
	if err := in.stack.StopServer(context.Background(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	served := 0
	for range 20 {
		if in.get("/hot").status == 302 {
			served++
		}
	}
	if served != 20 {
		t.Errorf("without Redis and NATS: %d of 20 redirected", served)
	}
	if r := in.get("/never-seen"); r.status != 503 || r.header.Get("Retry-After") == "" {
		t.Errorf("nothing can be asked: %+v", r)
	}
	if err := in.stack.StartServer(context.Background(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every answered request is a hit, once", func() bool {
		byID := map[string]int{}
		hot := 0
		for _, h := range in.hits() {
			byID[string(h.GetId())]++
			if h.GetKey() == "hot" && byID[string(h.GetId())] == 1 {
				hot++
			}
		}
		return hot == 22
	})
}

// A redirector that dies while NATS is away has its hits in the spill directory; the next one sends them.
func TestSpillSurvivesARestart(t *testing.T) {
	t.Parallel()
	in := start(t, func(c *redirector.Config) { c.Record.Drain = 10 * time.Millisecond })
	in.create("k", "https://example.com/")
	in.get("/k")
	if err := in.stack.StopServer(context.Background(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if r := in.get("/k"); r.status != 302 {
			t.Fatal(r)
		}
	}
	if err := in.stop(); err != nil {
		t.Errorf("stopped without NATS: %v", err)
	}
	if err := in.stack.StartServer(context.Background(), devstack.NATS); err != nil {
		t.Fatal(err)
	}
	in.run()
	eventually(t, "11 hits", func() bool { return len(in.hits()) == 11 })
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*redirector.Config){
		"partition 1":              func(c *redirector.Config) { c.Partition = 1 },
		"give two addresses":       func(c *redirector.Config) { c.Admin = c.Listen },
		`trusted proxy "10.0.0.x"`: func(c *redirector.Config) { c.TrustedProxies = []string{"10.0.0.x"} },
		`durability mode "maybe"`:  func(c *redirector.Config) { c.Record.Mode = "maybe" },
		"buffer of 5 bytes":        func(c *redirector.Config) { c.Record.BufferBytes = 5 },
		"hits max age":             func(c *redirector.Config) { c.Streams.HitsMaxAge = time.Second },
		"default domain":           func(c *redirector.Config) { c.DefaultDomain = "http://x/" },
		"miss burst 0":             func(c *redirector.Config) { c.Limit.MissBurst = 0 },
		"cache of 1":               func(c *redirector.Config) { c.Links.CacheEntries = 1 },
		"ack wait 0s":              func(c *redirector.Config) { c.Record.AckWait = 0 },
		"replicas 2":               func(c *redirector.Config) { c.Streams.Replicas = 2 },
	} {
		c := defaults(t.TempDir())
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate = %v, want %q in it", err, want)
		}
	}
	c := defaults(t.TempDir())
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// A connection serves many requests; one whose body nobody reads ends it.
func TestConnectionsStayOpen(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.create("k", "https://example.com/")
	get := "GET /k HTTP/1.1\r\nHost: localhost\r\n\r\n"
	got := in.raw(get + get + "POST /k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n" + get + "POST /k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" + get)
	if n := strings.Count(got, "HTTP/1.1 302"); n != 3 || strings.Count(got, "HTTP/1.1 501") != 2 || strings.Count(got, "Connection: close") != 1 {
		t.Errorf("%d redirects in\n%s", n, got)
	}
}

// Whoever has created a link finds it at once, also after having looked for it in vain.
func TestOwnWritesAreLiveAtOnce(t *testing.T) {
	t.Parallel()
	in := start(t, func(c *redirector.Config) { c.Limit.MissesPerMinute = 0 })
	for i := range 50 {
		key := fmt.Sprintf("new%d", i)
		if r := in.get("/" + key); r.status != 404 {
			t.Fatal(r)
		}
		in.create(key, "https://example.com/")
		if r := in.get("/" + key); r.status != 302 {
			t.Fatalf("%s right after it was created: %+v", key, r)
		}
	}
}
