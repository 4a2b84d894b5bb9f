package admin

import (
	"iter"
	"strings"
	"time"

	"linkfold/redirector/website"
	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
)

// Domain is a domain as the API shows it.
type Domain struct {
	Name string `json:"name"`
	Configuration
	Removed  bool      `json:"removed,omitempty"`
	Created  time.Time `json:"created"`
	Revision uint64    `json:"revision" doc:"LINKS sequence of the newest event; the ETag."`
	Warnings []string  `json:"warnings,omitempty" doc:"What was saved and had better not be said so."`
}

// Configuration is what an author may set on a domain. A PUT replaces all of it.
type Configuration struct {
	Tracking       string             `json:"tracking,omitempty" enum:"cookie,hash,none" default:"cookie" doc:"What may be remembered of a visitor: cookie id, day hash alone, or nothing."`
	RedirectStatus int                `json:"redirect_status,omitempty" minimum:"0" doc:"302 (default), 301, 307 or 308. Browsers remember 301 and 308, so repeated visits are not counted."`
	Fallback       string             `json:"fallback,omitempty" doc:"Absolute URL that visitors get instead of the page Not Found."`
	MaxHops        int                `json:"max_hops,omitempty" minimum:"0" maximum:"255" doc:"Most internal redirects in a row; left out: 255."`
	Generator      string             `json:"generator,omitempty" enum:"random,qr" doc:"How keys are made for links that are created without one: random (default: letters of both cases and digits), or qr (lower-case letters and digits; the case of requests does not count, and upper case says that it is a scan)."`
	CodeLength     int                `json:"code_length,omitempty" minimum:"0" maximum:"32" doc:"Characters of such a key; left out: 5."`
	Rules          string             `json:"rules,omitempty" doc:"Domain rules: which sub-domains are which website."`
	DefaultWebsite string             `json:"default_website,omitempty" doc:"Website that the page Unknown Website names."`
	Websites       map[string]Website `json:"websites,omitempty" doc:"By website key; * stands for all others. Left out: every website that the rules make."`
}

// Website is what an author may set on a website.
type Website struct {
	Rules        string            `json:"rules,omitempty" doc:"Website rules: protocol, port, path and query."`
	UnknownQuery string            `json:"unknown_query,omitempty" enum:"404,strip,pass" doc:"A query parameter that nobody knows: not found (default), redirected to the URL without it, or passed on."`
	AllowedQuery []string          `json:"allowed_query,omitempty" doc:"Parameters that count as known, * at an end for any text. Left out: q, page, *_page, utm_* and the click ids of advertisers."`
	QueryNames   map[string]string `json:"query_names,omitempty" doc:"Parameter to variable, where they are spelled differently."`
}

var unknownQueries = map[string]linkfoldv1.UnknownQuery{
	"": linkfoldv1.UnknownQuery_UNKNOWN_QUERY_UNSPECIFIED, "404": linkfoldv1.UnknownQuery_UNKNOWN_QUERY_NOT_FOUND,
	"strip": linkfoldv1.UnknownQuery_UNKNOWN_QUERY_STRIP, "pass": linkfoldv1.UnknownQuery_UNKNOWN_QUERY_PASS,
}

var generators = map[string]linkfoldv1.Generator{
	"": linkfoldv1.Generator_GENERATOR_UNSPECIFIED, "random": linkfoldv1.Generator_GENERATOR_RANDOM, "qr": linkfoldv1.Generator_GENERATOR_QR,
}

// nameIn is the name of a value; empty for one without a name.
func nameIn[T comparable](names map[string]T, value T) string {
	for name, v := range names {
		if v == value {
			return name
		}
	}
	return ""
}

// compile turns a configuration into its stored form. The error wraps link.ErrInvalid.
func (c *Configuration) compile(domain string) (d *linkfoldv1.Domain, warnings []string, err error) {
	name, err := link.NormalizeDomain(domain)
	if err != nil {
		return nil, nil, err
	}
	d = &linkfoldv1.Domain{
		Name: name, Tracking: trackings[c.Tracking], RedirectStatus: uint32(c.RedirectStatus), Fallback: c.Fallback, MaxHops: uint32(c.MaxHops),
		Rules: script(c.Rules), DefaultWebsite: c.DefaultWebsite, Generator: generators[c.Generator], CodeLength: uint32(c.CodeLength),
	}
	for key, w := range c.Websites {
		d.Websites = append(d.Websites, &linkfoldv1.Website{
			Key: key, Rules: script(w.Rules), UnknownQuery: unknownQueries[w.UnknownQuery], AllowedQuery: w.AllowedQuery, QueryNames: w.QueryNames,
		})
	}
	list, err := website.Compile(d)
	for _, w := range list {
		warnings = append(warnings, w.Where+": "+w.Text)
	}
	return d, warnings, err
}

func script(source string) *linkfoldv1.RuleScript {
	if source == "" {
		return nil
	}
	return &linkfoldv1.RuleScript{Source: source}
}

func configuration(d *linkfoldv1.Domain) Configuration {
	c := Configuration{
		Tracking: event.TrackingName(d.GetTracking()), RedirectStatus: int(d.GetRedirectStatus()), Fallback: d.GetFallback(), MaxHops: int(d.GetMaxHops()),
		Rules: d.GetRules().GetSource(), DefaultWebsite: d.GetDefaultWebsite(), Generator: nameIn(generators, d.GetGenerator()), CodeLength: int(d.GetCodeLength()),
	}
	for _, w := range d.GetWebsites() {
		if c.Websites == nil {
			c.Websites = map[string]Website{}
		}
		c.Websites[w.GetKey()] = Website{
			Rules: w.GetRules().GetSource(), UnknownQuery: nameIn(unknownQueries, w.GetUnknownQuery()), AllowedQuery: w.GetAllowedQuery(), QueryNames: w.GetQueryNames(),
		}
	}
	return c
}

// parents are name and what it is a sub-domain of, longest first.
func parents(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(name) {
			_, rest, ok := strings.Cut(name, ".")
			if !ok || rest == "" {
				return
			}
			name = rest
		}
	}
}
