package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"linkfold/redirector/resolve"
	"linkfold/schema/link"
)

// resolveCmd answers where URLs lead, with the redirector's own code and a ruleset from a file.
type resolveCmd struct {
	URLs    []string          `arg:"" optional:"" name:"url" help:"URLs to resolve; none: one per line of standard input."`
	Ruleset string            `required:"" placeholder:"FILE" type:"path" help:"JSON object of keys and values: {\"docs\": \"https://example.com/docs\"}."`
	Explain bool              `help:"Add every step of each resolution."`
	MaxHops int               `help:"Internal redirects that pass; one more is an error." default:"255"`
	Var     map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"Text for {NAME} in values; without any, braces are literal."`
}

// Validate implements the check of service.Parse.
func (c *resolveCmd) Validate() error {
	if c.MaxHops < 0 || c.MaxHops > resolve.DefaultMaxHops {
		return fmt.Errorf("--max-hops %d: give 0 to %d", c.MaxHops, resolve.DefaultMaxHops)
	}
	for name := range c.Var {
		if len(link.Placeholders("{"+name+"}")) != 1 {
			return fmt.Errorf("--var %s=…: a name is letters, digits and underscores, and begins with no digit", name)
		}
	}
	return nil
}

// Run implements the command. URLs that cannot be resolved are lines with an error, not an error of the command.
func (c *resolveCmd) Run(e *env) error {
	rules, err := c.load()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(e.out, 1<<16)
	p := newResolvePrinter(rules, out, c)
	if len(c.URLs) > 0 {
		for _, u := range c.URLs {
			if err := p.print(e.ctx, u); err != nil {
				return err
			}
		}
		return flushAnswers(out)
	}
	// A read from a terminal cannot be interrupted, so when the user ends the command this goroutine is left to the end of the process.
	// What it has answered was flushed before it began to wait.
	ended := make(chan error, 1)
	go func() { ended <- p.lines(e.ctx, bufio.NewReaderSize(e.in, 1<<16)) }()
	select {
	case err := <-ended:
		return err
	case <-e.ctx.Done():
		return fmt.Errorf("resolve: %w", context.Cause(e.ctx))
	}
}

func (c *resolveCmd) load() (resolve.Map, error) {
	f, err := os.Open(c.Ruleset)
	if err != nil {
		return nil, fmt.Errorf("open ruleset: %w", err)
	}
	defer f.Close()
	rules, err := resolve.ParseRuleset(f)
	if err != nil {
		return nil, fmt.Errorf("ruleset %s: %w", c.Ruleset, err)
	}
	return rules, nil
}

// resolvePrinter prints one JSON object per URL.
type resolvePrinter struct {
	rules   resolve.Map
	options resolve.Options
	explain bool
	trace   []resolve.Step // of the current URL
	out     *bufio.Writer
	json    *json.Encoder
}

func newResolvePrinter(rules resolve.Map, out *bufio.Writer, c *resolveCmd) *resolvePrinter {
	p := &resolvePrinter{rules: rules, explain: c.Explain, out: out, json: json.NewEncoder(out)}
	p.json.SetEscapeHTML(false)
	p.options.MaxHops = c.MaxHops
	if c.MaxHops == 0 {
		p.options.MaxHops = -1
	}
	if len(c.Var) > 0 {
		p.options.Variables = func(name string) (string, bool) {
			text, ok := c.Var[name]
			return text, ok
		}
	}
	if c.Explain {
		p.options.Trace = func(s resolve.Step) { p.trace = append(p.trace, s) }
	}
	return p
}

// lines resolves every line that is not blank. Answers are flushed whenever the next line is not there yet.
func (p *resolvePrinter) lines(ctx context.Context, in *bufio.Reader) error {
	for ctx.Err() == nil {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read URLs: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" {
			if err := p.print(ctx, line); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
		if in.Buffered() == 0 {
			if err := flushAnswers(p.out); err != nil {
				return err
			}
		}
	}
	return flushAnswers(p.out)
}

// resolveAnswer is one line of output.
type resolveAnswer struct {
	Request     string         `json:"request"`
	Destination string         `json:"destination,omitempty"`
	Error       string         `json:"error,omitempty"`
	Hops        int            `json:"hops"`
	Trace       []resolve.Step `json:"trace,omitempty"`
}

func (p *resolvePrinter) print(ctx context.Context, raw string) error {
	p.trace = p.trace[:0]
	answer := resolveAnswer{Request: raw}
	request, err := resolve.ParseRequest(raw)
	if err != nil && p.explain {
		p.trace = append(p.trace, resolve.Step{Action: resolve.ActionRefuse, Error: err.Error()})
	}
	if err == nil {
		var result resolve.Result
		result, err = resolve.Resolve(ctx, p.rules, request, p.options)
		answer.Destination, answer.Hops = result.URL, result.Hops
	}
	if err != nil {
		reason := resolve.Reason(err)
		if reason == nil {
			return fmt.Errorf("resolve %q: %w", raw, err)
		}
		answer.Error = reason.Error()
	}
	answer.Trace = p.trace
	if err := p.json.Encode(answer); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	return nil
}

func flushAnswers(out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("print answers: %w", err)
	}
	return nil
}
