// Package website finds the website that a request is for, by the rules of its domain (snap-url-rules.txt; RULINGS B).
//
// A domain's configuration is made ready once, when it is loaded: after that, matching is regular expressions over short strings, in memory.
// Domain rules look at the host and give the website key; the rules of that website look at the rest of the URL. Without domain rules there
// are no websites: the domain's links are looked up by path alone.
package website

import (
	"fmt"

	"linkfold/redirector/rules"
	"linkfold/schema/linkfoldv1"
)

// Other is the key of the entry for websites that have none of their own.
const Other = "*"

// Domain is a domain's rules, ready to match. It is immutable.
type Domain struct {
	name  string
	rules *rules.Rules
	sites map[string]*rules.Site
	other *rules.Site // nil: a website without an entry is unknown
}

// Load makes a domain's rules ready; nil when it has none.
func Load(d *linkfoldv1.Domain) (*Domain, error) {
	if d.GetRules().GetSource() == "" {
		return nil, nil
	}
	r, err := rules.Load(rules.KindDomain, d.GetRules())
	if err != nil {
		return nil, fmt.Errorf("load rules of domain %s: %w", d.GetName(), err)
	}
	out := &Domain{name: d.GetName(), rules: r, sites: make(map[string]*rules.Site, len(d.GetWebsites()))}
	if len(d.GetWebsites()) == 0 {
		if out.other, err = rules.NewSite(&linkfoldv1.Website{Key: Other}); err != nil {
			return nil, fmt.Errorf("make site without rules: %w", err)
		}
	}
	for _, w := range d.GetWebsites() {
		site, err := rules.NewSite(w)
		if err != nil {
			return nil, fmt.Errorf("load rules of website %s: %w", w.GetKey(), err)
		}
		if w.GetKey() == Other {
			out.other = site
		} else {
			out.sites[w.GetKey()] = site
		}
	}
	return out, nil
}

// Find applies the domain rules to a host, which is in lower case and without a port. The site is nil for a website that is not known; ok is
// false when no rule fits.
func (d *Domain) Find(host string) (m rules.DomainMatch, site *rules.Site, ok bool) {
	if m, ok = d.rules.Domain(d.name, host); !ok {
		return m, nil, false
	}
	for _, key := range [...]string{m.Website, m.Bare} {
		if site, found := d.sites[key]; found {
			return m, site, true
		}
	}
	return m, d.other, true
}

// Has reports whether the rules give key as a website: then links may live on it.
func (d *Domain) Has(key string) bool {
	m, site, ok := d.Find(key)
	return ok && site != nil && (m.Website == key || m.Bare == key)
}
