package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"linkfold/deploy/linkfold/internal/api"
	"linkfold/redirector/admin"
)

// domainSetCmd changes a configuration. What is not given stays; that is why its settings are not read from the environment, where a variable
// that was meant for another command would change them.
type domainSetCmd struct {
	Name string `arg:"" help:"The domain: a host name. One that is not registered is registered."`

	Tracking       *string           `env:"-" placeholder:"POLICY" help:"What is remembered of visitors: cookie (id and day hash; default of new domains), hash (day hash alone) or none."`
	RedirectStatus *int              `env:"-" placeholder:"N" help:"Status of redirects: 301, 302, 307 or 308; 0: the default, 302."`
	Fallback       *string           `env:"-" placeholder:"URL" help:"Where visitors are sent instead of the page Not Found; empty: the page."`
	MaxHops        *int              `env:"-" placeholder:"N" help:"Most internal redirects in a row, 1 to 255; 0: the default, 255."`
	Generator      *string           `env:"-" placeholder:"NAME" help:"How keys are made for links that are created without one: random (letters of both cases and digits; default) or qr (lower-case letters and digits; the case of requests does not count, upper case says that it is a scan)."`
	CodeLength     *int              `env:"-" placeholder:"N" help:"Characters of such a key, 1 to 32; 0: the default, 5."`
	Rules          string            `env:"-" placeholder:"FILE" xor:"rules" help:"Domain rules: which sub-domains are which website; - for standard input."`
	NoRules        bool              `env:"-" xor:"rules" help:"Take the domain rules away; websites need them."`
	DefaultWebsite *string           `env:"-" placeholder:"KEY" help:"Website that the page Unknown Website names; empty: none."`
	Website        map[string]string `env:"-" mapsep:"none" placeholder:"KEY=FILE" help:"Rules of a website; the key * stands for all others. Can be given several times."`
	NoWebsite      []string          `env:"-" sep:"none" placeholder:"KEY" help:"Take a website's rules and policies away. Can be given several times."`
	UnknownQuery   map[string]string `env:"-" mapsep:"none" placeholder:"KEY=POLICY" help:"What a website does with query parameters that nobody knows: 404, strip or pass. Can be given several times."`
	AllowQuery     []string          `env:"-" sep:"none" placeholder:"KEY=NAME" help:"Query parameter that a website knows; * at its start or end stands for any text. All those given replace the list that the website has; KEY= alone brings back the built-in list."`
	Config         string            `env:"-" placeholder:"FILE" help:"Begin with this JSON document, as domain get --json prints it, instead of what the domain has; - for standard input."`

	IfRevision uint64 `env:"-" placeholder:"N" help:"Change it only if this is its revision; default: the one it has when the command starts, or that of the document."`
	Reason     string `env:"-" placeholder:"TEXT" help:"Why; kept in the history."`
	DryRun     dryRun `env:"-" help:"Change nothing; print which of the domain's last N hits would be answered differently (--dry-run N, 1 to 10000; default 1000)."`
	AsJSON     bool   `name:"json" help:"Print the API's document."`
	api.Flags
}

// Validate implements the check of service.Parse.
func (c *domainSetCmd) Validate() error {
	if c.Tracking != nil && !slices.Contains([]string{"cookie", "hash", "none"}, *c.Tracking) {
		return fmt.Errorf("--tracking %s: give cookie, hash or none", *c.Tracking)
	}
	if c.Generator != nil && !slices.Contains([]string{"random", "qr"}, *c.Generator) {
		return fmt.Errorf("--generator %s: give random or qr", *c.Generator)
	}
	for key, policy := range c.UnknownQuery {
		if !slices.Contains([]string{"404", "strip", "pass"}, policy) {
			return fmt.Errorf("--unknown-query %s=%s: give 404, strip or pass", key, policy)
		}
	}
	for _, one := range c.AllowQuery {
		if key, _, ok := strings.Cut(one, "="); !ok || key == "" {
			return fmt.Errorf("--allow-query %s: give KEY=NAME", one)
		}
	}
	stdin := 0
	for _, file := range append([]string{c.Rules, c.Config}, values(c.Website)...) {
		if file == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return errors.New("standard input (-) can be read once: give files for the others")
	}
	return nil
}

// Run implements the command.
func (c *domainSetCmd) Run(e *env) error {
	client, err := api.Open(c.Flags)
	if err != nil {
		return err
	}
	now, exists, err := readDomain(e.ctx, client, c.Name)
	if err != nil {
		return err
	}
	edit, err := c.edit(now, e.in)
	if err != nil {
		return err
	}
	if c.DryRun > 0 {
		return c.try(e, client, edit)
	}
	var after admin.Domain
	err = client.Do(e.ctx, http.MethodPut, domainPath(c.Name, ""), edit.next, &after, ifMatch(edit.revision), reason(c.Reason))
	if err != nil {
		return changed(c.Name, c.refused(err, edit.files))
	}
	if after.Revision == 0 {
		return errors.New("the API's answer makes no sense: is the admin listener of a redirector at that address?")
	}
	if c.AsJSON {
		return printDocument(e.out, after)
	}
	verb := "changed"
	switch {
	case !exists:
		verb = "registered"
	case after.Revision == now.Revision:
		verb = "nothing to change"
	}
	if _, err := fmt.Fprintf(e.out, "domain %s: %s, revision %d\n", after.Name, verb, after.Revision); err != nil {
		return err
	}
	return printWarnings(e.out, append(edit.warnings, after.Warnings...), edit.files)
}

// position is a place in a script, as the API tells it: "rules: parsing error: … (line 1, column 8)". The errors of one script after the first
// are lines without the field.
var position = regexp.MustCompile(`^(?:(rules|websites\[[^\]]*\]\.rules): )?(.*) \(line (\d+), column (\d+)\)(?:: invalid)?$`)

// locate rewrites the lines of a message that speak of a place in a script to FILE:LINE:COLUMN: message, with the file that was given for
// the field, or the field's name.
func locate(message string, files map[string]string) string {
	lines := strings.Split(message, "\n")
	file := ""
	for i, line := range lines {
		m := position.FindStringSubmatch(line)
		if m == nil {
			lines[i] = strings.TrimSuffix(line, ": invalid")
			continue
		}
		if m[1] != "" {
			file = or(files[m[1]], m[1])
		}
		lines[i] = fmt.Sprintf("%s:%s:%s: %s", file, m[3], m[4], m[2])
	}
	return strings.Join(lines, "\n")
}

// refused tells what is wrong with a configuration, one line per error, as editors and people look for it; other errors it returns as they
// are.
func (c *domainSetCmd) refused(err error, files map[string]string) error {
	if !api.IsStatus(err, http.StatusUnprocessableEntity) {
		return err
	}
	return fmt.Errorf("domain %s: nothing was changed:\n%s", c.Name, locate(err.Error(), files))
}

func printWarnings(out io.Writer, warnings []string, files map[string]string) error {
	for _, w := range warnings {
		located := locate(w, files)
		if located == w {
			located = "warning: " + w
		} else {
			// file:line:column: warning: message, as rules check prints it.
			place, message, _ := strings.Cut(located, ": ")
			located = place + ": warning: " + message
		}
		if _, err := fmt.Fprintln(out, visible(located)); err != nil {
			return err
		}
	}
	return nil
}
