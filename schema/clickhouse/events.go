package clickhouse

import (
	"bytes"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
)

// eventColumns are the columns that the history of links and that of domains share.
type eventColumns struct {
	seqs
	kind             col[string]
	time, streamTime col[time.Time]
	actor, reason    col[string]
	commandID        col[string]
	previous         col[uint64]
}

func (r *eventColumns) append(seq uint64, streamTime time.Time, ev *linkfoldv1.Event) {
	r.seq.add(seq)
	r.kind.add(event.TypeName(ev.GetType()))
	r.time.add(time.UnixMicro(ev.GetTimeUs()))
	r.streamTime.add(streamTime)
	r.actor.add(ev.GetActor())
	r.reason.add(ev.GetReason())
	r.commandID.add(ev.GetCommandId())
	r.previous.add(ev.GetPreviousRevision())
}

func (r *eventColumns) columns() []column {
	return []column{
		{"type", &r.kind}, {"time", &r.time}, {"stream_time", &r.streamTime}, {"actor", &r.actor}, {"reason", &r.reason},
		{"command_id", &r.commandID}, {"previous_revision", &r.previous}, {"_seq", &r.seq},
	}
}

// LinkRows is a block of the link_events table.
type LinkRows struct {
	eventColumns
	domain, key, destination col[string]
	lockQuery                col[bool]
	inactive, deleted        col[bool]
	title                    col[string]
	tags                     col[[]string]
	created                  col[time.Time]
}

// Table implements Rows.
func (r *LinkRows) Table() string { return LinkEvents }

// Truncate implements Rows.
func (r *LinkRows) Truncate(n int) { truncate(r.columns(), n) }

// Append adds the row of an event whose state is a link.
func (r *LinkRows) Append(seq uint64, streamTime time.Time, ev *linkfoldv1.Event) {
	l := ev.GetLink()
	r.append(seq, streamTime, ev)
	r.domain.add(l.GetDomain())
	r.key.add(l.GetKey())
	r.destination.add(l.GetDestination())
	r.lockQuery.add(l.GetLockQuery())
	r.inactive.add(l.GetInactive())
	r.deleted.add(l.GetDeleted())
	r.title.add(l.GetTitle())
	r.tags.add(l.GetTags())
	r.created.add(time.UnixMicro(l.GetCreatedUs()))
}

func (r *LinkRows) columns() []column {
	return append(r.eventColumns.columns(),
		column{"domain", &r.domain}, column{"key", &r.key}, column{"destination", &r.destination}, column{"lock_query", &r.lockQuery},
		column{"inactive", &r.inactive}, column{"deleted", &r.deleted}, column{"title", &r.title},
		column{"tags", &r.tags}, column{"created", &r.created})
}

// DomainRows is a block of the domain_events table.
type DomainRows struct {
	eventColumns
	domain, tracking col[string]
	removed          col[bool]
	created          col[time.Time]
	configuration    col[string]
}

// Table implements Rows.
func (r *DomainRows) Table() string { return DomainEvents }

// Truncate implements Rows.
func (r *DomainRows) Truncate(n int) { truncate(r.columns(), n) }

// Append adds the row of an event whose state is a domain.
func (r *DomainRows) Append(seq uint64, streamTime time.Time, ev *linkfoldv1.Event) {
	d := ev.GetDomain()
	r.append(seq, streamTime, ev)
	r.domain.add(d.GetName())
	r.tracking.add(event.TrackingName(d.GetTracking()))
	r.removed.add(d.GetRemoved())
	r.created.add(time.UnixMicro(d.GetCreatedUs()))
	r.configuration.add(configuration(d))
}

// configuration is a domain as JSON, for people: the compiled form of its scripts is left out. Fields are in the order of their numbers.
func configuration(d *linkfoldv1.Domain) string {
	d = proto.CloneOf(d)
	for _, w := range append(d.GetWebsites(), &linkfoldv1.Website{Rules: d.GetRules()}) {
		if w.GetRules() != nil {
			w.Rules.Rules, w.Rules.Compiler = nil, 0
		}
	}
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(d)
	if err != nil { // Only for text that is not UTF-8, which decoding refuses.
		return ""
	}
	var compact bytes.Buffer // protojson adds spaces at random.
	if err := json.Compact(&compact, b); err != nil {
		return ""
	}
	return compact.String()
}

func (r *DomainRows) columns() []column {
	return append(r.eventColumns.columns(), column{"domain", &r.domain}, column{"tracking", &r.tracking},
		column{"removed", &r.removed}, column{"created", &r.created}, column{"configuration", &r.configuration})
}
