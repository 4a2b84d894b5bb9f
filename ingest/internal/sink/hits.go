package sink

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"linkfold/ingest/enrich"
	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// hits is the sink of the HITS streams. A hit that its redirector marked as sent again waits for Settle, because only
// the table can tell whether its first copy arrived.
type hits struct {
	rows     clickhouse.HitRows
	all      [1]clickhouse.Rows
	enriched clickhouse.Enrichment
	suspects []suspect
}

// suspect is a marked hit; its id may be stored already.
type suspect struct {
	m   source.Message
	hit *linkfoldv1.Hit
	id  uuid.UUID
}

func newHits() Sink {
	h := &hits{}
	h.all[0] = &h.rows
	return h
}

// Rows implements Sink.
func (s *hits) Rows() []clickhouse.Rows { return s.all[:] }

// Add implements Sink.
func (s *hits) Add(m source.Message) error {
	h, err := event.DecodeHit(m.Data)
	if err != nil {
		return err
	}
	if err := checkTimes(h.GetTimeUs()); err != nil {
		return err
	}
	if m.Header.Get(stream.HeaderResent) != "" {
		s.suspects = append(s.suspects, suspect{m, h, uuid.UUID(h.GetId())})
		return nil
	}
	s.append(m, h)
	return nil
}

func (s *hits) append(m source.Message, h *linkfoldv1.Hit) {
	enrich.Apply(h, &s.enriched)
	s.rows.Append(m.Seq, m.Time, h, &s.enriched)
}

// Settle implements Sink. A suspect is a duplicate if its id is in hits under a lower sequence of this stream or in any
// other stream, or earlier in this batch. Comparing downwards only makes the decision the same on every retry, and never
// sets aside the only copy: of any two, one is stored.
func (s *hits) Settle(ctx context.Context, conn driver.Conn, at clickhouse.Range, setAside func(clickhouse.Quarantined)) error {
	if len(s.suspects) == 0 {
		return nil
	}
	first := s.inBatch(at)
	if err := stored(ctx, conn, at, s.suspects, first); err != nil {
		return err
	}
	for _, x := range s.suspects {
		if c, ok := first[x.id]; ok && c.before(at, x.m.Seq) {
			q := quarantined(x.m, clickhouse.ReasonDuplicate, fmt.Sprintf("first copy is %s/%s/%d", c.stream, c.gen, c.seq))
			q.Redirector = x.hit.GetRedirector()
			setAside(q)
			continue
		}
		first[x.id] = copyAt{at.Stream, at.Gen, x.m.Seq}
		s.append(x.m, x.hit)
	}
	clear(s.suspects)
	s.suspects = s.suspects[:0]
	return nil
}

// inBatch finds the unmarked rows of the batch that carry the id of a suspect.
func (s *hits) inBatch(at clickhouse.Range) copies {
	wanted := make(map[uuid.UUID]struct{}, len(s.suspects))
	for _, x := range s.suspects {
		wanted[x.id] = struct{}{}
	}
	found := copies{}
	for i, id := range s.rows.IDs() {
		if _, ok := wanted[id]; ok {
			found.add(at, id, copyAt{at.Stream, at.Gen, s.rows.Seqs()[i]})
		}
	}
	return found
}
