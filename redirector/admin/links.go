package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"google.golang.org/protobuf/proto"

	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// Link is a link as the API shows it.
type Link struct {
	Domain      string    `json:"domain" doc:"Host name that the link lives on."`
	Key         string    `json:"key" doc:"Path without the leading slash, as requests carry it."`
	Destination string    `json:"destination" doc:"Where the link leads, in WHATWG serialization."`
	LockQuery   bool      `json:"lock_query,omitempty"`
	Inactive    bool      `json:"inactive" doc:"An inactive link answers 404."`
	Deleted     bool      `json:"deleted,omitempty"`
	Title       string    `json:"title,omitempty"`
	Tags        []string  `json:"tags,omitempty"`
	Created     time.Time `json:"created"`
	Revision    uint64    `json:"revision" doc:"LINKS sequence of the newest event; the ETag."`
}

// Fields is what an author may set.
type Fields struct {
	Destination string   `json:"destination" doc:"Absolute http or https URL, or a path such as /other-key that is resolved again; at most 2048 bytes. {name} and {name=default} stand for the variables of the domain's rules." example:"https://example.com/page"`
	LockQuery   bool     `json:"lock_query,omitempty" doc:"Keep the destination's query as it is; otherwise the visitor's is merged into it and wins."`
	Inactive    bool     `json:"inactive,omitempty"`
	Title       string   `json:"title,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// LinkPath names a link. It is exported for huma, which skips other embedded structs.
type LinkPath struct {
	Domain string `path:"domain" doc:"Host name."`
	Key    string `path:"key" doc:"Key, percent-encoded as one path segment: a/b is a%2Fb."`
}

type linkOutput struct {
	ETag string `header:"ETag"`
	Body Link
}

type createInput struct {
	Change
	Body struct {
		Fields
		Domain string `json:"domain,omitempty" doc:"Left out: the default domain."`
		Key    string `json:"key,omitempty" doc:"Left out: one is made, by the generator of the domain."`
	}
}

type putInput struct {
	LinkPath
	Change
	Body Fields
}

type actInput struct {
	LinkPath
	Change
}

func (a *api) registerLinks(h huma.API) {
	const path = "/v1/links/{domain}/{key}"
	huma.Register(h, operation("create-link", "POST", "/v1/links", "Create a link", 201), a.create)
	huma.Register(h, operation("get-link", "GET", path, "Read a link", 200), a.get)
	huma.Register(h, operation("put-link", "PUT", path, "Change a link", 200), a.put)
	huma.Register(h, operation("delete-link", "DELETE", path, "Delete a link; its history stays", 200), a.act(func(l *linkfoldv1.Link) { l.Deleted = true }))
	huma.Register(h, operation("deactivate-link", "POST", path+"/deactivate", "Switch a link off", 200), a.act(func(l *linkfoldv1.Link) { l.Inactive = true }))
	huma.Register(h, operation("reactivate-link", "POST", path+"/reactivate", "Switch a link on again", 200), a.act(func(l *linkfoldv1.Link) { l.Inactive = false }))
	huma.Register(h, operation("link-history", "GET", path+"/history", "All revisions of a link", 200), a.history)
}

// codeAttempts bounds the search for a free random code; at half of all 62^5 codes taken, 32 misses in a row are one in four billion.
const codeAttempts = 32

func (a *api) create(ctx context.Context, in *createInput) (*linkOutput, error) {
	out, err := a.createLink(ctx, in)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return out, nil
}

func (a *api) createLink(ctx context.Context, in *createInput) (*linkOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	domain, err := link.NormalizeDomain(cmp.Or(in.Body.Domain, a.cfg.DefaultDomain))
	if err != nil {
		return nil, err
	}
	home, err := a.home(ctx, domain)
	if err != nil {
		return nil, err
	}
	command := commandID(in.IdempotencyKey)
	l := fields(&linkfoldv1.Link{Domain: domain, Key: in.Body.Key, CreatedUs: time.Now().UnixMicro()}, in.Body.Fields)
	if l.GetKey() != "" {
		return a.createOne(ctx, l, home, command, &in.Change)
	}
	codes := generatorOf(home.domain)
	for n := range codeAttempts {
		l.Key = codes.code(a.cfg.Token, command, n)
		out, err := a.createOne(ctx, l, home, command, &in.Change)
		var taken *ConflictError
		if !errors.As(err, &taken) {
			return out, err
		}
	}
	return nil, link.Invalid("no free code in %d attempts: the domain is nearly full, give a key, or make its codes longer", codeAttempts)
}

// createOne writes the first event of a key, or the first after its deletion.
func (a *api) createOne(ctx context.Context, l *linkfoldv1.Link, home home, command string, c *Change) (*linkOutput, error) {
	if err := link.Normalize(l); err != nil {
		return nil, err
	}
	if home.anyCase() && link.LowerPath(l.GetKey()) != l.GetKey() {
		return nil, link.Invalid("key %q has capital letters, and on %s their case does not count: write it in lower case", l.GetKey(), l.GetDomain())
	}
	agg := stream.LinkAggregate(l.GetDomain(), l.GetKey())
	now, err := a.writer.Current(ctx, agg)
	if err != nil {
		return nil, err
	}
	before, err := a.repeated(ctx, agg, now, c)
	switch {
	case err != nil:
		return nil, err
	case before.Revision != 0:
		return output(before.Revision, before.Event.GetLink()), nil
	case now.Revision != 0 && !now.Event.GetLink().GetDeleted():
		return nil, &ConflictError{Aggregate: agg, Current: now.Revision}
	}
	if err := a.checkOtherName(ctx, l, home.names); err != nil {
		return nil, err
	}
	if err := a.checkLoop(ctx, l, home); err != nil {
		return nil, err
	}
	return a.write(ctx, linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED, l, now.Revision, command, c.Reason)
}

func (a *api) get(ctx context.Context, in *LinkPath) (*linkOutput, error) {
	now, err := a.current(ctx, in)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return output(now.Revision, now.Event.GetLink()), nil
}

func (a *api) put(ctx context.Context, in *putInput) (*linkOutput, error) {
	if in.IfMatch == "" {
		return nil, model(428, "send If-Match with the revision that you changed, as in the ETag of your last read")
	}
	out, err := a.update(ctx, &in.LinkPath, &in.Change, func(l *linkfoldv1.Link) { fields(l, in.Body) })
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return out, nil
}

// act is an operation without a body: it changes one thing, on the current revision when no If-Match was sent.
func (a *api) act(edit func(*linkfoldv1.Link)) func(context.Context, *actInput) (*linkOutput, error) {
	return func(ctx context.Context, in *actInput) (*linkOutput, error) {
		out, err := a.update(ctx, &in.LinkPath, &in.Change, edit)
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return out, nil
	}
}

// update applies edit to the current state and writes the event that this amounts to; no change is no event.
func (a *api) update(ctx context.Context, path *LinkPath, c *Change, edit func(*linkfoldv1.Link)) (*linkOutput, error) {
	expected, err := parseETag(c.IfMatch)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, err
	}
	agg, err := aggregate(path)
	if err != nil {
		return nil, err
	}
	now, err := a.writer.Current(ctx, agg)
	if err != nil {
		return nil, err
	}
	// Before anything else: what the request did may be why it would be refused now, as a repeated DELETE.
	if before, err := a.repeated(ctx, agg, now, c); err != nil || before.Revision != 0 {
		return output(before.Revision, before.Event.GetLink()), err
	}
	switch {
	case now.Revision == 0 || now.Event.GetLink().GetDeleted():
		return nil, fmt.Errorf("link %s/%s: %w", agg.Domain, agg.Key, ErrNotFound)
	case expected != 0 && expected != now.Revision:
		return nil, &ConflictError{Aggregate: agg, Current: now.Revision}
	}
	after := proto.CloneOf(now.Event.GetLink())
	edit(after)
	if err := link.Normalize(after); err != nil {
		return nil, err
	}
	place, err := a.home(ctx, agg.Domain)
	if err != nil {
		place.names = []string{agg.Domain} // A link whose domain is gone can still be switched off.
	}
	if err := a.checkLoop(ctx, after, place); err != nil {
		return nil, err
	}
	t := link.Change(now.Event.GetLink(), after)
	if t == linkfoldv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return output(now.Revision, after), nil
	}
	return a.write(ctx, t, after, now.Revision, commandID(c.IdempotencyKey), c.Reason)
}

func (a *api) write(ctx context.Context, t linkfoldv1.EventType, l *linkfoldv1.Link, expected uint64, command, reason string) (*linkOutput, error) {
	rev, err := a.writer.Write(ctx, &linkfoldv1.Event{
		Type: t, CommandId: command, Actor: actor, Reason: reason, State: &linkfoldv1.Event_Link{Link: l},
	}, expected)
	if err != nil {
		return nil, err
	}
	return output(rev, l), nil
}

// current is the newest event of a link that exists.
func (a *api) current(ctx context.Context, in *LinkPath) (link.State, error) {
	agg, err := aggregate(in)
	if err != nil {
		return link.State{}, err
	}
	now, err := a.writer.Current(ctx, agg)
	if err != nil {
		return link.State{}, err
	}
	if now.Revision == 0 || now.Event.GetLink().GetDeleted() {
		return link.State{}, fmt.Errorf("link %s/%s: %w", agg.Domain, agg.Key, ErrNotFound)
	}
	return now, nil
}

func aggregate(in *LinkPath) (stream.Aggregate, error) {
	domain, err := link.NormalizeDomain(in.Domain)
	if err != nil {
		return stream.Aggregate{}, err
	}
	key, err := link.NormalizeKey(in.Key)
	if err != nil {
		return stream.Aggregate{}, err
	}
	return stream.LinkAggregate(domain, key), nil
}

// actor names who made a change; with one token there is one.
const actor = "admin"

func fields(l *linkfoldv1.Link, f Fields) *linkfoldv1.Link {
	l.Destination, l.LockQuery, l.Inactive, l.Title, l.Tags = f.Destination, f.LockQuery, f.Inactive, f.Title, f.Tags
	return l
}

func output(rev uint64, l *linkfoldv1.Link) *linkOutput {
	return &linkOutput{ETag: etag(rev), Body: show(rev, l)}
}

func show(rev uint64, l *linkfoldv1.Link) Link {
	return Link{
		Domain: l.GetDomain(), Key: l.GetKey(), Destination: l.GetDestination(), LockQuery: l.GetLockQuery(), Inactive: l.GetInactive(), Deleted: l.GetDeleted(),
		Title: l.GetTitle(), Tags: l.GetTags(), Created: time.UnixMicro(l.GetCreatedUs()).UTC(), Revision: rev,
	}
}
