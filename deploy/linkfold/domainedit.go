package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"linkfold/redirector/admin"
	"linkfold/schema/link"
)

// maxConfig is the longest JSON document that is read, bytes; the API takes less.
const maxConfig = 1 << 20

// domainEdit is a configuration that the flags have made of another one.
type domainEdit struct {
	next     admin.Configuration
	revision uint64            // that it is based on; 0: the domain does not exist
	files    map[string]string // field to the file that it was read from
	warnings []string
}

// edit applies the flags to what the domain has, or to a document.
func (c *domainSetCmd) edit(now admin.Domain, in io.Reader) (*domainEdit, error) {
	e := &domainEdit{next: now.Configuration, revision: now.Revision, files: map[string]string{}}
	if c.Config != "" {
		if err := c.document(e, now, in); err != nil {
			return nil, err
		}
	}
	if c.IfRevision != 0 {
		e.revision = c.IfRevision
	}
	e.next.Websites = maps.Clone(e.next.Websites)
	set(&e.next.Tracking, c.Tracking)
	set(&e.next.RedirectStatus, c.RedirectStatus)
	set(&e.next.Fallback, c.Fallback)
	set(&e.next.MaxHops, c.MaxHops)
	set(&e.next.Generator, c.Generator)
	set(&e.next.CodeLength, c.CodeLength)
	set(&e.next.DefaultWebsite, c.DefaultWebsite)
	if c.NoRules {
		e.next.Rules = ""
	}
	if c.Rules != "" {
		source, err := readRules(c.Rules, in)
		if err != nil {
			return nil, err
		}
		e.next.Rules, e.files["rules"] = source, c.Rules
	}
	if err := c.websites(e, in); err != nil {
		return nil, err
	}
	if _, others := e.next.Websites["*"]; len(now.Websites) == 0 && len(e.next.Websites) > 0 && !others && now.Rules != "" {
		e.warnings = append(e.warnings, "until now every website that the rules make was known, from now on only those with an entry are: --unknown-query '*=404' makes one for all others")
	}
	return e, nil
}

func set[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// document begins with a JSON document. One that says which revision of this domain it shows is a change of that revision, so that what
// others have changed since is not overwritten; where the domain is not registered there is nothing to overwrite.
func (c *domainSetCmd) document(e *domainEdit, now admin.Domain, in io.Reader) error {
	if c.Config != "-" {
		f, err := os.Open(c.Config)
		if err != nil {
			return fmt.Errorf("open configuration: %w", err)
		}
		defer f.Close()
		in = f
	}
	dec := json.NewDecoder(io.LimitReader(in, maxConfig))
	dec.DisallowUnknownFields()
	var d admin.Domain
	if err := dec.Decode(&d); err != nil {
		return fmt.Errorf("read configuration %s: %w", c.Config, err)
	}
	if dec.More() {
		return fmt.Errorf("read configuration %s: something follows the JSON object", c.Config)
	}
	e.next = d.Configuration
	if d.Revision != 0 && d.Name == now.Name {
		e.revision = d.Revision
	}
	return nil
}

// websites applies the flags that name a website, removals first.
func (c *domainSetCmd) websites(e *domainEdit, in io.Reader) error {
	if e.next.Websites == nil {
		e.next.Websites = map[string]admin.Website{}
	}
	for _, key := range c.NoWebsite {
		key = websiteKey(key)
		if _, ok := e.next.Websites[key]; !ok {
			return fmt.Errorf("--no-website %s: the domain has no entry for it, only for %s", key, or(strings.Join(slices.Sorted(maps.Keys(e.next.Websites)), " "), "none"))
		}
		delete(e.next.Websites, key)
	}
	for key, file := range c.Website {
		source, err := readRules(file, in)
		if err != nil {
			return err
		}
		key = websiteKey(key)
		e.website(key, func(w *admin.Website) { w.Rules = source })
		e.files["websites["+key+"].rules"] = file
	}
	for key, policy := range c.UnknownQuery {
		e.website(key, func(w *admin.Website) { w.UnknownQuery = policy })
	}
	for key, names := range allowed(c.AllowQuery) {
		e.website(key, func(w *admin.Website) { w.AllowedQuery = names })
	}
	return nil
}

// website changes one entry, or makes it.
func (e *domainEdit) website(key string, change func(*admin.Website)) {
	key = websiteKey(key)
	w := e.next.Websites[key]
	change(&w)
	e.next.Websites[key] = w
}

// websiteKey is a key as the API keeps it. One that it will refuse stays as it is: the refusal says why.
func websiteKey(key string) string {
	if normal, err := link.NormalizeDomain(key); err == nil && key != "*" {
		return normal
	}
	return key
}

// allowed collects KEY=NAME by key.
func allowed(given []string) map[string][]string {
	lists := map[string][]string{}
	for _, one := range given {
		key, name, _ := strings.Cut(one, "=")
		list := lists[key]
		if name != "" {
			list = append(list, name)
		}
		lists[key] = list
	}
	return lists
}

// readRules reads a script. An empty one is more likely a mistake than a wish.
func readRules(file string, in io.Reader) (string, error) {
	source, err := readScript(file, in)
	if err == nil && strings.TrimSpace(source) == "" {
		err = errors.New(file + " is empty: --no-rules or --no-website takes rules away")
	}
	return source, err
}

func values(m map[string]string) []string { return slices.Collect(maps.Values(m)) }
