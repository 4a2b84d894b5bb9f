package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// Domain is a domain's configuration as the API shows it.
type Domain struct {
	Name     string    `json:"name"`
	Tracking string    `json:"tracking" enum:"cookie,hash,none"`
	Created  time.Time `json:"created"`
	Revision uint64    `json:"revision"`
}

type domainInput struct {
	Domain string `path:"domain" doc:"Host name, without port."`
	Change
	Body struct {
		Tracking string `json:"tracking,omitempty" enum:"cookie,hash,none" default:"cookie" doc:"What may be remembered of a visitor: cookie id, day hash alone, or nothing."`
	}
}

type domainPath struct {
	Domain string `path:"domain" doc:"Host name, without port."`
}

type domainOutput struct {
	ETag string `header:"ETag"`
	Body Domain
}

var trackings = map[string]linkfoldv1.Tracking{
	"": linkfoldv1.Tracking_TRACKING_COOKIE, "cookie": linkfoldv1.Tracking_TRACKING_COOKIE,
	"hash": linkfoldv1.Tracking_TRACKING_HASH, "none": linkfoldv1.Tracking_TRACKING_NONE,
}

func (a *api) registerDomains(h huma.API) {
	const path = "/v1/domains/{domain}"
	huma.Register(h, operation("put-domain", "PUT", path, "Register or change a domain", 200), a.putDomain)
	huma.Register(h, operation("get-domain", "GET", path, "Read a domain", 200), a.getDomain)
}

func (a *api) putDomain(ctx context.Context, in *domainInput) (*domainOutput, error) {
	name, err := link.NormalizeDomain(in.Domain)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	expected, err := parseETag(in.IfMatch)
	if err == nil {
		err = in.check()
	}
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out, err := a.configure(ctx, &linkfoldv1.Domain{Name: name, Tracking: trackings[in.Body.Tracking]}, expected, &in.Change)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return out, nil
}

// configure writes a domain's new state, unless it is the one it has.
func (a *api) configure(ctx context.Context, d *linkfoldv1.Domain, expected uint64, c *Change) (*domainOutput, error) {
	agg := stream.DomainAggregate(d.GetName())
	now, err := a.writer.Current(ctx, agg)
	if err != nil {
		return nil, err
	}
	if before, err := a.repeated(ctx, agg, now, c); err != nil || before.Revision != 0 {
		return showDomain(before.Revision, before.Event.GetDomain()), err
	}
	if expected != 0 && expected != now.Revision {
		return nil, &ConflictError{Aggregate: agg, Current: now.Revision}
	}
	before := now.Event.GetDomain()
	d.CreatedUs = time.Now().UnixMicro()
	if before != nil && !before.GetRemoved() {
		d.CreatedUs = before.GetCreatedUs()
		if before.GetTracking() == d.GetTracking() {
			return showDomain(now.Revision, d), nil
		}
	}
	rev, err := a.writer.Write(ctx, &linkfoldv1.Event{
		Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, CommandId: commandID(c.IdempotencyKey), Actor: actor, Reason: c.Reason,
		State: &linkfoldv1.Event_Domain{Domain: d},
	}, now.Revision)
	if err != nil {
		return nil, err
	}
	return showDomain(rev, d), nil
}

func (a *api) getDomain(ctx context.Context, in *domainPath) (*domainOutput, error) {
	name, err := link.NormalizeDomain(in.Domain)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	now, err := a.writer.Current(ctx, stream.DomainAggregate(name))
	if err == nil && (now.Revision == 0 || now.Event.GetDomain().GetRemoved()) {
		err = fmt.Errorf("domain %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return showDomain(now.Revision, now.Event.GetDomain()), nil
}

func showDomain(rev uint64, d *linkfoldv1.Domain) *domainOutput {
	return &domainOutput{ETag: etag(rev), Body: Domain{
		Name: d.GetName(), Tracking: event.TrackingName(d.GetTracking()), Created: time.UnixMicro(d.GetCreatedUs()).UTC(), Revision: rev,
	}}
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
