package redirector

import (
	"context"
	"log/slog"
	"net/netip"
	"strconv"
	"time"

	"linkfold/redirector/accesslog"
	"linkfold/redirector/limit"
	"linkfold/redirector/links"
	"linkfold/redirector/record"
	"linkfold/redirector/visitor"
	"linkfold/schema/linkfoldv1"
)

// maxPath is the longest path that is looked up; a longer one is answered 414.
const maxPath = 2048

// request is what the handler needs to know about an HTTP request. Its strings may be views of the connection's buffer: they are valid until
// the answer is written.
type request struct {
	method, scheme, host           string
	path, query                    string
	referrer, userAgent, language  string
	cookie, forwarded, proto       string
	purpose, secPurpose, byteRange string
	fetchSite, fetchMode           string
	fetchDest, fetchUser           string
	gpc                            bool
	peer                           netip.Addr
	received                       time.Time
	malformed                      int // status to refuse with, when the server could not read the request; else 0
}

// answer is what goes back: a status, and headers that depend on it.
type answer struct {
	outcome    linkfoldv1.Outcome
	status     int
	location   string
	canonical  string        // URL for a Link header; empty for none
	suggested  string        // website that the page Unknown Website names; empty for none
	cookie     string        // tracking id to set; empty for none
	retryAfter time.Duration // for 429 and 503
}

// handler answers requests: serve is the frame, decide (steps.go) the list of steps.
type handler struct {
	links    *links.Store
	recorder *record.Recorder
	limiter  *limit.Limiter
	salts    *visitor.Salts
	proxies  visitor.Proxies
	access   *accesslog.Log
	metrics  *metrics
	log      *slog.Logger

	id            string
	defaultDomain string
}

// serve decides, records and returns the answer. When it returns, the mode's promise about the hit holds.
func (h *handler) serve(ctx context.Context, r *request) answer {
	r.scheme = h.proxies.Scheme(r.peer, r.proto)
	d := h.decide(ctx, r)
	client := h.proxies.ClientAddress(r.peer, r.forwarded)
	a := d.answer()
	if d.miss() {
		if wait := h.limiter.Miss(ctx, client); wait > 0 {
			h.metrics.limited[d.outcome].Inc()
			a = answer{outcome: linkfoldv1.Outcome_OUTCOME_RATE_LIMITED, status: 429, retryAfter: wait}
		}
	}
	v := visitor.Identify(visitor.Policy(d.policy, r.gpc), h.salts.At(r.received), r.cookie, client, r.userAgent, r.received)
	a.cookie = v.CookieID
	h.recorder.Record(h.hit(r, &d, &a, v, client))
	h.logAccess(r, &a, v, client)
	h.metrics.observe(a.outcome, time.Since(r.received))
	return a
}

// hit is the event of this request. What a client controls is cut to a bound and made valid UTF-8.
func (h *handler) hit(r *request, d *decision, a *answer, v visitor.Visitor, client netip.Addr) *linkfoldv1.Hit {
	hit := &linkfoldv1.Hit{
		Id: newHitID(r.received), TimeUs: r.received.UnixMicro(), Domain: d.domain, Key: text(d.key, maxPath), LinkRev: d.linkRev,
		Outcome: a.outcome, Status: uint32(a.status), Destination: a.location, Method: text(r.method, 32), Host: text(r.host, 255),
		Path: text(r.path, maxPath), Query: text(r.query, 2048), Referrer: text(r.referrer, 2048), UserAgent: text(r.userAgent, 1024),
		AcceptLanguage: text(r.language, 256), LatencyUs: uint32(time.Since(r.received).Microseconds()),
		Redirector: h.id, VisitorDay: v.Day, Tracking: v.Policy, Hints: hints(r), Scheme: r.scheme,
	}
	d.describe(hit)
	switch {
	case v.Policy == linkfoldv1.Tracking_TRACKING_COOKIE:
		hit.Person = &linkfoldv1.Person{ClientIp: client.AsSlice(), CookieId: v.CookieID}
	case d.outcome == linkfoldv1.Outcome_OUTCOME_UNKNOWN_DOMAIN && !d.removed && !r.gpc:
		// Nobody's visitor: who keeps asking for hosts that are not here is listed for the firewall (snap-url-rules.txt, "Process" 2).
		hit.Person = &linkfoldv1.Person{ClientIp: client.AsSlice()}
	}
	return hit
}

func hints(r *request) *linkfoldv1.FetchHints {
	if r.secPurpose == "" && r.purpose == "" && r.fetchSite == "" && r.fetchMode == "" && r.fetchDest == "" && r.fetchUser == "" && r.byteRange == "" && !r.gpc {
		return nil
	}
	return &linkfoldv1.FetchHints{
		SecPurpose: text(r.secPurpose, 64), Purpose: text(r.purpose, 64), SecFetchSite: text(r.fetchSite, 32), SecFetchMode: text(r.fetchMode, 32),
		SecFetchDest: text(r.fetchDest, 32), SecFetchUser: text(r.fetchUser, 8), Range: text(r.byteRange, 64), Gpc: r.gpc,
	}
}

func (h *handler) logAccess(r *request, a *answer, v visitor.Visitor, client netip.Addr) {
	if v.Policy != linkfoldv1.Tracking_TRACKING_COOKIE {
		client = netip.Addr{} // As in the hit: the address identifies a person.
	}
	h.access.Write(&accesslog.Line{
		Time: r.received, Client: client, TrackingID: v.CookieID, UserAgent: r.userAgent, Path: r.path, Outcome: a.outcome, URL: a.location,
	})
}

// retrySeconds is a Retry-After value: whole seconds, at least one.
func retrySeconds(d time.Duration) string {
	return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second)))
}
