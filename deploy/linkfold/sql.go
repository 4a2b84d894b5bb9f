package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"linkfold/dashboards/queries"
	"linkfold/deploy/linkfold/internal/allinone"
	"linkfold/deploy/linkfold/internal/table"
)

// sqlCmd asks ClickHouse.
type sqlCmd struct {
	Name   string            `arg:"" optional:"" help:"A query of the library; left out: the list of them."`
	Query  string            `short:"e" help:"Your own SELECT instead."`
	Param  map[string]string `short:"p" help:"A parameter of the query: -p limit=20."`
	AsJSON bool              `name:"json" help:"One JSON object per row instead of a table."`
	clickhouseFlags
}

// clickhouseFlags say which ClickHouse to ask.
type clickhouseFlags struct {
	Data string `help:"Data directory of linkfold up." default:"linkfold-data" type:"path"`
	DSN  string `name:"clickhouse-dsn" help:"Ask this ClickHouse instead: clickhouse://user:password@host:port/database."`
}

// open connects to it.
func (f clickhouseFlags) open(ctx context.Context) (clickhouse.Conn, error) {
	if f.DSN == "" {
		endpoints, err := allinone.LoadEndpoints(f.Data)
		if err != nil {
			return nil, err
		}
		f.DSN = endpoints.ClickHouse
	}
	return openClickHouse(ctx, f.DSN)
}

// Run implements the command.
func (c *sqlCmd) Run(e *env) error {
	if c.Name != "" && c.Query != "" {
		return fmt.Errorf("give the name of a query or -e with your own, not both")
	}
	if c.Name == "" && c.Query == "" {
		return c.list(e)
	}
	query := queries.Query{SQL: c.Query, Params: c.Param}
	if c.Name != "" {
		var err error
		if query, err = queries.Get(c.Name); err != nil {
			return err
		}
	}
	conn, err := c.open(e.ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := query.Run(e.ctx, conn, c.Param)
	if err != nil {
		return err
	}
	bar := ""
	if c.Name != "" && strings.Contains(strings.Join(answer.Columns, " "), "clicks") {
		bar = "clicks"
	}
	return printAnswer(e, query, answer, c.AsJSON, bar)
}

// printAnswer prints a query's answer as a table under its title, with a bar for one column ("": for none), or as JSON.
func printAnswer(e *env, query queries.Query, answer queries.Table, asJSON bool, bar string) error {
	if asJSON {
		return printRows(e.out, answer)
	}
	if query.Title != "" {
		fmt.Fprintf(e.out, "%s\n%s\n\n", query.Title, query.Reads)
	}
	return table.Print(e.out, answer, bar)
}

func (c *sqlCmd) list(e *env) error {
	all, err := queries.All()
	if err != nil {
		return err
	}
	for _, q := range all {
		fmt.Fprintf(e.out, "  %-22s %s\n", q.Name, q.Reads)
	}
	return nil
}

// printRows prints one JSON object per row.
func printRows(out io.Writer, t queries.Table) error {
	enc := json.NewEncoder(out)
	for _, m := range objects(t) {
		if err := enc.Encode(m); err != nil {
			return fmt.Errorf("print answer: %w", err)
		}
	}
	return nil
}
