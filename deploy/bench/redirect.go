package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// links is how many links the load is spread over.
const links = 200

// manyConnections is a second load for mode stream: its visitors wait for the disk, so that more of them at once are served together.
const manyConnections = 512

// contestant is one server under the same load as the others.
type contestant struct {
	name        string
	pid         int
	target      target
	connections int
	requests    int         // per round
	linkfold    *redirector // nil for the others
	samples     samples
}

// redirects is one benchmark under way.
type redirects struct {
	*world
	all    []*contestant
	stream *redirector
	hits   int // sent to linkfold so far: as many rows must there be
}

// benchRedirect measures requests/s and CPU of redirecting, and then what a request costs on its whole way to a row.
func benchRedirect(ctx context.Context, b *bench) (tables []*table, err error) {
	w, err := b.newWorld(ctx, "redirect", true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	r := &redirects{world: w}
	var notes []string
	if notes, err = r.prepare(ctx); err != nil {
		return nil, err
	}
	for round := range b.Rounds {
		for _, c := range r.all {
			b.say("redirect: round %d of %d, %s", round+1, b.Rounds, c.name)
			if err := r.measure(ctx, c); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	if err := r.profile(ctx); err != nil {
		return nil, err
	}
	resent, err := r.resent(ctx)
	if err != nil {
		return nil, err
	}
	notes = append(notes, resent)
	way, err := r.wholeWay(ctx)
	if err != nil {
		return nil, err
	}
	return []*table{r.table(notes), way}, nil
}

// prepare starts all servers. What is missing on this machine becomes a note.
func (r *redirects) prepare(ctx context.Context) (notes []string, err error) {
	if r.stream, err = r.redirector(ctx, "stream", "stream"); err != nil {
		return nil, err
	}
	async, err := r.redirector(ctx, "async", "async")
	if err != nil {
		return nil, err
	}
	paths, err := r.stream.createLinks(ctx, links)
	if err != nil {
		return nil, err
	}
	bareTarget := target{host: domain, paths: paths, location: destination}
	p, address, err := r.nginx(ctx)
	switch {
	case errors.Is(err, errNoNginx):
		notes = append(notes, err.Error())
	case err != nil:
		return nil, err
	default:
		r.add("nginx, access log", p.pid(), bareTarget.at(address), r.b.Connections, nil)
	}
	for _, kind := range []string{"nethttp", "fasthttp"} {
		p, address, err := r.bare(ctx, kind)
		if err != nil {
			return nil, err
		}
		r.add("bare "+kind, p.pid(), bareTarget.at(address), r.b.Connections, nil)
	}
	r.add("linkfold async", async.pid(), async.target(paths), r.b.Connections, async)
	r.add("linkfold stream", r.stream.pid(), r.stream.target(paths), r.b.Connections, r.stream)
	r.add("linkfold stream", r.stream.pid(), r.stream.target(paths), manyConnections, r.stream)
	r.all[len(r.all)-2].requests = max(r.b.Requests/4, 1) // few visitors who wait for the disk: a full round would be long
	return notes, r.warm(ctx)
}

// at is the same target at another address.
func (t target) at(address string) target {
	t.address = address
	return t
}

func (r *redirects) add(name string, pid int, t target, connections int, linkfold *redirector) {
	r.all = append(r.all, &contestant{name: name, pid: pid, target: t, connections: connections, requests: r.b.Requests, linkfold: linkfold, samples: samples{}})
}

// warm asks every server for every link once.
func (r *redirects) warm(ctx context.Context) error {
	for _, c := range r.all {
		if _, err := r.load(ctx, c, links); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// load sends n requests and waits until what they caused is done: their hits are acknowledged by the stream.
func (r *redirects) load(ctx context.Context, c *contestant, n int) (time.Duration, error) {
	elapsed, err := closedLoop(ctx, c.target, c.connections, n)
	if err != nil || c.linkfold == nil {
		return elapsed, err
	}
	r.hits += n
	return elapsed, c.linkfold.settled(ctx)
}

func (r *redirects) measure(ctx context.Context, c *contestant) error {
	n := c.requests
	before, err := cpuTime(c.pid)
	if err != nil {
		return err
	}
	elapsed, err := r.load(ctx, c, n)
	if err != nil {
		return err
	}
	after, err := cpuTime(c.pid)
	if err != nil {
		return err
	}
	c.samples.add("rate", rate(n, elapsed))
	c.samples.add("cpu", perUnit(after-before, n))
	return nil
}

func (r *redirects) table(notes []string) *table {
	base := r.all[0]
	t := &table{
		Title:   "Redirects, each server in a process of its own; ratios to " + base.name,
		Columns: []string{"server", "connections", "CPU ratio", "req/s ratio", "CPU µs/req", "req/s"},
		Notes:   append([]string{"CPU of the server process, user and system; req/s share the machine with the load generator"}, notes...),
	}
	for _, c := range r.all {
		t.row(c.name, c.connections, ratio(c.samples["cpu"], base.samples["cpu"]), ratio(c.samples["rate"], base.samples["rate"]),
			c.samples.median("cpu"), c.samples.median("rate"))
	}
	return t
}

// wholeWay measures all processes from the request to the row, ingest and ClickHouse included, in mode stream.
func (r *redirects) wholeWay(ctx context.Context) (*table, error) {
	p, err := r.ingest()
	if err != nil {
		return nil, err
	}
	r.b.say("redirect: ingest stores the %d hits so far", r.hits)
	if err := r.awaitStored(ctx); err != nil {
		return nil, err
	}
	pids := map[string]int{
		"redirector": r.stream.pid(), "NATS": r.stack.Pid("nats"), "ingest": p.pid(), "ClickHouse": r.stack.Pid("clickhouse"), "Redis": r.stack.Pid("redis"),
	}
	c := r.all[len(r.all)-1]
	s := samples{}
	for round := range r.b.Rounds {
		r.b.say("redirect: round %d of %d, to the row", round+1, r.b.Rounds)
		if err := r.measureWay(ctx, c, pids, s); err != nil {
			return nil, err
		}
	}
	if err := r.checkRows(ctx); err != nil {
		return nil, err
	}
	return r.wayTable(s), nil
}

func (r *redirects) measureWay(ctx context.Context, c *contestant, pids map[string]int, s samples) error {
	before, err := readCPU(pids)
	if err != nil {
		return err
	}
	begun := time.Now()
	elapsed, err := r.load(ctx, c, r.b.Requests)
	if err != nil {
		return err
	}
	if err := r.awaitStored(ctx); err != nil {
		return err
	}
	s.add("stored", rate(r.b.Requests, time.Since(begun)))
	s.add("answered", rate(r.b.Requests, elapsed))
	after, err := readCPU(pids)
	if err != nil {
		return err
	}
	used := after.since(before)
	for name, d := range used {
		s.add(name, perUnit(d, r.b.Requests))
	}
	s.add("sum", perUnit(used.sum(), r.b.Requests))
	return nil
}

// checkRows wants one row for each redirect that a client saw.
func (r *redirects) checkRows(ctx context.Context) error {
	n, err := r.count(ctx, "SELECT count() FROM hits WHERE outcome = 'redirected'")
	if err == nil && n != r.hits {
		err = fmt.Errorf("%d rows for %d redirects: %w", n, r.hits, errAnswer)
	}
	return err
}

func (r *redirects) wayTable(s samples) *table {
	t := &table{
		Title:   fmt.Sprintf("Scan to SQL row, all processes, mode stream, %d connections", manyConnections),
		Columns: []string{"process", "share", "CPU ratio", "CPU µs/req"},
		Notes: []string{
			fmt.Sprintf("answered %s/s, in ClickHouse %s/s; ratio to %s; the projector is idle and not counted",
				show(s.median("answered")), show(s.median("stored")), r.all[0].name),
		},
	}
	base := r.all[0].samples.median("cpu")
	for _, name := range []string{"redirector", "NATS", "ingest", "ClickHouse", "Redis", "sum"} {
		t.row(name, s.median(name)/s.median("sum"), s.median(name)/base, s.median(name))
	}
	return t
}

// resent says how often the stream was too slow for a visitor to wait for.
func (r *redirects) resent(ctx context.Context) (note string, err error) {
	m, err := r.stream.metrics(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("mode stream: of %s hits %s were sent twice, because no acknowledgement came within 50 ms",
		show(int(m["linkfold_redirector_accepted_hits_total"])), show(int(m["linkfold_redirector_resent_hits_total"]))), nil
}

// profile saves a CPU profile of the redirector in mode stream under load, if one is wanted.
func (r *redirects) profile(ctx context.Context) error {
	if r.b.Profile == "" {
		return nil
	}
	r.b.say("redirect: profile")
	const seconds = 10
	type result struct {
		body []byte
		err  error
	}
	got := make(chan result, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel() // ends the load
		b, err := r.stream.inspect(context.WithoutCancel(ctx), fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds))
		got <- result{b, err}
	}()
	c := r.all[len(r.all)-1]
	for ctx.Err() == nil {
		if _, err := r.load(context.WithoutCancel(ctx), c, 10_000); err != nil {
			return err
		}
	}
	p := <-got
	if p.err != nil {
		return p.err
	}
	return os.WriteFile(r.b.Profile, p.body, 0o644)
}
