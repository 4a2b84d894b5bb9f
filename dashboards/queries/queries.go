// Package queries is the library of questions that people ask of Linkfold's tables, each an SQL file that runs as it stands in any
// ClickHouse client.
//
// A file begins with comment lines: "-- title: …" and "-- reads: …", a sentence on how to read the answer. Parameters are ClickHouse query
// parameters, {name:Type}; "-- param: name = default" gives each its default.
package queries

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed *.sql
var files embed.FS

// ErrUnknown is wrapped when there is no query of a name.
var ErrUnknown = errors.New("no such query")

// Query is one file of the library.
type Query struct {
	Name   string // file name without .sql
	Title  string
	Reads  string
	Params map[string]string // defaults
	SQL    string
}

// All is the library, by name.
func All() ([]Query, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("list queries: %w", err)
	}
	var out []Query
	for _, e := range entries {
		q, err := Get(strings.TrimSuffix(e.Name(), ".sql"))
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// Get is the query of a name; the error wraps ErrUnknown.
func Get(name string) (Query, error) {
	b, err := files.ReadFile(name + ".sql")
	if err != nil {
		return Query{}, fmt.Errorf("query %q: %w: linkfold sql lists them", name, ErrUnknown)
	}
	q := Query{Name: name, Params: map[string]string{}, SQL: string(b)}
	for line := range strings.Lines(q.SQL) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if !ok {
			break
		}
		key, value, _ := strings.Cut(comment, ": ")
		switch key {
		case "title":
			q.Title = value
		case "reads":
			q.Reads = value
		case "param":
			param, def, _ := strings.Cut(value, " = ")
			q.Params[param] = def
		}
	}
	if q.Title == "" || q.Reads == "" {
		return Query{}, fmt.Errorf("query %q lacks its title or how to read it", name)
	}
	return q, nil
}

// Table is an answer.
type Table struct {
	Columns []string
	Rows    [][]any
}

// maxRows bounds what an answer holds in memory; ask with LIMIT for the rest.
const maxRows = 100_000

// Run asks the query with params over its defaults.
func (q Query) Run(ctx context.Context, conn driver.Conn, params map[string]string) (Table, error) {
	all := maps.Clone(q.Params)
	for k, v := range params {
		if _, ok := all[k]; !ok {
			return Table{}, fmt.Errorf("query %s has no parameter %q: it has %v", q.Name, k, slices.Sorted(maps.Keys(q.Params)))
		}
		all[k] = v
	}
	t, err := Ask(ctx, conn, q.SQL, all)
	if err != nil {
		return Table{}, fmt.Errorf("query %s: %w", q.Name, err)
	}
	return t, nil
}

// readOnly lets a query read and change settings of its own, nothing else: a mistyped question must not cost a table.
var readOnly = clickhouse.Settings{"readonly": 2}

// Ask runs any SELECT and returns the answer, at most 100,000 rows. Whatever would write is refused by the server.
func Ask(ctx context.Context, conn driver.Conn, sql string, params map[string]string) (Table, error) {
	rows, err := conn.Query(clickhouse.Context(ctx, clickhouse.WithParameters(params), clickhouse.WithSettings(readOnly)), sql)
	if err != nil {
		return Table{}, fmt.Errorf("ask clickhouse: %w", err)
	}
	defer rows.Close()
	t := Table{Columns: rows.Columns()}
	for rows.Next() {
		if len(t.Rows) == maxRows {
			return Table{}, fmt.Errorf("more than %d rows: narrow the question or add LIMIT", maxRows)
		}
		row := make([]any, len(t.Columns))
		for i, ct := range rows.ColumnTypes() {
			row[i] = newOf(ct)
		}
		if err := rows.Scan(row...); err != nil {
			return Table{}, fmt.Errorf("read answer: %w", err)
		}
		for i := range row {
			row[i] = deref(row[i])
		}
		t.Rows = append(t.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return Table{}, fmt.Errorf("read answer: %w", err)
	}
	return t, nil
}
