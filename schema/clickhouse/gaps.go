package clickhouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// RecordGap writes that the range could not be read. Doing so again changes nothing but the time: rows of the same
// first sequence replace each other, and a gap can only have grown meanwhile.
func RecordGap(ctx context.Context, conn driver.Conn, r Range, reason string) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
	err := conn.Exec(ctx, "INSERT INTO "+Gaps+" (stream, gen, first, last, reason, noticed) VALUES (?, ?, ?, ?, ?, fromUnixTimestamp64Micro(?, 'UTC'))",
		r.Stream, r.Gen, r.First, r.Last, reason, time.Now().UnixMicro())
	if err != nil {
		return fmt.Errorf("record gap: %w", err)
	}
	return nil
}

// KnownGaps lists the recorded gaps that touch the range, by first sequence, cut to it.
func KnownGaps(ctx context.Context, conn driver.Conn, r Range) ([]Range, error) {
	rows, err := conn.Query(ctx, "SELECT greatest(first, {first:UInt64}), least(last, {last:UInt64}) FROM "+Gaps+
		" FINAL WHERE stream = {stream:String} AND gen = {gen:String} AND first <= {last:UInt64} AND last >= {first:UInt64} ORDER BY first", r.args()...)
	if err != nil {
		return nil, fmt.Errorf("list gaps: %w", err)
	}
	defer rows.Close()
	var gaps []Range
	for rows.Next() {
		g := Range{Stream: r.Stream, Gen: r.Gen}
		if err := rows.Scan(&g.First, &g.Last); err != nil {
			return nil, fmt.Errorf("list gaps: %w", err)
		}
		gaps = append(gaps, g)
	}
	return gaps, rows.Err()
}
