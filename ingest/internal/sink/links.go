package sink

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
)

// links is the sink of the LINKS stream.
type links struct {
	links   clickhouse.LinkRows
	domains clickhouse.DomainRows
	all     [2]clickhouse.Rows
}

func newLinks() Sink {
	s := &links{}
	s.all = [2]clickhouse.Rows{&s.links, &s.domains}
	return s
}

// Rows implements Sink.
func (s *links) Rows() []clickhouse.Rows { return s.all[:] }

// Add implements Sink.
func (s *links) Add(m source.Message) error {
	_, ev, err := event.Decode(m.Subject, m.Data)
	if err != nil {
		return err
	}
	if err := checkTimes(ev.GetTimeUs(), ev.GetLink().GetCreatedUs(), ev.GetDomain().GetCreatedUs()); err != nil {
		return err
	}
	switch ev.GetState().(type) {
	case *linkfoldv1.Event_Link:
		s.links.Append(m.Seq, m.Time, ev)
	case *linkfoldv1.Event_Domain:
		s.domains.Append(m.Seq, m.Time, ev)
	default:
		return fmt.Errorf("event of an unknown kind: %w", event.ErrMalformed)
	}
	return nil
}

// Settle implements Sink: an event in LINKS is never a copy.
func (s *links) Settle(context.Context, driver.Conn, clickhouse.Range, func(clickhouse.Quarantined)) error {
	return nil
}
