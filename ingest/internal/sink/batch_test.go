package sink

import (
	"testing"
	"time"

	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
)

// panicking is a sink that leaves half a row and panics.
type panicking struct {
	links
}

func (p *panicking) Add(m source.Message) error {
	p.links.links.Append(m.Seq, m.Time, nil)
	panic("boom")
}

func TestPanicIsSetAside(t *testing.T) {
	p := &panicking{}
	p.all = [2]clickhouse.Rows{&p.links.links, &p.domains}
	b := &Batch{sink: p}
	b.Reset("LINKS", "g", 1)
	b.Add(source.Message{Seq: 1, Time: time.Now(), Data: []byte("x")})
	if b.Len() != 1 || b.Range.Last != 1 || p.links.links.Len() != 0 || b.quarantine.Len() != 1 {
		t.Errorf("messages %d, last %d, rows %d, set aside %d", b.Len(), b.Range.Last, p.links.links.Len(), b.quarantine.Len())
	}
	if n := b.Reasons()[clickhouse.ReasonUndecodable]; n != 1 {
		t.Errorf("%d undecodable", n)
	}
}

func TestBatchIsCutAtMonth(t *testing.T) {
	at := func(s string) source.Message {
		tm, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return source.Message{Seq: 1, Time: tm}
	}
	b := NewBatch(KindOf("HITS_0"))
	b.Reset("HITS_0", "g", 1)
	if !b.Fits(at("2026-01-01T00:00:00Z")) {
		t.Error("empty batch refuses a message")
	}
	b.Add(at("2026-01-31T23:59:59.999999999Z"))
	if !b.Fits(at("2026-01-01T00:00:00Z")) || b.Fits(at("2026-02-01T00:00:00Z")) || b.Fits(at("2027-01-31T00:00:00Z")) {
		t.Error("batch is not one month")
	}
	b.Reset("HITS_0", "g", 2)
	if b.Len() != 0 || b.Bytes != 0 || len(b.Reasons()) != 0 || !b.Fits(at("2026-02-01T00:00:00Z")) {
		t.Error("reset batch is not empty")
	}
}

func TestHeaderText(t *testing.T) {
	got := headerText(map[string][]string{"b": {"1", "2"}, "A": {"x"}})
	if got != "A: x\nb: 1\nb: 2\n" {
		t.Errorf("%q", got)
	}
}
