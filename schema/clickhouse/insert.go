package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// The outcomes of a failed Insert that its caller must tell apart. An error of Insert that wraps neither is uncertain:
// the rows may be stored, may be stored in a moment, or may never be.
var (
	// ErrNotSent: no row has left this process, so this insert cannot add any.
	ErrNotSent = errors.New("rows not sent")
	// ErrRefused: the server answered with an exception, so this insert has ended there. A part of the rows may be stored.
	ErrRefused = errors.New("insert refused")
)

// Attempt is one try to store the messages first to last of a stream (PIPELINE.md 2.4 step 5).
type Attempt struct {
	Range
	// Number of the try, from 0. Each try has a token of its own: after a crash the old token may be remembered by a
	// server that lost the rows, and would make it drop them again (PIPELINE.md 0.1).
	Number uint32
	// Until is when the fence closes, on ClickHouse's clock, in whole seconds.
	Until time.Time
	// MaxExecution bounds the insert on the server, so that an accepted block is written or dead by Until plus this.
	MaxExecution time.Duration
	// Opened, if not nil, is called when the server has opened the insert and no row is sent yet.
	Opened func(context.Context)
}

// token is unique for a try and table: deduplication on the server is per table.
func (a Attempt) token() string {
	return fmt.Sprintf("%s/%s/%d-%d/%d", a.Stream, a.Gen, a.First, a.Last, a.Number)
}

// settings pins whatever decides how a block is cut and deduplicated, because the defaults differ between versions
// (PIPELINE.md 0.5). A block of one batch stays below the block sizes, so it is one part per partition.
func (a Attempt) settings() clickhouse.Settings {
	return clickhouse.Settings{
		"async_insert":               0,
		"insert_deduplicate":         1,
		"deduplicate_insert":         "enable",
		"insert_deduplication_token": a.token(),
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		"max_insert_block_size":                              1048449,
		"min_insert_block_size_rows":                         1048449,
		"min_insert_block_size_bytes":                        268402944,
		"max_execution_time":                                 int(max(a.MaxExecution/time.Second, 1)),
		"timeout_overflow_mode":                              "throw",
		"receive_timeout":                                    15,
	}
}

// Insert stores the rows as one block and returns nil when the server has acknowledged it, on disk. The error wraps
// ErrNotSent, ErrRefused or neither; see there. An Insert of no rows does nothing.
//
// ctx must not have a deadline (clickhouse-go would replace the execution limit by it) and should not be cancelled to
// stop the insert: that leaves the outcome open.
func Insert(ctx context.Context, conn driver.Conn, rows Rows, a Attempt) error {
	n := rows.Len()
	if n == 0 {
		return nil
	}
	cols := append(rows.columns(),
		column{"_stream", constant(a.Stream, n)}, column{"_gen", constant(a.Gen, n)}, column{"_until", constant(a.Until, n)})
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(a.settings()))
	// Prepared now and not earlier: it opens the INSERT on the server.
	b, err := conn.PrepareBatch(ctx, insertQuery(rows.Table(), cols))
	if err != nil {
		return fmt.Errorf("open insert into %s: %w: %w", rows.Table(), ErrNotSent, err)
	}
	if a.Opened != nil {
		a.Opened(ctx)
	}
	for i, c := range cols {
		if err := b.Column(i).Append(c.data.values()); err != nil {
			return errors.Join(fmt.Errorf("append column %s: %w: %w", c.name, ErrNotSent, err), b.Abort())
		}
	}
	if err := b.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", rows.Table(), classify(err))
	}
	return nil
}

// classify tells an exception of the server, after which the query has ended, from a connection that broke.
func classify(err error) error {
	if _, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

func insertQuery(table string, cols []column) string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = "`" + c.name + "`"
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ")"
}

func constant[T any](v T, n int) *col[T] {
	c := col[T](slices.Repeat([]T{v}, n))
	return &c
}
