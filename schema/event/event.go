// Package event turns Linkfold's events into stream messages and back (DESIGN.md §2).
//
// The payload is Protobuf. LINKS messages also carry CloudEvents 1.0 headers in binary mode, so that generic tools can list
// them; decoding never looks at those. HITS messages are the bare payload.
package event

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// ErrMalformed is wrapped by every error about bytes that are not the event they should be.
var ErrMalformed = errors.New("malformed event")

// Source is the CloudEvents source of all events.
const Source = "linkfold"

// Aggregate names what the event speaks of; the error wraps ErrMalformed.
func Aggregate(ev *linkfoldv1.Event) (stream.Aggregate, error) {
	switch s := ev.GetState().(type) {
	case *linkfoldv1.Event_Link:
		return stream.LinkAggregate(s.Link.GetDomain(), s.Link.GetKey()), nil
	case *linkfoldv1.Event_Domain:
		return stream.DomainAggregate(s.Domain.GetName()), nil
	}
	return stream.Aggregate{}, fmt.Errorf("event %s without state: %w", TypeName(ev.GetType()), ErrMalformed)
}

// Message is the LINKS message of an event. Publish it with the expected last sequence of its subject.
func Message(ev *linkfoldv1.Event) (*nats.Msg, error) {
	a, err := Aggregate(ev)
	if err != nil {
		return nil, err
	}
	data, err := proto.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	m := nats.NewMsg(a.Subject())
	m.Data = data
	m.Header = nats.Header{
		"ce-specversion":     {"1.0"},
		"ce-id":              {ev.GetCommandId()},
		"ce-type":            {"linkfold." + TypeName(ev.GetType())},
		"ce-source":          {Source},
		"ce-time":            {time.UnixMicro(ev.GetTimeUs()).UTC().Format(time.RFC3339Nano)},
		"ce-subject":         {m.Subject},
		"ce-datacontenttype": {"application/protobuf"},
	}
	return m, nil
}

// Decode reads a LINKS payload and checks that it belongs to subject; the error wraps ErrMalformed.
func Decode(subject string, data []byte) (stream.Aggregate, *linkfoldv1.Event, error) {
	ev := &linkfoldv1.Event{}
	if err := proto.Unmarshal(data, ev); err != nil {
		return stream.Aggregate{}, nil, fmt.Errorf("decode event: %v: %w", err, ErrMalformed)
	}
	a, err := Aggregate(ev)
	if err != nil {
		return stream.Aggregate{}, nil, err
	}
	want, err := stream.ParseSubject(subject)
	if err != nil {
		return stream.Aggregate{}, nil, fmt.Errorf("%v: %w", err, ErrMalformed)
	}
	if a != want {
		return stream.Aggregate{}, nil, fmt.Errorf("event of %v on subject %q: %w", a, subject, ErrMalformed)
	}
	return a, ev, nil
}

// DecodeHit reads a HITS payload; the error wraps ErrMalformed.
func DecodeHit(data []byte) (*linkfoldv1.Hit, error) {
	h := &linkfoldv1.Hit{}
	if err := proto.Unmarshal(data, h); err != nil {
		return nil, fmt.Errorf("decode hit: %v: %w", err, ErrMalformed)
	}
	switch {
	case len(h.GetId()) != 16:
		return nil, fmt.Errorf("hit id of %d bytes: %w", len(h.GetId()), ErrMalformed)
	case h.GetTimeUs() <= 0:
		return nil, fmt.Errorf("hit without a time: %w", ErrMalformed)
	case h.GetPerson() != nil && !validIP(h.GetPerson().GetClientIp()):
		return nil, fmt.Errorf("client address of %d bytes: %w", len(h.GetPerson().GetClientIp()), ErrMalformed)
	}
	return h, nil
}

// DecodeTotals reads a LEDGER payload; the error wraps ErrMalformed.
func DecodeTotals(data []byte) (*linkfoldv1.Totals, error) {
	t := &linkfoldv1.Totals{}
	if err := proto.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("decode totals: %v: %w", err, ErrMalformed)
	}
	if t.GetRedirector() == "" || t.GetTimeUs() <= 0 {
		return nil, fmt.Errorf("totals without redirector or time: %w", ErrMalformed)
	}
	return t, nil
}

func validIP(b []byte) bool { return len(b) == 0 || len(b) == 4 || len(b) == 16 }

// TypeName is an event type as people write it: LinkCreated, DomainConfigured. Unknown numbers read "Event<n>".
func TypeName(t linkfoldv1.EventType) string {
	name, ok := linkfoldv1.EventType_name[int32(t)]
	if !ok {
		return fmt.Sprintf("Event%d", t)
	}
	return camel(strings.TrimPrefix(name, "EVENT_TYPE_"))
}

// OutcomeName is an outcome as it stands in ClickHouse: redirected, not_found. Unknown numbers read "outcome<n>".
func OutcomeName(o linkfoldv1.Outcome) string {
	return enumName(linkfoldv1.Outcome_name, int32(o), "OUTCOME_", "outcome")
}

// TrackingName is a tracking policy as API and ClickHouse spell it: cookie, hash, none.
func TrackingName(t linkfoldv1.Tracking) string {
	return enumName(linkfoldv1.Tracking_name, int32(t), "TRACKING_", "tracking")
}

// SourceName is the source of a hit as ClickHouse spells it: link, qr, api.
func SourceName(s linkfoldv1.Source) string {
	return enumName(linkfoldv1.Source_name, int32(s), "SOURCE_", "source")
}

func enumName(names map[int32]string, n int32, prefix, unknown string) string {
	if name, ok := names[n]; ok {
		return strings.ToLower(strings.TrimPrefix(name, prefix))
	}
	return fmt.Sprintf("%s%d", unknown, n)
}

func camel(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(s, "_") {
		b.WriteString(part[:1])
		b.WriteString(strings.ToLower(part[1:]))
	}
	return b.String()
}
