package sink

import (
	"context"
	"fmt"
	"slices"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"linkfold/schema/clickhouse"
)

// copyAt is where a hit is stored.
type copyAt struct {
	stream, gen string
	seq         uint64
}

// before reports whether the copy makes message seq of the range's stream a duplicate.
func (c copyAt) before(at clickhouse.Range, seq uint64) bool {
	return c.stream != at.Stream || c.gen != at.Gen || c.seq < seq
}

// copies maps hit ids to the copy that matters most: one in another stream, else the lowest sequence.
type copies map[uuid.UUID]copyAt

func (c copies) add(at clickhouse.Range, id uuid.UUID, n copyAt) {
	old, ok := c[id]
	if !ok || old.stream == at.Stream && old.gen == at.Gen && n.before(at, old.seq) {
		c[id] = n
	}
}

// lookupChunk bounds the set that one lookup hands to the server.
const lookupChunk = 10_000

// stored adds to found the stored rows that carry the id of a suspect. It asks by primary key (domain, key, time), which
// a hit keeps when it is sent again, so the cost is in the number of suspects and not in the size of the table.
func stored(ctx context.Context, conn driver.Conn, at clickhouse.Range, suspects []suspect, found copies) error {
	for chunk := range slices.Chunk(suspects, lookupChunk) {
		if err := lookup(ctx, conn, at, chunk, found); err != nil {
			return fmt.Errorf("look for first copies: %w", err)
		}
	}
	return nil
}

const lookupQuery = `SELECT id, _stream, _gen, _seq FROM ` + clickhouse.Hits + `
WHERE (domain, key, time) IN (SELECT domain, key, time FROM suspects) AND id IN (SELECT id FROM suspects)`

func lookup(ctx context.Context, conn driver.Conn, at clickhouse.Range, suspects []suspect, found copies) error {
	t, err := suspectTable(suspects)
	if err != nil {
		return err
	}
	rows, err := conn.Query(ch.Context(ctx, ch.WithExternalTable(t)), lookupQuery)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id uuid.UUID
		var c copyAt
		if err := rows.Scan(&id, &c.stream, &c.gen, &c.seq); err != nil {
			return err
		}
		found.add(at, id, c)
	}
	return rows.Err()
}

func suspectTable(suspects []suspect) (*ext.Table, error) {
	t, err := ext.NewTable("suspects", ext.Column("domain", "String"), ext.Column("key", "String"),
		ext.Column("time", "DateTime64(6, 'UTC')"), ext.Column("id", "UUID"))
	if err != nil {
		return nil, err
	}
	for _, s := range suspects {
		if err := t.Append(s.hit.GetDomain(), s.hit.GetKey(), time.UnixMicro(s.hit.GetTimeUs()).UTC(), s.id); err != nil {
			return nil, err
		}
	}
	return t, nil
}
