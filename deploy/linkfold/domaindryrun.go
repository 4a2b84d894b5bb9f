package main

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/alecthomas/kong"

	"linkfold/dashboards/queries"
	"linkfold/deploy/linkfold/internal/api"
	"linkfold/deploy/linkfold/internal/table"
	"linkfold/redirector/admin"
)

// dryRun is a flag that may be followed by a number of hits; 0: it is not given.
type dryRun int

// Hits that a dry run looks at, and the most that the API allows.
const (
	dryRunHits    = 1000
	maxDryRunHits = 10_000
)

// IsBool makes the flag's value optional. It implements kong.BoolMapperValue.
func (*dryRun) IsBool() bool { return true }

// Decode takes the next argument when it is a number; behind "=" it must be one, or true or false as variables of the environment say it.
func (d *dryRun) Decode(ctx *kong.DecodeContext) error {
	*d = dryRunHits
	next := ctx.Scan.Peek()
	bound := next.Type == kong.FlagValueToken
	n, err := strconv.Atoi(next.String())
	switch {
	case err != nil && !bound:
		return nil
	case err != nil:
		ctx.Scan.Pop()
		on, err := strconv.ParseBool(next.String())
		if err != nil {
			return fmt.Errorf("%q is no number of hits", next)
		}
		if !on {
			*d = 0
		}
		return nil
	case n < 1 || n > maxDryRunHits:
		return fmt.Errorf("%d hits: give 1 to %d", n, maxDryRunHits)
	}
	ctx.Scan.Pop()
	*d = dryRun(n)
	return nil
}

// try prints what a configuration would change.
func (c *domainSetCmd) try(e *env, client *api.Client, edit *domainEdit) error {
	var r admin.DryRun
	path := domainPath(c.Name, "/dry-run?hits="+strconv.Itoa(int(c.DryRun)))
	if err := client.Do(e.ctx, http.MethodPost, path, edit.next, &r); err != nil {
		return c.refused(err, edit.files)
	}
	if c.AsJSON {
		return printDocument(e.out, r)
	}
	if r.Hits == 0 {
		fmt.Fprintf(e.out, "dry run, nothing was changed: there are no hits on %s to try it with\n", c.Name)
		return printWarnings(e.out, append(edit.warnings, r.Warnings...), edit.files)
	}
	fmt.Fprintf(e.out, "dry run, nothing was changed: %d of the last %d %s on %s would be answered differently\n",
		r.ChangedHits, r.Hits, plural(r.Hits, "hit"), c.Name)
	if err := printWarnings(e.out, append(edit.warnings, r.Warnings...), edit.files); err != nil {
		return err
	}
	if len(r.Differences) == 0 {
		return nil
	}
	fmt.Fprintf(e.out, "\n%d of %d different requests:\n\n", r.Changed, r.Requests)
	if err := table.Print(e.out, differences(r), ""); err != nil {
		return err
	}
	if more := r.Changed - len(r.Differences); more > 0 {
		fmt.Fprintf(e.out, "  … and %d more that are less frequent\n", more)
	}
	return nil
}

// differences are two rows per request, what it gets now and what it would get.
func differences(r admin.DryRun) queries.Table {
	t := queries.Table{Columns: []string{"hits", "request", "answer", "outcome", "status", "location", "website/key"}}
	row := func(hits, request, when string, a admin.Answer) {
		t.Rows = append(t.Rows, []any{hits, request, when, a.Outcome, strconv.Itoa(a.Status), a.Location, or(a.Website, a.Domain) + "/" + a.Key})
	}
	for _, d := range r.Differences {
		row(strconv.Itoa(d.Hits), d.Request, "before", d.Before)
		row("", "", "→ after", d.After)
	}
	return t
}
