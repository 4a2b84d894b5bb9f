// Package sink turns messages into rows: one message becomes exactly one row, in the table it is meant for or in
// quarantine.
//
// A Sink decodes the messages of one kind of stream. A Batch collects a contiguous range of messages through a Sink and
// sets aside what cannot be decoded, so that no message can ever block a stream.
package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
	"linkfold/schema/event"
	"linkfold/schema/stream"
)

// Sink decodes messages into rows of its tables. Not safe for concurrent use.
type Sink interface {
	// Add adds the row of a message, or keeps the message for Settle. An error means that the message is not the event it
	// should be; nothing was added then. The same message gives the same row whenever it is added.
	Add(m source.Message) error
	// Settle decides about the messages that Add kept, now that everything before the batch is stored: each becomes a row
	// here or is handed to setAside.
	Settle(ctx context.Context, conn driver.Conn, at clickhouse.Range, setAside func(clickhouse.Quarantined)) error
	// Rows are the blocks, the same ones at every call.
	Rows() []clickhouse.Rows
}

// Kind says which sink and which tables the messages of a stream need.
type Kind struct {
	New func() Sink
	// Tables are all tables that a message of the stream can be in.
	Tables []string
}

// KindOf is the kind of the named stream.
func KindOf(name string) Kind {
	switch name {
	case stream.Links:
		return Kind{newLinks, []string{clickhouse.LinkEvents, clickhouse.DomainEvents, clickhouse.Quarantine}}
	case stream.Ledger:
		return Kind{newLedger, []string{clickhouse.Totals, clickhouse.Quarantine}}
	}
	return Kind{newHits, []string{clickhouse.Hits, clickhouse.Quarantine}}
}

// maxTime is the highest time a column can hold with room to spare: the year 2200, Unix microseconds.
const maxTime = 7_258_118_400_000_000

// checkTimes refuses times that ClickHouse would store as something else.
func checkTimes(us ...int64) error {
	for _, t := range us {
		if t < 0 || t > maxTime {
			return fmt.Errorf("time of %d µs: %w", t, event.ErrMalformed)
		}
	}
	return nil
}

// month is the partition a message time falls into. Batches are cut there, so that one insert is one part: atomic.
func month(t time.Time) int { return t.Year()*12 + int(t.Month()) }
