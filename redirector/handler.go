package redirector

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/net/publicsuffix"

	"linkfold/redirector/accesslog"
	"linkfold/redirector/limit"
	"linkfold/redirector/links"
	"linkfold/redirector/record"
	"linkfold/redirector/visitor"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// maxPath is the longest path that is looked up; a longer one is answered 414.
const maxPath = 2048

// request is what the handler needs to know about an HTTP request. Its strings may be views of the connection's buffer: they are valid until
// the answer is written.
type request struct {
	method, host, path, query      string
	referrer, userAgent, language  string
	cookie, forwarded              string
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
	cookie     string        // tracking id to set; empty for none
	retryAfter time.Duration // for 429 and 503
}

// handler answers requests. It reads like DESIGN.md §4: method, domain, link, answer, record.
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

// decision is what the steps before the answer have found out.
type decision struct {
	outcome linkfoldv1.Outcome
	status  int
	domain  string
	key     string
	policy  linkfoldv1.Tracking
	entry   links.Entry
}

// serve decides, records and returns the answer. When it returns, the mode's promise about the hit holds.
func (h *handler) serve(ctx context.Context, r *request) answer {
	d := h.decide(ctx, r)
	client := h.proxies.ClientAddress(r.peer, r.forwarded)
	a := answer{outcome: d.outcome, status: d.status}
	switch d.outcome {
	case linkfoldv1.Outcome_OUTCOME_REDIRECTED:
		a.location = d.entry.Link.GetDestination()
	case linkfoldv1.Outcome_OUTCOME_NOT_FOUND, linkfoldv1.Outcome_OUTCOME_UNKNOWN_DOMAIN, linkfoldv1.Outcome_OUTCOME_INACTIVE:
		// An inactive link counts as a miss too, or the limit would tell it from an unknown one.
		if wait := h.limiter.Miss(ctx, client); wait > 0 {
			a.outcome, a.status, a.retryAfter = linkfoldv1.Outcome_OUTCOME_RATE_LIMITED, 429, wait
		}
	case linkfoldv1.Outcome_OUTCOME_UNAVAILABLE:
		a.retryAfter = time.Second
	}
	v := visitor.Identify(visitor.Policy(d.policy, r.gpc), h.salts.At(r.received), r.cookie, client, r.userAgent, r.received)
	a.cookie = v.CookieID
	h.recorder.Record(h.hit(r, &d, &a, v, client))
	h.logAccess(r, &a, v, client)
	h.metrics.observe(a.outcome, time.Since(r.received))
	return a
}

// decide goes through the steps until one of them settles the request.
func (h *handler) decide(ctx context.Context, r *request) decision {
	d := decision{policy: linkfoldv1.Tracking_TRACKING_NONE} // until it is known whose visitor this is
	if r.malformed != 0 {
		return d.settle(linkfoldv1.Outcome_OUTCOME_BAD_REQUEST, r.malformed)
	}
	// Asked before anything is refused: the domain's policy holds for visitors who get no link, too.
	domain, err := h.domain(ctx, r.host)
	if err == nil {
		d.domain, d.policy = domain.Domain.GetName(), domain.Domain.GetTracking()
	}
	if r.method != "GET" && r.method != "HEAD" {
		return d.settle(linkfoldv1.Outcome_OUTCOME_NOT_IMPLEMENTED, 501)
	}
	if status := checkPath(r.path); status != 0 {
		return d.settle(linkfoldv1.Outcome_OUTCOME_BAD_REQUEST, status)
	}
	if err != nil {
		return d.unavailable(h.log, err)
	}
	if domain.Domain == nil {
		return d.settle(linkfoldv1.Outcome_OUTCOME_UNKNOWN_DOMAIN, 404)
	}
	var ok bool
	if d.key, ok = link.PathKey(r.path); !ok {
		return d.settle(linkfoldv1.Outcome_OUTCOME_BAD_REQUEST, 400)
	}
	if d.key == "" || len(d.key) > link.MaxKey {
		return d.settle(linkfoldv1.Outcome_OUTCOME_NOT_FOUND, 404)
	}
	if d.entry, err = h.links.Get(ctx, stream.LinkAggregate(d.domain, d.key)); err != nil {
		return d.unavailable(h.log, err)
	}
	switch l := d.entry.Link; {
	case l == nil || l.GetDeleted():
		return d.settle(linkfoldv1.Outcome_OUTCOME_NOT_FOUND, 404)
	case l.GetInactive():
		return d.settle(linkfoldv1.Outcome_OUTCOME_INACTIVE, 404)
	}
	return d.settle(linkfoldv1.Outcome_OUTCOME_REDIRECTED, 302)
}

func (d decision) settle(o linkfoldv1.Outcome, status int) decision {
	d.outcome, d.status = o, status
	return d
}

func (d decision) unavailable(log *slog.Logger, err error) decision {
	if !errors.Is(err, links.ErrUnavailable) {
		log.Error("lookup failed", "err", err)
	}
	return d.settle(linkfoldv1.Outcome_OUTCOME_UNAVAILABLE, 503)
}

// domain finds the configuration for a host: the host as it stands, else its registrable domain, else the default domain.
func (h *handler) domain(ctx context.Context, host string) (links.Entry, error) {
	for _, name := range [...]string{hostName(host), h.defaultDomain} {
		if name == "" {
			continue
		}
		e, err := h.links.Get(ctx, stream.DomainAggregate(name))
		if err != nil || e.Domain != nil && !e.Domain.GetRemoved() {
			return e, err
		}
		// Rarely reached: only for hosts that are not registered themselves.
		if registrable, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil && registrable != name && name != h.defaultDomain {
			e, err := h.links.Get(ctx, stream.DomainAggregate(registrable))
			if err != nil || e.Domain != nil && !e.Domain.GetRemoved() {
				return e, err
			}
		}
	}
	return links.Entry{}, nil
}

// hit is the event of this request. What a client controls is cut to a bound and made valid UTF-8.
func (h *handler) hit(r *request, d *decision, a *answer, v visitor.Visitor, client netip.Addr) *linkfoldv1.Hit {
	hit := &linkfoldv1.Hit{
		Id: newHitID(r.received), TimeUs: r.received.UnixMicro(), Domain: d.domain, Key: d.key, LinkRev: d.entry.Revision,
		Outcome: a.outcome, Status: uint32(a.status), Destination: a.location, Method: text(r.method, 32), Host: text(r.host, 255),
		Path: text(r.path, maxPath), Query: text(r.query, 2048), Referrer: text(r.referrer, 2048), UserAgent: text(r.userAgent, 1024),
		AcceptLanguage: text(r.language, 256), Source: linkfoldv1.Source_SOURCE_LINK, LatencyUs: uint32(time.Since(r.received).Microseconds()),
		Redirector: h.id, VisitorDay: v.Day, Tracking: v.Policy, Hints: hints(r),
	}
	if v.Policy == linkfoldv1.Tracking_TRACKING_COOKIE {
		hit.Person = &linkfoldv1.Person{ClientIp: client.AsSlice(), CookieId: v.CookieID}
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
