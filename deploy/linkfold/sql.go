package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"linkfold/dashboards/queries"
	"linkfold/deploy/linkfold/internal/allinone"
	"linkfold/deploy/linkfold/internal/table"
)

// sqlCmd asks ClickHouse.
type sqlCmd struct {
	Name   string            `arg:"" optional:"" help:"A query of the library; left out: the list of them."`
	Query  string            `short:"e" help:"Your own SELECT instead."`
	Param  map[string]string `short:"p" help:"A parameter of the query: -p limit=20."`
	Data   string            `help:"Data directory of linkfold up." default:"linkfold-data" type:"path"`
	DSN    string            `name:"clickhouse-dsn" help:"Ask this ClickHouse instead: clickhouse://user:password@host:port/database."`
	AsJSON bool              `name:"json" help:"One JSON object per row instead of a table."`
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
	if c.DSN == "" {
		endpoints, err := allinone.LoadEndpoints(c.Data)
		if err != nil {
			return err
		}
		c.DSN = endpoints.ClickHouse
	}
	conn, err := openClickHouse(e.ctx, c.DSN)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := query.Run(e.ctx, conn, c.Param)
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.printJSON(e, answer)
	}
	if query.Title != "" {
		fmt.Fprintf(e.out, "%s\n%s\n\n", query.Title, query.Reads)
	}
	bar := ""
	if c.Name != "" && strings.Contains(strings.Join(answer.Columns, " "), "clicks") {
		bar = "clicks"
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

func (c *sqlCmd) printJSON(e *env, t queries.Table) error {
	enc := json.NewEncoder(e.out)
	for _, row := range t.Rows {
		m := make(map[string]any, len(row))
		for i, v := range row {
			m[t.Columns[i]] = v
		}
		if err := enc.Encode(m); err != nil {
			return fmt.Errorf("print answer: %w", err)
		}
	}
	return nil
}
