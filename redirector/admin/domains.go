package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"google.golang.org/protobuf/proto"

	"linkfold/redirector/website"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// maxConfiguration is the largest body that configures a domain, bytes: scripts are longer than links.
const maxConfiguration = 512 << 10

type domainInput struct {
	Domain string `path:"domain" doc:"Host name, without port."`
	Change
	Body Configuration
}

type domainPath struct {
	Domain string `path:"domain" doc:"Host name, without port."`
}

type domainAct struct {
	Domain string `path:"domain" doc:"Host name, without port."`
	Change
}

type domainOutput struct {
	ETag string `header:"ETag"`
	Body Domain
}

func (a *api) registerDomains(h huma.API) {
	const path = "/v1/domains/{domain}"
	put := operation("put-domain", "PUT", path, "Register a domain, or replace its configuration", 200)
	put.MaxBodyBytes = maxConfiguration
	try := operation("try-domain", "POST", path+"/dry-run", "Show which of the last hits another configuration would answer differently", 200)
	try.MaxBodyBytes = maxConfiguration
	huma.Register(h, put, a.putDomain)
	huma.Register(h, try, a.tryDomain)
	huma.Register(h, operation("get-domain", "GET", path, "Read a domain", 200), a.getDomain)
	huma.Register(h, operation("delete-domain", "DELETE", path, "Remove a domain; its links and history stay", 200), a.deleteDomain)
	huma.Register(h, operation("domain-history", "GET", path+"/history", "All revisions of a domain", 200), a.domainHistory)
	huma.Register(h, operation("domain-ruleset", "GET", path+"/ruleset", "Count and checksum of the links on a domain", 200), a.ruleset)
}

func (a *api) putDomain(ctx context.Context, in *domainInput) (*domainOutput, error) {
	d, warnings, err := in.Body.compile(in.Domain)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return a.answer(ctx, warnings)(a.configure(ctx, d.GetName(), &in.Change, func(*linkfoldv1.Domain) (*linkfoldv1.Domain, error) { return d, nil }))
}

func (a *api) deleteDomain(ctx context.Context, in *domainAct) (*domainOutput, error) {
	name, err := link.NormalizeDomain(in.Domain)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return a.answer(ctx, nil)(a.configure(ctx, name, &in.Change, func(d *linkfoldv1.Domain) (*linkfoldv1.Domain, error) {
		if d == nil {
			return nil, fmt.Errorf("domain %s: %w", name, ErrNotFound)
		}
		d = proto.CloneOf(d)
		d.Removed = true
		return d, nil
	}))
}

// answer is the end of an operation on a domain.
func (a *api) answer(ctx context.Context, warnings []string) func(link.State, error) (*domainOutput, error) {
	return func(s link.State, err error) (*domainOutput, error) {
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		out := showDomain(s)
		out.Body.Warnings = warnings
		return out, nil
	}
}

// configure writes a domain's new state, unless it is the one it has; edit makes it from the current one, nil when the domain is not
// registered. A change of what exists needs the revision that it is based on: the new state replaces the whole configuration.
func (a *api) configure(ctx context.Context, name string, c *Change, edit func(*linkfoldv1.Domain) (*linkfoldv1.Domain, error)) (link.State, error) {
	expected, err := parseETag(c.IfMatch)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return link.State{}, err
	}
	agg := stream.DomainAggregate(name)
	now, err := a.writer.Current(ctx, agg)
	if err != nil {
		return link.State{}, err
	}
	// Before anything else: what the request did may be why it would be refused now, as a repeated DELETE.
	if before, err := a.repeated(ctx, agg, now, c); err != nil || before.Revision != 0 {
		return before, err
	}
	before := now.Event.GetDomain()
	if before.GetRemoved() {
		before = nil
	}
	d, err := edit(before)
	if err != nil {
		return link.State{}, err
	}
	d.CreatedUs = cmp.Or(before.GetCreatedUs(), time.Now().UnixMicro())
	switch {
	case expected != 0 && expected != now.Revision:
		return link.State{}, &ConflictError{Aggregate: agg, Current: now.Revision}
	case before != nil && proto.Equal(before, d):
		return now, nil
	case before != nil && expected == 0:
		return link.State{}, model(http.StatusPreconditionRequired, fmt.Sprintf("domain %s is configured already: send If-Match with the revision that you changed, now %d", name, now.Revision))
	}
	ev := &linkfoldv1.Event{
		Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, CommandId: commandID(c.IdempotencyKey), Actor: actor, Reason: c.Reason,
		State: &linkfoldv1.Event_Domain{Domain: d},
	}
	if d.GetRemoved() {
		ev.Type = linkfoldv1.EventType_EVENT_TYPE_DOMAIN_REMOVED
	}
	rev, err := a.writer.Write(ctx, ev, now.Revision)
	return link.State{Revision: rev, Event: ev}, err
}

