package redirector

import (
	"context"
	"iter"
	"strings"

	"linkfold/redirector/resolve"
	"linkfold/redirector/rules"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// decide goes through the steps of DESIGN.md §4 until one of them settles the request. Each step reports whether it has.
func (h *handler) decide(ctx context.Context, r *request) decision {
	d := decision{policy: linkfoldv1.Tracking_TRACKING_NONE} // until it is known whose visitor this is
	if r.malformed != 0 {
		d.settle(linkfoldv1.Outcome_OUTCOME_BAD_REQUEST, r.malformed)
		return d
	}
	// Looked up before anything is refused: the domain's policy holds for visitors who get no link, too.
	err := h.lookup(ctx, r, &d)
	h.steps(ctx, r, err, &d)
	return d
}

// steps settles a request whose domain was looked up, with the error that this gave.
func (h *handler) steps(ctx context.Context, r *request, lookup error, d *decision) {
	switch {
	case h.method(r, d): // 1
	case h.path(r, d):
	case h.domain(lookup, d): // 2
	case h.website(d): // 3
	case h.page(r, d): // 4
	default:
		h.shortlink(ctx, d) // 6
	}
}

// method lets GET and HEAD pass (step 1).
func (h *handler) method(r *request, d *decision) bool {
	if r.method == "GET" || r.method == "HEAD" {
		return false
	}
	return d.settle(linkfoldv1.Outcome_OUTCOME_NOT_IMPLEMENTED, 501)
}

// path brings the path into the form in which keys are stored.
func (h *handler) path(r *request, d *decision) bool {
	if status := checkPath(r.path); status != 0 {
		return d.settle(linkfoldv1.Outcome_OUTCOME_BAD_REQUEST, status)
	}
	path, ok := link.SerializePath(r.path)
	if !ok {
		return d.settle(linkfoldv1.Outcome_OUTCOME_BAD_REQUEST, 400)
	}
	d.path, d.key, d.query = path, path[1:], r.query
	if d.anyCase() && isUpper(path) {
		d.source = linkfoldv1.Source_SOURCE_QR
	}
	return false
}

// lookup finds the configuration for a host: the host as it stands, else its registrable domain, else the default domain.
func (h *handler) lookup(ctx context.Context, r *request, d *decision) error {
	d.host, d.hostPort, d.scheme = hostName(r.host), r.host, r.scheme
	for name := range h.names(d.host) {
		e, err := h.links.Get(ctx, stream.DomainAggregate(name))
		switch {
		case err != nil:
			return err
		case e.Domain == nil:
			continue
		case e.Domain.GetRemoved():
			d.policy, d.removed = e.Domain.GetTracking(), true // What was promised to visitors outlives the domain.
			continue
		}
		d.config, d.sites, d.policy, d.domain = e.Domain, e.Sites, e.Domain.GetTracking(), e.Domain.GetName()
		return e.Err
	}
	return nil
}

// names are the domains that a host may belong to, the first that is registered counts.
func (h *handler) names(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if host != "" && !yield(host) {
			return
		}
		// Rarely reached: only for hosts that are not registered themselves.
		if name, ok := rules.Registrable(host); ok && name != host && !yield(name) {
			return
		}
		if h.defaultDomain != "" && h.defaultDomain != host {
			yield(h.defaultDomain)
		}
	}
}

// domain refuses hosts without one (step 2).
func (h *handler) domain(lookup error, d *decision) bool {
	switch {
	case lookup != nil:
		return d.unavailable(h.log, lookup)
	case d.config == nil:
		return d.settle(linkfoldv1.Outcome_OUTCOME_UNKNOWN_DOMAIN, 404)
	}
	return false
}

// website applies the domain rules, if there are any (step 3).
func (h *handler) website(d *decision) bool {
	if d.sites == nil {
		return false
	}
	host, website, ok := d.sites.Find(d.hostBelow(d.config.GetName()))
	if ok {
		d.site = &site{host: host, rules: website}
	}
	if website == nil {
		return d.settle(linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE, 404)
	}
	return false
}

