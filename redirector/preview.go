package redirector

import (
	"context"
	"strings"

	"linkfold/redirector/admin"
	"linkfold/redirector/website"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
)

// preview implements admin.Preview: it takes the steps of decide with the request of a past hit, twice. Nothing is recorded.
func (h *handler) preview(ctx context.Context, next *linkfoldv1.Domain, hit *linkfoldv1.Hit) (before, after admin.Answer, mine bool, err error) {
	r := request{method: hit.GetMethod(), scheme: hit.GetScheme(), host: hit.GetHost(), path: hit.GetPath(), query: hit.GetQuery()}
	if r.scheme == "" {
		r.scheme = "http" // Recorded before hits had a scheme.
	}
	sites, err := website.Load(next)
	if err != nil {
		return before, after, false, err
	}
	now := decision{}
	if err := h.lookup(ctx, &r, &now); err != nil {
		return before, after, false, err
	}
	host := "." + now.host
	if now.config.GetName() != next.GetName() && !strings.HasSuffix(host, "."+next.GetName()) {
		return before, after, false, nil
	}
	then := decision{host: now.host, config: next, sites: sites, domain: next.GetName()}
	h.steps(ctx, &r, nil, &now)
	h.steps(ctx, &r, nil, &then)
	return shown(&now), shown(&then), true, nil
}

func shown(d *decision) admin.Answer {
	a := d.answer()
	return admin.Answer{
		Outcome: event.OutcomeName(d.outcome), Status: a.status, Location: a.location, Domain: d.domain, Website: d.website(),
		Rule: d.rule(), Key: d.key,
	}
}