func (a *api) getDomain(ctx context.Context, in *domainPath) (*domainOutput, error) {
	return a.answer(ctx, nil)(a.domain(ctx, in.Domain))
}

// domain is the newest event of a domain that is registered.
func (a *api) domain(ctx context.Context, name string) (link.State, error) {
	name, err := link.NormalizeDomain(name)
	if err != nil {
		return link.State{}, err
	}
	now, err := a.writer.Current(ctx, stream.DomainAggregate(name))
	if err == nil && (now.Revision == 0 || now.Event.GetDomain().GetRemoved()) {
		err = fmt.Errorf("domain %s: %w", name, ErrNotFound)
	}
	return now, err
}

// DomainRevision is one entry of a domain's history.
type DomainRevision struct {
	About
	Domain Domain `json:"domain"`
}

type domainHistoryOutput struct {
	Body struct {
		Revisions []DomainRevision `json:"revisions" doc:"Oldest first."`
	}
}

func (a *api) domainHistory(ctx context.Context, in *domainPath) (*domainHistoryOutput, error) {
	name, err := link.NormalizeDomain(in.Domain)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	states, err := a.writer.History(ctx, stream.DomainAggregate(name))
	if err == nil && len(states) == 0 {
		err = fmt.Errorf("domain %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &domainHistoryOutput{}
	for _, s := range states {
		out.Body.Revisions = append(out.Body.Revisions, DomainRevision{about(s.Event), showDomain(s).Body})
	}
	return out, nil
}

// home is where links live.
type home struct {
	domain *linkfoldv1.Domain // that is registered
	// names are the names of the place: its own, and for a website that of the same website with or without what may be left out (RULINGS
	// B22), in the order in which the redirector looks.
	names []string
}

// home finds the home of links on a domain, which must be registered, or a website by the rules of one that is.
func (a *api) home(ctx context.Context, name string) (home, error) {
	for parent := range parents(name) {
		now, err := a.writer.Current(ctx, stream.DomainAggregate(parent))
		if err != nil {
			return home{}, err
		}
		d := now.Event.GetDomain()
		if d == nil || d.GetRemoved() {
			continue
		}
		sites, err := website.Load(d)
		if err != nil {
			return home{}, err
		}
		if sites != nil && sites.Has(name) {
			m, _, _ := sites.Find(name)
			return home{d, slices.Compact([]string{m.Website, m.Bare})}, nil
		}
		if parent == name {
			return home{d, []string{name}}, nil
		}
		return home{}, link.Invalid("%q is no website by the rules of domain %s: change the rules, or give a website that they make", name, parent)
	}
	return home{}, link.Invalid("domain %q is not registered, PUT /v1/domains/%s first", name, name)
}

// EnsureDomain registers a domain unless it is registered already, for the default domain of a new installation.
func EnsureDomain(ctx context.Context, w *Writer, name string) error {
	now, err := w.Current(ctx, stream.DomainAggregate(name))
	if err != nil || now.Revision != 0 {
		return err
	}
	_, err = w.Write(ctx, &linkfoldv1.Event{
		Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, CommandId: "default-domain", Actor: "system", Reason: "default domain",
		State: &linkfoldv1.Event_Domain{Domain: &linkfoldv1.Domain{Name: name, Tracking: linkfoldv1.Tracking_TRACKING_COOKIE, CreatedUs: time.Now().UnixMicro()}},
	}, 0)
	if err != nil {
		return fmt.Errorf("register default domain %s: %w", name, err)
	}
	return nil
}

// trackings are the policies by the names of event.TrackingName.
var trackings = map[string]linkfoldv1.Tracking{
	"": linkfoldv1.Tracking_TRACKING_COOKIE, "cookie": linkfoldv1.Tracking_TRACKING_COOKIE,
	"hash": linkfoldv1.Tracking_TRACKING_HASH, "none": linkfoldv1.Tracking_TRACKING_NONE,
}

func showDomain(s link.State) *domainOutput {
	d := s.Event.GetDomain()
	return &domainOutput{ETag: etag(s.Revision), Body: Domain{
		Name: d.GetName(), Configuration: configuration(d), Removed: d.GetRemoved(), Created: time.UnixMicro(d.GetCreatedUs()).UTC(), Revision: s.Revision,
	}}
}
