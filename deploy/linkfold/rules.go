package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"linkfold/redirector/rules"
	"linkfold/redirector/rules/script"
	"linkfold/schema/linkfoldv1"
)

// rulesCmd works with rule scripts in files; no server is contacted.
type rulesCmd struct {
	Check rulesCheckCmd `cmd:"" help:"Say what is wrong with a rule script, with line and column."`
	Match rulesMatchCmd `cmd:"" help:"Print what rule scripts make of URLs."`
}

// rulesCheckCmd checks one script.
type rulesCheckCmd struct {
	Kind   string `required:"" enum:"domain,website" placeholder:"KIND" help:"Grammar of the script: domain or website."`
	AST    bool   `name:"ast" help:"Print what was read, as a JSON array of rules, and nothing else."`
	AsJSON bool   `name:"json" help:"Print findings and summary as one JSON object."`
	File   string `arg:"" type:"path" help:"The script; - for standard input."`
}

// finding is one error or warning of a script.
type finding struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// checkReport is the answer of rules check --json.
type checkReport struct {
	File      string    `json:"file"`
	OK        bool      `json:"ok"`
	Rules     int       `json:"rules"`
	Variables int       `json:"variables"`
	Errors    []finding `json:"errors"`
	Warnings  []finding `json:"warnings"`
}

func scriptKind(name string) rules.Kind {
	if name == "website" {
		return rules.KindWebsite
	}
	return rules.KindDomain
}

// Run implements the command. Errors in the script are printed as findings and make it fail; warnings do not.
func (c *rulesCheckCmd) Run(e *env) error {
	source, err := readScript(c.File, e.in)
	if err != nil {
		return err
	}
	compiled, warnings, err := rules.Compile(scriptKind(c.Kind), source)
	report := newCheckReport(c.File, compiled, warnings, err)
	switch {
	case c.AsJSON:
		err = printJSON(e.out, report)
	case c.AST && report.OK:
		printFindings(e.screen, report)
		err = c.printAST(e.out, source)
	default:
		printFindings(e.out, report)
		err = nil
	}
	if err == nil && !report.OK {
		err = fmt.Errorf("%s: %d %s", c.File, len(report.Errors), plural(len(report.Errors), "error"))
	}
	return err
}

func (c *rulesCheckCmd) printAST(out io.Writer, source string) error {
	parsed, err := script.Parse(scriptKind(c.Kind), source)
	if err != nil {
		return err
	}
	return printJSON(out, parsed)
}

func newCheckReport(file string, compiled *linkfoldv1.RuleScript, warnings []rules.Warning, err error) checkReport {
	report := checkReport{File: file, OK: err == nil, Rules: len(compiled.GetRules()), Errors: []finding{}, Warnings: []finding{}}
	for _, r := range compiled.GetRules() {
		report.Variables += len(r.GetVariables())
	}
	for _, w := range warnings {
		report.Warnings = append(report.Warnings, finding{w.Line, w.Column, w.Message})
	}
	var all script.Errors
	errors.As(err, &all)
	for _, one := range all {
		report.Errors = append(report.Errors, finding{one.Line, one.Column, one.Message})
	}
	return report
}

// printFindings writes one line per finding, and a summary when the script can be used.
func printFindings(out io.Writer, r checkReport) {
	for _, f := range r.Errors {
		fmt.Fprintf(out, "%s:%d:%d: %s\n", r.File, f.Line, f.Column, visible(f.Message))
	}
	for _, f := range r.Warnings {
		fmt.Fprintf(out, "%s:%d:%d: warning: %s\n", r.File, f.Line, f.Column, visible(f.Message))
	}
	if r.OK {
		fmt.Fprintf(out, "ok: %d %s, %d %s, %d %s\n", r.Rules, plural(r.Rules, "rule"), r.Variables, plural(r.Variables, "variable"),
			len(r.Warnings), plural(len(r.Warnings), "warning"))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// readScript reads a script, and refuses early what is far too long to be one.
func readScript(file string, in io.Reader) (string, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("open script: %w", err)
		}
		defer f.Close()
		in = f
	}
	// A byte more than is allowed, so that the compiler's own check sees it.
	source, err := io.ReadAll(io.LimitReader(in, 16*script.MaxBytes))
	if err != nil {
		return "", fmt.Errorf("read script %s: %w", file, err)
	}
	return string(source), nil
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	return nil
}
