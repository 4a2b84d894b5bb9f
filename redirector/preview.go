package redirector

import (
	"context"
	"strings"

	"linkfold/redirector/admin"
	"linkfold/redirector/website"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// preview implements admin.Preview: it takes the steps of decide with the request of a past hit, twice. Nothing is recorded.
func (h *handler) preview(next *linkfoldv1.Domain) (admin.Try, error) {
	sites, err := website.Load(next)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, hit *linkfoldv1.Hit) (before, after admin.Answer, mine bool, err error) {
		r := request{method: hit.GetMethod(), scheme: hit.GetScheme(), host: hit.GetHost(), path: hit.GetPath(), query: hit.GetQuery()}
		if r.scheme == "" {
			r.scheme = "http" // Recorded before hits had a scheme.
		}
		then := decision{host: hostName(r.host), hostPort: r.host, scheme: r.scheme, config: next, sites: sites, domain: next.GetName()}
		if mine, err = h.belongs(ctx, then.host, next.GetName()); !mine || err != nil {
			return before, after, false, err
		}
		now := decision{}
		if err := h.lookup(ctx, &r, &now); err != nil {
			return before, after, false, err
		}
		h.steps(ctx, &r, nil, &now)
		h.steps(ctx, &r, nil, &then)
		return shown(&now), shown(&then), true, nil
	}, nil
}

// belongs reports whether requests for a host are a domain's, once that is registered.
func (h *handler) belongs(ctx context.Context, host, domain string) (bool, error) {
	if domain != h.defaultDomain && host != domain && !strings.HasSuffix(host, "."+domain) {
		return false, nil // Most of all hits, and no reason to ask for their domains.
	}
	for name := range h.names(host) {
		if name == domain {
			return true, nil
		}
		e, err := h.links.Get(ctx, stream.DomainAggregate(name))
		if err != nil || e.Domain != nil && !e.Domain.GetRemoved() {
			return false, err
		}
	}
	return false, nil
}

func shown(d *decision) admin.Answer {
	a := d.answer()
	return admin.Answer{
		Outcome: event.OutcomeName(d.outcome), Status: a.status, Location: a.location, Domain: d.domain, Website: d.website(),
		Rule: d.rule(), Key: d.key,
	}
}
