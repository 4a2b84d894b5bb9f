package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"linkfold/dashboards/queries"
)

// hitsCmd lists hits.
type hitsCmd struct {
	UnknownHosts unknownHostsCmd `cmd:"" help:"Hosts that requests ask for and that are not here, or the clients that ask for them. A redirector with a default domain answers for every host, so it knows no such hosts."`
}

// unknownHostsCmd lists requests for hosts without a domain.
type unknownHostsCmd struct {
	Hours   int  `help:"How far to look back, hours." default:"24"`
	Limit   *int `placeholder:"N" help:"Most rows to print; default: 20 hosts, or 1000 clients."`
	Clients bool `help:"List the clients instead of the hosts."`
	Least   int  `help:"With --clients: those with at least that many requests." default:"20"`
	Plain   bool `xor:"format" help:"With --clients: addresses alone, one per line, for a firewall: … | xargs -n1 nft add element …"`
	AsJSON  bool `name:"json" xor:"format" help:"One JSON object per row instead of a table."`
	clickhouseFlags
}

// Validate implements the check of service.Parse.
func (c *unknownHostsCmd) Validate() error {
	switch {
	case c.Hours < 1:
		return fmt.Errorf("--hours %d: give at least 1", c.Hours)
	case c.Limit != nil && *c.Limit < 1:
		return fmt.Errorf("--limit %d: give at least 1", *c.Limit)
	case c.Least < 1:
		return fmt.Errorf("--least %d: give at least 1", c.Least)
	case c.Plain && !c.Clients:
		return errors.New("--plain prints addresses of clients: give --clients, too")
	}
	return nil
}

// Run implements the command.
func (c *unknownHostsCmd) Run(e *env) error {
	name, params := "unknown_hosts", map[string]string{"hours": strconv.Itoa(c.Hours)}
	if c.Clients {
		name, params["least"] = "unknown_host_clients", strconv.Itoa(c.Least)
	}
	if c.Limit != nil {
		params["limit"] = strconv.Itoa(*c.Limit)
	}
	query, err := queries.Get(name)
	if err != nil {
		return err
	}
	conn, err := c.open(e.ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := query.Run(e.ctx, conn, params)
	if err != nil {
		return err
	}
	if c.Plain {
		return printColumn(e, answer, "client")
	}
	return printAnswer(e, query, answer, c.AsJSON, "requests")
}

// printColumn prints one column alone.
func printColumn(e *env, t queries.Table, name string) error {
	column := slices.Index(t.Columns, name)
	if column < 0 {
		return fmt.Errorf("the query has no column %s", name)
	}
	for _, row := range t.Rows {
		if _, err := fmt.Fprintln(e.out, row[column]); err != nil {
			return fmt.Errorf("print answer: %w", err)
		}
	}
	return nil
}