// page applies the website rules and takes the options out of the URL (step 4).
func (h *handler) page(r *request, d *decision) bool {
	if d.site == nil {
		return false
	}
	if d.anyCase() {
		d.path = link.LowerPath(d.path)
	}
	website := d.site.rules
	u := rules.URL{Scheme: r.scheme, Host: d.host, Port: hostPort(r.host), Path: d.path, Query: r.query}
	m, ok := website.Match(u, d.site.host)
	if !ok {
		return d.settle(linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE, 404)
	}
	d.site.page, d.site.paged = m, true
	unknown := m.UnknownQuery
	switch website.Policy() {
	case linkfoldv1.UnknownQuery_UNKNOWN_QUERY_PASS:
		unknown = nil
	case linkfoldv1.UnknownQuery_UNKNOWN_QUERY_STRIP:
	default:
		if len(unknown) > 0 {
			return d.settle(linkfoldv1.Outcome_OUTCOME_UNKNOWN_QUERY, 404)
		}
	}
	if m.Conflict {
		// What counts visits, or is passed on, is not lost on the way.
		canonical := withQuery(onScheme(m.Canonical(), r.scheme), stripQuery(stripQuery(r.query, m.Known), unknown))
		if d.settles(canonical) {
			return d.redirect(linkfoldv1.Outcome_OUTCOME_CANONICAL, 301, canonical)
		}
	}
	if len(unknown) > 0 {
		return d.redirect(linkfoldv1.Outcome_OUTCOME_CANONICAL, 302, resolve.LocalLocation(withQuery(d.path, stripUnknown(r.query, unknown, m.Known))))
	}
	if len(m.Known) > 0 {
		d.query, d.options = stripQuery(r.query, m.Known), keepQuery(r.query, m.Known)
	}
	return false
}

// origin stands for the request's own while it is resolved: a Location on it is sent as a path.
const origin = "http://origin.invalid"

// shortlink resolves the path: longest prefix, internal redirects, query and fragment precedence (step 6).
func (h *handler) shortlink(ctx context.Context, d *decision) {
	set := d.ruleset(h.links)
	request := resolve.Request{Origin: origin, Path: d.lookupPath(), Query: d.query}
	result, err := resolve.Resolve(ctx, set, request, resolve.Options{MaxHops: int(d.config.GetMaxHops()), Variables: d.variables()})
	d.follow(set, &result)
	reason := resolve.Reason(err)
	switch {
	case err != nil && reason == nil:
		d.unavailable(h.log, err)
	case err != nil:
		d.unresolvable(reason.Error())
	case result.Matched && d.isSelf(result.URL):
		d.unresolvable(resolve.ErrTooManyRedirects.Error())
	case result.Matched:
		d.redirect(linkfoldv1.Outcome_OUTCOME_REDIRECTED, d.redirectStatus(), result.URL)
	case result.Hops > 0:
		h.stay(ctx, d, result.URL[len(origin):])
	case set.inactive.Key != "":
		d.domain, d.key, d.linkRev = set.inactiveDomain, set.inactive.Key, set.inactive.Revision
		d.settle(linkfoldv1.Outcome_OUTCOME_INACTIVE, 404)
	default:
		d.settle(linkfoldv1.Outcome_OUTCOME_NOT_FOUND, 404)
	}
}

// stay redirects to a path of the same website, to which internal redirects have led and where no link is. With rules, or where case does not
// count, a request for it may all the same find one, and browsers would come back here for ever: then the link leads nowhere.
func (h *handler) stay(ctx context.Context, d *decision, location string) {
	location, ok := d.onHost(location)
	if !ok {
		d.unresolvable(resolve.ErrTooManyRedirects.Error())
		return
	}
	if d.site != nil || d.anyCase() {
		sent, _, _ := strings.Cut(location, "#") // Browsers keep the fragment to themselves.
		path, query, _ := strings.Cut(sent, "?")
		again := decision{host: d.host, config: d.config, sites: d.sites, domain: d.domain}
		r := request{method: "GET", scheme: d.scheme, host: d.hostPort, path: path, query: query}
		if !h.path(&r, &again) && !h.website(&again) && !h.page(&r, &again) {
			_, found, err := again.ruleset(h.links).Longest(ctx, again.lookupPath())
			if err != nil {
				d.unavailable(h.log, err)
				return
			}
			if found {
				d.unresolvable(resolve.ErrTooManyRedirects.Error())
				return
			}
		}
	}
	d.redirect(linkfoldv1.Outcome_OUTCOME_REDIRECTED, 302, location)
}
