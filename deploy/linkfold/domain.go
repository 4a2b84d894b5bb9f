package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"linkfold/deploy/linkfold/internal/api"
	"linkfold/redirector/admin"
)

// domainCmd works with the configuration of domains.
type domainCmd struct {
	Get      domainGetCmd      `cmd:"" help:"Print a domain's configuration."`
	Set      domainSetCmd      `cmd:"" help:"Register a domain, or change what is given of its configuration."`
	History  domainHistoryCmd  `cmd:"" help:"Print who changed a domain's configuration, when, and what."`
	Remove   domainRemoveCmd   `cmd:"" help:"Remove a domain; its links and its history stay."`
	Checksum domainChecksumCmd `cmd:"" help:"Print count and checksum of a domain's links, as the log has them."`
}

// domainPath is a domain's resource of the API, or what is below it.
func domainPath(name, below string) string { return "/v1/domains/" + url.PathEscape(name) + below }

// ifMatch is the header that lets a change through only when it is based on the newest revision; 0: no header.
func ifMatch(revision uint64) api.Header {
	if revision == 0 {
		return api.Header{}
	}
	return api.Header{Name: "If-Match", Value: `"` + strconv.FormatUint(revision, 10) + `"`}
}

func reason(text string) api.Header { return api.Header{Name: "Linkfold-Reason", Value: text} }

// readDomain gives a domain; ok is false when it is not registered.
func readDomain(ctx context.Context, c *api.Client, name string) (d admin.Domain, ok bool, err error) {
	err = c.Do(ctx, http.MethodGet, domainPath(name, ""), nil, &d)
	if api.IsStatus(err, http.StatusNotFound) {
		return admin.Domain{}, false, nil
	}
	return d, err == nil, err
}

// changed explains the refusal of a change that is based on an old revision; other errors it returns as they are.
func changed(name string, err error) error {
	var p *api.Problem
	if !errors.As(err, &p) || p.Status != http.StatusConflict && p.Status != http.StatusPreconditionRequired {
		return err
	}
	if p.Status == http.StatusConflict && p.CurrentRevision == 0 {
		return fmt.Errorf("domain %s is not registered, so it has no revision to change: leave --if-revision out", name)
	}
	return fmt.Errorf("somebody changed domain %s meanwhile, so nothing was changed now: look with linkfold domain get %s, then try again: %w", name, name, err)
}

// printDocument prints a document of the API, indented: it may be edited and sent back.
func printDocument(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	return nil
}

// domainGetCmd prints a configuration.
type domainGetCmd struct {
	Name   string `arg:"" help:"The domain: a host name."`
	AsJSON bool   `name:"json" help:"Print the API's document; domain set --config takes it back."`
	api.Flags
}

// Run implements the command.
func (c *domainGetCmd) Run(e *env) error {
	client, err := api.Open(c.Flags)
	if err != nil {
		return err
	}
	var d admin.Domain
	if err := client.Do(e.ctx, http.MethodGet, domainPath(c.Name, ""), nil, &d); err != nil {
		return err
	}
	if c.AsJSON {
		return printDocument(e.out, d)
	}
	return printDomain(e.out, d)
}

// domainRemoveCmd removes a domain.
type domainRemoveCmd struct {
	Name       string `arg:"" help:"The domain: a host name."`
	IfRevision uint64 `env:"-" placeholder:"N" help:"Remove it only if this is its revision; default: the one it has when the command starts."`
	Reason     string `env:"-" placeholder:"TEXT" help:"Why; kept in the history."`
	api.Flags
}

// Run implements the command.
func (c *domainRemoveCmd) Run(e *env) error {
	client, err := api.Open(c.Flags)
	if err != nil {
		return err
	}
	var d admin.Domain
	if err := client.Do(e.ctx, http.MethodGet, domainPath(c.Name, ""), nil, &d); err != nil {
		return err
	}
	if c.IfRevision == 0 {
		c.IfRevision = d.Revision
	}
	if err := client.Do(e.ctx, http.MethodDelete, domainPath(c.Name, ""), nil, &d, ifMatch(c.IfRevision), reason(c.Reason)); err != nil {
		return changed(c.Name, err)
	}
	_, err = fmt.Fprintf(e.out, "domain %s: removed, revision %d; its links and its history stay\n", d.Name, d.Revision)
	return err
}

// domainChecksumCmd prints the checksum of a domain's links.
type domainChecksumCmd struct {
	Name   string `arg:"" help:"The domain: a host name."`
	AsJSON bool   `name:"json" help:"Print the API's document."`
	api.Flags
}

// Run implements the command.
func (c *domainChecksumCmd) Run(e *env) error {
	client, err := api.Open(c.Flags)
	if err != nil {
		return err
	}
	var r admin.Ruleset
	if err := client.Do(e.ctx, http.MethodGet, domainPath(c.Name, "/ruleset"), nil, &r); err != nil {
		return err
	}
	if c.AsJSON {
		return printDocument(e.out, r)
	}
	f := fields{out: e.out}
	f.row("domain", "%s", r.Domain)
	f.row("links", "%d, and %d deleted", r.Links, r.Deleted)
	f.row("checksum", "%s", r.Checksum)
	f.row("revision", "%d", r.Revision)
	return f.err
}
