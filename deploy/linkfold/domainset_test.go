package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"linkfold/redirector/admin"
)

func TestDomainUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"set", "x.example", "--tracking", "all"}, 2, "give cookie, hash or none"},
		{[]string{"set", "x.example", "--unknown-query", "*=drop"}, 2, "give 404, strip or pass"},
		{[]string{"set", "x.example", "--allow-query", "utm_*"}, 2, "give KEY=NAME"},
		{[]string{"set", "x.example", "--rules", "-", "--website", "*=-"}, 2, "read once"},
		{[]string{"set", "x.example", "--rules", "f", "--no-rules"}, 2, "can't be used together"},
		{[]string{"set", "x.example", "--dry-run", "0"}, 2, "give 1 to 10000"},
		{[]string{"set", "x.example", "--dry-run=some"}, 2, "no number of hits"},
		{[]string{"get", "x.example", "--data", filepath.Join(t.TempDir(), "none")}, 1, "is no data directory of linkfold"},
	} {
		var out, screen bytes.Buffer
		if code := run(append([]string{"domain"}, c.args...), &out, &screen); code != c.code || !strings.Contains(screen.String(), c.want) {
			t.Errorf("domain %q: code %d, %q; want %d, %q", c.args, code, screen.String(), c.code, c.want)
		}
	}
}

func TestDryRunFlag(t *testing.T) {
	t.Parallel()
	for want, args := range map[dryRun][]string{
		0: {"x"}, dryRunHits: {"--dry-run", "x"}, 5: {"x", "--dry-run", "5"}, 6: {"--dry-run=6", "x"}, 7: {"--dry-run", "7", "x"},
	} {
		var c struct {
			Name   string `arg:""`
			DryRun dryRun
		}
		k, err := kong.New(&c)
		if err == nil {
			_, err = k.Parse(args)
		}
		if err != nil || c.DryRun != want || c.Name != "x" {
			t.Errorf("%q: %v %+v; want %d", args, err, c, want)
		}
	}
}

func TestScriptChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after, want string }{
		{"", "a\nb\n", "(+2 −0 lines)"}, {"a\nb\nc\n", "a\nx\nc\n", "(+1 −1 lines)"}, {"a\na\n", "a\n", "(+0 −1 lines)"},
		{"a\nb\n", "b\na\n", "(order of lines, or line ends)"}, {"a\n", "a\r\n", "(order of lines, or line ends)"},
	} {
		if got := scriptChange(c.before, c.after); got != c.want {
			t.Errorf("%q to %q: %s; want %s", c.before, c.after, got, c.want)
		}
	}
}

// What a stranger may have typed into a rule cannot command the terminal.
func TestVisible(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"\ta\\. \"é\" 漢": "\ta\\. \"é\" 漢", "\x1b[2J": `\x1b[2J`, "a\rb": `a\rb`} {
		if got := visible(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// Scripts are also read from standard input.
func TestRulesFromStandardInput(t *testing.T) {
	t.Parallel()
	c := domainSetCmd{Rules: "-"}
	edit, err := c.edit(admin.Domain{Configuration: admin.Configuration{Tracking: "none"}}, strings.NewReader(wwwRules))
	if err != nil || edit.next.Rules != wwwRules || edit.next.Tracking != "none" {
		t.Error(err, edit)
	}
}
