// Package rules decides which website a URL belongs to, which options it carries, and what its one canonical form is, by the rule scripts of a
// domain and of its websites (snap-url-rules.txt, as RULINGS B decides it). It is pure: no I/O, no clock, equal inputs give equal outputs.
//
// The way of a URL (B19): Registrable finds the domain of its host; Rules.Domain matches the sub-domains against the domain's script and gives
// the website key; Site.Match matches protocol, port, query and path against the website's script and gives the site key, the rest of the path
// and the options.
//
// A script is compiled once, when it is saved (Compile), and made ready to match once per configuration change (Load, NewSite). Matching uses
// RE2 throughout, whose time is linear; sizes are bounded by the limits in limits.go, so no script can hang or bloat who loads it.
// Everything loaded is immutable and shared between goroutines.
package rules

import (
	"linkfold/redirector/rules/script"
)

// Kind is the grammar of a script.
type Kind = script.Kind

// The kinds of scripts.
const (
	KindDomain  = script.Domain
	KindWebsite = script.Website
)

// CompilerVersion is the version of what Compile writes. Load compiles the source of scripts that another version has written again.
const CompilerVersion = 2

// Reasons for which a URL has no answer; each goes with status 404.
const (
	UnknownDomain   = "Unknown Domain"    // the host is not below a domain that is known
	DomainNotFound  = "Domain Not Found"  // no domain rule matches the sub-domains
	WebsiteNotFound = "Website Not Found" // no website rule matches the rest of the URL
)

// URL is a request as rules see it.
type URL struct {
	Scheme string // lower case
	Host   string // without port; of any case
	Port   int    // 0: none given, the default of the scheme counts
	Path   string // WHATWG-serialized, with the leading "/"
	Query  string // without "?"
}

// Option is one variable and its value.
type Option struct{ Name, Value string }

// Options are the variables that a URL has set, or that have a default, in the order of the scripts; each name once.
type Options []Option

// Get gives a variable's value.
func (o Options) Get(name string) (string, bool) {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value, true
		}
	}
	return "", false
}

// Map gives the options as a map, never nil.
func (o Options) Map() map[string]string {
	m := make(map[string]string, len(o))
	for _, one := range o {
		m[one.Name] = one.Value
	}
	return m
}

// Rules is a script ready to match.
type Rules struct {
	kind     Kind
	rules    []*rule
	official bool
	input    int // longest text that expressions look at
}

// HasOfficial tells whether some variable has an official position, so that URLs have a canonical form worth telling.
func (r *Rules) HasOfficial() bool { return r != nil && r.official }
