// Command bench measures Linkfold beside the simplest things that do the same work, on the same machine in the same run: redirects beside
// nginx and bare handlers, ingest beside a raw insert, the projector beside raw SETs, creating a link beside a bare publish; and how long an edit
// and a scan take to arrive. README.md tells how to read the tables.
//
// The machine is shared and noisy, so contestants take turns within each round, ratios are formed within a round, and the median of
// the rounds is shown. The exit code is 1 when any answer was wrong, and never says anything about speed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"linkfold/deploy/devstack"
)

// sizes is how much is done.
type sizes struct {
	Rounds      int `help:"Rounds of each comparison." default:"3"`
	Requests    int `help:"Requests per server and round." default:"40000"`
	Connections int `help:"Keep-alive connections of the load." default:"64"`
	Rows        int `help:"Hits per round of ingest." default:"200000"`
	Links       int `help:"Links of the projector benchmark." default:"100000"`
	Edits       int `help:"Edits to follow to the redirectors." default:"300"`
	Scans       int `help:"Scans to follow to ClickHouse." default:"120"`
	Creates     int `help:"Links to create one after the other." default:"500"`
}

// quick is for proving that everything works, not for numbers.
func quick() sizes {
	return sizes{Rounds: 1, Requests: 4000, Connections: 64, Rows: 20_000, Links: 5000, Edits: 20, Scans: 10, Creates: 20}
}

// cli is the command line.
type cli struct {
	sizes   `embed:""`
	Only    []string `help:"Benchmarks to run: redirect, ingest, projector, latency, create. Default: all."`
	Quick   bool     `help:"Run everything once and small, to see that it works; the numbers mean nothing."`
	JSON    string   `name:"json" help:"Write the results to this file, too." type:"path"`
	Profile string   `help:"Write a CPU profile of the redirector in mode stream under load to this file." type:"path"`
	Binary  string   `help:"linkfold binary to measure; default: built from the checkout." type:"path"`
}

// bench is one run.
type bench struct {
	sizes
	Profile string
	dir     string // temporary
	root    string // of the checkout
	binary  string
	screen  io.Writer
}

// benchmarks in their order.
func benchmarks() []benchmark {
	return []benchmark{
		{"redirect", benchRedirect}, {"ingest", benchIngest}, {"projector", benchProjector}, {"latency", benchLatency}, {"create", benchCreate},
	}
}

type benchmark struct {
	name string
	run  func(context.Context, *bench) ([]*table, error)
}

func main() {
	if devstack.RunChild() {
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with an exit code.
func run(args []string, out, screen io.Writer) int {
	if served, err := runChild(); served {
		fmt.Fprintln(screen, "bench:", err)
		return 1
	}
	var c cli
	parser, err := kong.New(&c, kong.Name("bench"), kong.Description("Measures Linkfold beside the simplest things that do the same work."))
	if err == nil {
		_, err = parser.Parse(oneDash(args))
	}
	if err == nil {
		err = c.validate()
	}
	if err != nil {
		fmt.Fprintln(screen, "bench:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, c, out, screen); err != nil {
		fmt.Fprintln(screen, "bench:", err)
		return 1
	}
	return 0
}

// oneDash lets -quick stand for --quick, as Go's own tools have it.
func oneDash(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if len(a) > 2 && a[0] == '-' && a[1] != '-' {
			out[i] = "-" + a
		}
	}
	return out
}

func (c *cli) validate() error {
	s := c.sizes
	if min(s.Rounds, s.Requests, s.Connections, s.Rows, s.Links, s.Edits, s.Scans, s.Creates) < 1 {
		return errors.New("every size must be at least 1")
	}
	for _, name := range c.Only {
		if !slices.ContainsFunc(benchmarks(), func(b benchmark) bool { return b.name == name }) {
			return fmt.Errorf("no benchmark is called %q", name)
		}
	}
	return nil
}

// measure runs the benchmarks and prints each result when it is there.
func measure(ctx context.Context, c cli, out, screen io.Writer) (err error) {
	b := &bench{sizes: c.sizes, Profile: c.Profile, binary: c.Binary, screen: screen}
	if c.Quick {
		b.sizes = quick()
	}
	if b.dir, err = os.MkdirTemp("", "linkfold-bench-"); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.build(ctx); err != nil {
		return err
	}
	r := &report{Machine: machine()}
	fmt.Fprintf(out, "%s\n", r.Machine)
	for _, m := range benchmarks() {
		if len(c.Only) > 0 && !slices.Contains(c.Only, m.name) {
			continue
		}
		tables, err := m.run(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, t := range tables {
			if err := t.print(out); err != nil {
				return fmt.Errorf("print results: %w", err)
			}
		}
		r.Tables = append(r.Tables, tables...)
	}
	if c.JSON != "" {
		return r.save(c.JSON)
	}
	return nil
}

// build makes the linkfold binary that is measured, unless one was given.
func (b *bench) build(ctx context.Context) (err error) {
	if b.root, err = findRoot(); err != nil || b.binary != "" {
		return err
	}
	b.say("building linkfold")
	b.binary = filepath.Join(b.dir, "linkfold")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", b.binary, ".")
	cmd.Dir = filepath.Join(b.root, "deploy", "linkfold")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build linkfold: %w: %s", err, text)
	}
	return nil
}

// findRoot is the checkout that this directory is in.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find checkout: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find checkout: run this inside of it (no go.work above this directory)")
		}
		dir = parent
	}
}

// say tells a person how far it is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.screen, "%s  %s\n", time.Now().Format("15:04:05"), strings.TrimSpace(fmt.Sprintf(format, args...)))
}
