package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"linkfold/deploy/devstack"
	"linkfold/deploy/linkfold/internal/allinone"
)

// upCmd runs everything.
type upCmd struct {
	Data           string   `help:"Directory for all state; made when missing." default:"linkfold-data" type:"path"`
	Listen         string   `help:"Public redirect listener." default:":8080"`
	Admin          string   `help:"Admin listener (API); keep it off the internet." default:"127.0.0.1:8081"`
	Debug          string   `name:"debug-listen" help:"Debug listener: health, readiness, metrics, pprof. Keep it off the internet." default:"127.0.0.1:0"`
	DefaultDomain  string   `help:"Domain for requests to hosts that are not registered." default:"localhost"`
	TrustedProxies []string `help:"Addresses and networks whose X-Forwarded-For is believed."`
	AccessLog      string   `help:"Access log file, - for standard output, none for no log; default: access.log in the data directory."`
	Durability     string   `help:"When a visitor is answered: once the hit is durable (stream), or at once (async)." enum:"stream,async" default:"stream"`
	MissesPerMin   int      `name:"misses-per-minute" help:"Unknown keys that one client may ask for in a minute; 0: any number." default:"120"`
	ClickHouseDSN  string   `name:"clickhouse-dsn" help:"Use this ClickHouse instead of starting one: clickhouse://user:password@host:port/database."`
}

// Run implements the command.
func (c *upCmd) Run(e *env) error {
	fmt.Fprintln(e.screen, "Starting NATS, Redis and ClickHouse …")
	err := allinone.Run(e.ctx, c.config(), e.log, func(_ context.Context, r allinone.Running) error {
		_, err := fmt.Fprint(e.out, c.screen(r))
		return err
	})
	if errors.Is(err, devstack.ErrMissing) {
		return fmt.Errorf("%w\n\nlinkfold setup installs what it can", err)
	}
	return err
}

func (c *upCmd) config() allinone.Config {
	access := c.AccessLog
	switch access {
	case "":
		access = filepath.Join(c.Data, "access.log")
	case "none":
		access = ""
	}
	return allinone.Config{
		Dir: c.Data, Listen: c.Listen, Admin: c.Admin, Debug: c.Debug, DefaultDomain: c.DefaultDomain, TrustedProxies: c.TrustedProxies,
		AccessLog: access, Durability: c.Durability, MissesPerMin: c.MissesPerMin, ClickHouseDSN: c.ClickHouseDSN,
	}
}

// screen is what a person sees once everything runs.
func (c *upCmd) screen(r allinone.Running) string {
	var b strings.Builder
	row := func(name, value, note string) { fmt.Fprintf(&b, "  %-11s %-34s %s\n", name, value, note) }
	b.WriteString("\nLinkfold is up. Ctrl-C stops it.\n\n")
	row("redirects", "http://"+reachable(r.Public), "domain "+c.DefaultDomain)
	row("admin API", "http://"+r.Admin, "token in "+r.TokenFile+", document at /openapi.json")
	row("debug", "http://"+r.Debug, "/readyz /metrics /debug/pprof/")
	row("NATS", hostOf(r.Endpoints.NATS), "streams LINKS, HITS_0, LEDGER")
	row("Redis", hostOf(r.Endpoints.Redis), "projection of LINKS")
	row("ClickHouse", hostOf(r.Endpoints.ClickHouse), "tables hits, link_events, links, ledger")
	row("data", c.Data, "passwords in endpoints.json")
	fmt.Fprintf(&b, `
Try:

  curl -H "Authorization: Bearer $(cat %[1]s)" -H 'Content-Type: application/json' \
       -d '{"key":"hello","destination":"https://example.com/"}' http://%[2]s/v1/links
  curl -i http://%[3]s/hello
  linkfold sql --data %[4]s top_links

`, r.TokenFile, r.Admin, reachable(r.Public), c.Data)
	return b.String()
}

// hostOf is a server URL without its password.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// reachable turns the address of a listener on all interfaces into one that a browser here can open.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
