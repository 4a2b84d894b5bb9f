package sink

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"

	"linkfold/ingest/internal/source"
	"linkfold/schema/clickhouse"
)

// Batch is a range of messages as rows, ready for one insert per table. It is reused: its memory is what bounds a
// worker. Not safe for concurrent use.
type Batch struct {
	Range clickhouse.Range // of the messages added; Last < First while empty
	Gap   bool             // Range could not be read; there are no rows
	Bytes int              // sum of the payloads
	// Opened is when the first message was added, on the local clock.
	Opened time.Time

	sink       Sink
	quarantine clickhouse.QuarantineRows
	month      int
	n          int
}

// NewBatch makes an empty batch for a kind of stream. Reset must be called before use.
func NewBatch(k Kind) *Batch { return &Batch{sink: k.New()} }

// Reset empties the batch; the next message to come is first of the stream's generation.
func (b *Batch) Reset(stream, gen string, first uint64) {
	b.Range = clickhouse.Range{Stream: stream, Gen: gen, First: first, Last: first - 1}
	b.Gap, b.Bytes, b.month, b.n = false, 0, 0, 0
	b.truncate(nil)
}

// Len is the number of messages in the batch.
func (b *Batch) Len() int { return b.n }

// Fits reports whether the message may share an insert with those in the batch.
func (b *Batch) Fits(m source.Message) bool { return b.n == 0 || b.month == month(m.Time) }

// Add adds a message as one row. It cannot fail: what is not decodable, or panics, goes to quarantine.
func (b *Batch) Add(m source.Message) {
	if b.n == 0 {
		b.Opened, b.month = time.Now(), month(m.Time)
	}
	b.n++
	b.Bytes += len(m.Data)
	b.Range.Last = m.Seq
	if err := b.decode(m); err != nil {
		b.setAside(quarantined(m, clickhouse.ReasonUndecodable, err.Error()))
	}
}

// decode makes a panic an error, and undoes what it left half done: the columns of a block must stay equally long.
func (b *Batch) decode(m source.Message) (err error) {
	before := b.lens()
	defer func() {
		if p := recover(); p != nil {
			b.truncate(before[:])
			err = fmt.Errorf("panic while decoding: %v", p)
		}
	}()
	return b.sink.Add(m)
}

// Settle decides what only the database can tell; see Sink. Call it once, when everything before the batch is stored.
func (b *Batch) Settle(ctx context.Context, conn driver.Conn) error {
	return b.sink.Settle(ctx, conn, b.Range, b.setAside)
}

// Blocks are the rows, by table; some blocks may be empty.
func (b *Batch) Blocks() []clickhouse.Rows { return append(slices.Clone(b.sink.Rows()), &b.quarantine) }

// Reasons counts the rows in quarantine by reason.
func (b *Batch) Reasons() map[string]int {
	counts := map[string]int{}
	for _, r := range b.quarantine.Reasons() {
		counts[r]++
	}
	return counts
}

func (b *Batch) setAside(q clickhouse.Quarantined) { b.quarantine.Append(q) }

// maxBlocks is the number of tables a sink can have; lens is called per message and must not allocate.
const maxBlocks = 2

func (b *Batch) lens() (n [maxBlocks]int) {
	for i, r := range b.sink.Rows() {
		n[i] = r.Len()
	}
	return n
}

// truncate cuts the blocks of the sink to n rows each; nil empties all blocks.
func (b *Batch) truncate(n []int) {
	for i, r := range b.sink.Rows() {
		if n == nil {
			r.Truncate(0)
		} else {
			r.Truncate(n[i])
		}
	}
	if n == nil {
		b.quarantine.Truncate(0)
	}
}

func quarantined(m source.Message, reason, detail string) clickhouse.Quarantined {
	return clickhouse.Quarantined{
		Seq: m.Seq, StreamTime: m.Time, Reason: reason, Detail: strings.ToValidUTF8(detail, "\uFFFD"),
		Subject: m.Subject, Headers: headerText(m.Header), Payload: m.Data,
	}
}

// headerText is the headers in the order of their names, so that a message always gives the same text.
func headerText(h nats.Header) string {
	var b strings.Builder
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range h[name] {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	return b.String()
}
