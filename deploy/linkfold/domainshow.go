package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkfold/redirector/admin"
)

// fields prints names and values in two columns. The first error ends it.
type fields struct {
	out    io.Writer
	indent string
	err    error
}

// row prints one field.
func (f *fields) row(name, format string, args ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.out, "%s%-*s  %s\n", f.indent, 17-len(f.indent), name, visible(fmt.Sprintf(format, args...)))
	}
}

// script prints a script below its name, as it was typed.
func (f *fields) script(name, source string) {
	if source == "" {
		f.row(name, "none")
		return
	}
	var b strings.Builder
	b.WriteString(f.indent + name + "\n")
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" {
			line = f.indent + "    " + visible(line)
		}
		b.WriteString(line + "\n")
	}
	if f.err == nil {
		_, f.err = io.WriteString(f.out, b.String())
	}
}

// printDomain shows a domain to a person.
func printDomain(out io.Writer, d admin.Domain) error {
	f := fields{out: out}
	f.row("domain", "%s", d.Name)
	f.row("revision", "%d", d.Revision)
	f.row("created", "%s", d.Created.UTC().Format(time.DateTime))
	f.row("tracking", "%s", d.Tracking)
	f.row("redirect status", "%s", numberOr(d.RedirectStatus, "302 (default)"))
	f.row("fallback", "%s", or(d.Fallback, "none: the page Not Found"))
	f.row("max hops", "%s", numberOr(d.MaxHops, "255 (default)"))
	f.row("generator", "%s", or(d.Generator, "random (default)"))
	f.row("code length", "%s", numberOr(d.CodeLength, "5 (default)"))
	f.row("default website", "%s", or(d.DefaultWebsite, "none"))
	f.script("rules", d.Rules)
	if d.Rules != "" && len(d.Websites) == 0 {
		f.row("websites", "every one that the rules make")
	}
	for _, key := range slices.Sorted(maps.Keys(d.Websites)) {
		f.website(key, d.Websites[key])
	}
	return f.err
}

func (f *fields) website(key string, w admin.Website) {
	if f.err == nil {
		_, f.err = fmt.Fprintln(f.out)
	}
	title := visible(key)
	if key == "*" {
		title += " (all others)"
	}
	f.row("website", "%s", title)
	in := fields{out: f.out, indent: "  ", err: f.err}
	in.row("unknown query", "%s", or(w.UnknownQuery, "404 (default)"))
	in.row("allowed query", "%s", or(strings.Join(w.AllowedQuery, " "), "the built-in list (default)"))
	for _, name := range slices.Sorted(maps.Keys(w.QueryNames)) {
		in.row("query name", "%s is %s", name, w.QueryNames[name])
	}
	in.script("rules", w.Rules)
	f.err = in.err
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func numberOr(n int, otherwise string) string {
	if n == 0 {
		return otherwise
	}
	return strconv.Itoa(n)
}

// visible shows control characters, tabs apart, as they would be quoted: a terminal would obey them.
func visible(s string) string {
	parts := strings.Split(s, "\t")
	for i, part := range parts {
		q := strconv.QuoteToGraphic(part)
		parts[i] = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
	}
	return strings.Join(parts, "\t")
}
