package sink

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
	"linkfold/schema/event"
)

// ledger is the sink of the LEDGER stream.
type ledger struct {
	rows clickhouse.TotalsRows
	all  [1]clickhouse.Rows
}

func newLedger() Sink {
	s := &ledger{}
	s.all[0] = &s.rows
	return s
}

// Rows implements Sink.
func (s *ledger) Rows() []clickhouse.Rows { return s.all[:] }

// Add implements Sink.
func (s *ledger) Add(m source.Message) error {
	t, err := event.DecodeTotals(m.Data)
	if err != nil {
		return err
	}
	if err := checkTimes(t.GetTimeUs(), t.GetStartedUs()); err != nil {
		return err
	}
	s.rows.Append(m.Seq, m.Time, t)
	return nil
}

// Settle implements Sink: totals are never a copy that matters, the newest report counts.
func (s *ledger) Settle(context.Context, driver.Conn, clickhouse.Range, func(clickhouse.Quarantined)) error {
	return nil
}
