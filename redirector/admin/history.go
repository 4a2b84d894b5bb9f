package admin

import (
	"context"
	"fmt"
	"time"

	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// About is who changed something, when and why.
type About struct {
	Type     string    `json:"type" example:"LinkRetargeted"`
	Time     time.Time `json:"time"`
	Actor    string    `json:"actor"`
	Reason   string    `json:"reason,omitempty"`
	Command  string    `json:"command_id"`
	Previous uint64    `json:"previous_revision"`
}

func about(ev *linkfoldv1.Event) About {
	return About{
		Type: event.TypeName(ev.GetType()), Time: time.UnixMicro(ev.GetTimeUs()).UTC(), Actor: ev.GetActor(), Reason: ev.GetReason(),
		Command: ev.GetCommandId(), Previous: ev.GetPreviousRevision(),
	}
}

// Revision is one entry of a link's history.
type Revision struct {
	About
	Link Link `json:"link"`
}

type historyOutput struct {
	Body struct {
		Revisions []Revision `json:"revisions" doc:"Oldest first."`
	}
}

func (a *api) history(ctx context.Context, in *LinkPath) (*historyOutput, error) {
	agg, err := aggregate(in)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	states, err := a.writer.History(ctx, agg)
	if err == nil && len(states) == 0 {
		err = fmt.Errorf("link %s/%s: %w", agg.Domain, agg.Key, ErrNotFound)
	}
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &historyOutput{}
	for _, s := range states {
		out.Body.Revisions = append(out.Body.Revisions, Revision{about(s.Event), show(s.Revision, s.Event.GetLink())})
	}
	return out, nil
}

// repeated finds the event that an earlier request with the same idempotency key has written; a zero State when there is none, or the
// client sent no key. now is the aggregate's newest event.
func (a *api) repeated(ctx context.Context, agg stream.Aggregate, now link.State, c *Change) (link.State, error) {
	switch {
	case c.IdempotencyKey == "" || now.Revision == 0:
		return link.State{}, nil
	case now.Event.GetCommandId() == c.IdempotencyKey:
		return now, nil
	}
	return a.writer.find(ctx, agg, c.IdempotencyKey)
}
