package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// Range is the messages First to Last, both included, of one generation of a stream.
type Range struct {
	Stream, Gen string
	First, Last uint64
}

// Len is the number of sequences in the range.
func (r Range) Len() uint64 { return r.Last - r.First + 1 }

func (r Range) args() []any {
	return []any{
		clickhouse.Named("stream", r.Stream), clickhouse.Named("gen", r.Gen),
		clickhouse.Named("first", r.First), clickhouse.Named("last", r.Last),
	}
}

const inRange = " WHERE _stream = {stream:String} AND _gen = {gen:String} AND _seq BETWEEN {first:UInt64} AND {last:UInt64}"

// Count tells how many rows the tables together hold of the range, and of how many different messages.
// Equal and equal to Len: stored exactly once. More rows than messages: something was stored twice.
func Count(ctx context.Context, conn driver.Conn, tables []string, r Range) (rows, distinct uint64, err error) {
	err = query(ctx, conn, "SELECT count(), uniqExact(_seq) FROM "+union(tables, inRange), r).Scan(&rows, &distinct)
	if err != nil {
		return 0, 0, fmt.Errorf("count range: %w", err)
	}
	return rows, distinct, nil
}

// Stored lists the sequences of the range that the tables hold, ascending, each once.
func Stored(ctx context.Context, conn driver.Conn, tables []string, r Range) ([]uint64, error) {
	var seqs []uint64
	err := query(ctx, conn, "SELECT arraySort(groupUniqArray(_seq)) FROM "+union(tables, inRange), r).Scan(&seqs)
	if err != nil {
		return nil, fmt.Errorf("list range: %w", err)
	}
	return seqs, nil
}

// Top is the highest sequence of the range that the tables hold, 0 when they hold none. Cheap when Last is far beyond
// what is stored, because the minmax index on _seq skips all older parts.
func Top(ctx context.Context, conn driver.Conn, tables []string, r Range) (top uint64, err error) {
	if err = query(ctx, conn, "SELECT max(_seq) FROM "+union(tables, inRange), r).Scan(&top); err != nil {
		return 0, fmt.Errorf("find top of range: %w", err)
	}
	return top, nil
}

// query reads after all acknowledged writes also on a replicated table.
func query(ctx context.Context, conn driver.Conn, sql string, r Range) driver.Row {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"select_sequential_consistency": 1}))
	return conn.QueryRow(ctx, sql, r.args()...)
}

func union(tables []string, where string) string {
	parts := make([]string, len(tables))
	for i, t := range tables {
		parts[i] = "SELECT _seq FROM " + t + where
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ")"
}

// Server is what a ClickHouse server says of itself at one moment.
type Server struct {
	// ID is the server's UUID, kept on its disk; zero on an embedded engine.
	ID uuid.UUID
	// Now is its clock, in whole seconds: the one that the fence is checked with.
	Now time.Time
	// Uptime is how long its process has run, cut to whole seconds.
	Uptime time.Duration
}

// AskServer asks the server that answers for its identity and clock.
func AskServer(ctx context.Context, conn driver.Conn) (s Server, err error) {
	var up uint32
	if err := conn.QueryRow(ctx, "SELECT serverUUID(), now(), uptime()").Scan(&s.ID, &s.Now, &up); err != nil {
		return s, fmt.Errorf("ask server clock: %w", err)
	}
	s.Uptime = time.Duration(up) * time.Second
	return s, nil
}
