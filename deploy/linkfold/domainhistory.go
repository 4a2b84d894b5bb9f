package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkfold/dashboards/queries"
	"linkfold/deploy/linkfold/internal/api"
	"linkfold/deploy/linkfold/internal/table"
	"linkfold/redirector/admin"
)

// domainHistoryCmd prints all revisions of a domain.
type domainHistoryCmd struct {
	Name   string `arg:"" help:"The domain: a host name."`
	AsJSON bool   `name:"json" help:"Print the API's document, with the configuration at each revision."`
	api.Flags
}

// domainHistory is the API's document.
type domainHistory struct {
	Revisions []admin.DomainRevision `json:"revisions"`
}

// Run implements the command.
func (c *domainHistoryCmd) Run(e *env) error {
	client, err := api.Open(c.Flags)
	if err != nil {
		return err
	}
	var h domainHistory
	if err := client.Do(e.ctx, http.MethodGet, domainPath(c.Name, "/history"), nil, &h); err != nil {
		return err
	}
	if c.AsJSON {
		return printDocument(e.out, h)
	}
	t := queries.Table{Columns: []string{"revision", "time", "who", "type", "reason", "changed"}}
	before := registered
	for _, r := range h.Revisions {
		after := r.Domain.Configuration
		if r.Domain.Removed {
			after = before // Removing changes nothing else.
		}
		lines := wrap(changes(before, after), changesWidth)
		t.Rows = append(t.Rows, []any{
			strconv.FormatUint(r.Domain.Revision, 10), r.Time.UTC().Format(time.DateTime), r.Actor, r.Type, r.Reason, lines[0],
		})
		for _, more := range lines[1:] {
			t.Rows = append(t.Rows, []any{"", "", "", "", "", more})
		}
		if before = after; r.Domain.Removed {
			before = registered
		}
	}
	return table.Print(e.out, t, "")
}

// registered is what a domain has when nothing was configured.
var registered = admin.Configuration{Tracking: "cookie"}

// changes names the fields that differ.
func changes(before, after admin.Configuration) []string {
	var all []string
	note := func(different bool, name string) {
		if different {
			all = append(all, name)
		}
	}
	note(before.Tracking != after.Tracking, "tracking")
	note(before.RedirectStatus != after.RedirectStatus, "redirect_status")
	note(before.Fallback != after.Fallback, "fallback")
	note(before.MaxHops != after.MaxHops, "max_hops")
	note(before.Generator != after.Generator, "generator")
	note(before.CodeLength != after.CodeLength, "code_length")
	note(before.Rules != after.Rules, "rules "+scriptChange(before.Rules, after.Rules))
	note(before.DefaultWebsite != after.DefaultWebsite, "default_website")
	keys := maps.Clone(before.Websites)
	if keys == nil {
		keys = map[string]admin.Website{}
	}
	maps.Copy(keys, after.Websites)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		b, had := before.Websites[key]
		a, has := after.Websites[key]
		where := "websites[" + key + "]"
		note(!had, where+" added")
		note(!has, where+" removed")
		if has {
			note(b.Rules != a.Rules, where+".rules "+scriptChange(b.Rules, a.Rules))
			note(b.UnknownQuery != a.UnknownQuery, where+".unknown_query")
			note(!slices.Equal(b.AllowedQuery, a.AllowedQuery), where+".allowed_query")
			note(!maps.Equal(b.QueryNames, a.QueryNames), where+".query_names")
		}
	}
	return all
}

// scriptChange counts the lines that came and went; a line that moved is neither.
func scriptChange(before, after string) string {
	surplus := map[string]int{}
	for line := range strings.Lines(before) {
		surplus[strings.TrimRight(line, "\r\n")]--
	}
	for line := range strings.Lines(after) {
		surplus[strings.TrimRight(line, "\r\n")]++
	}
	plus, minus := 0, 0
	for _, n := range surplus {
		plus += max(n, 0)
		minus += max(-n, 0)
	}
	if plus == 0 && minus == 0 {
		return "(order of lines, or line ends)"
	}
	return fmt.Sprintf("(+%d −%d lines)", plus, minus)
}

// changesWidth is what fits into a cell of package table, characters.
const changesWidth = 72

// wrap joins words to lines; there is always a line.
func wrap(words []string, width int) []string {
	lines := []string{""}
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = w
		case len(*last)+1+len(w) <= width:
			*last += " " + w
		default:
			lines = append(lines, w)
		}
	}
	return lines
}
