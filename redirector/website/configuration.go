package website

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
	"google.golang.org/protobuf/proto"

	"linkfold/redirector/resolve"
	"linkfold/redirector/rules"
	"linkfold/redirector/rules/pattern"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
)

// Limits of a domain's configuration.
const (
	MaxWebsites = 256
	MaxBytes    = 768 << 10 // of the event, compiled scripts included; NATS takes messages of 1 MiB
	// MaxInstructions bounds what all scripts together compile to, in RE2 instructions: a redirector loads them in some ten milliseconds and
	// megabytes, at each change.
	MaxInstructions = 100_000
	maxNames        = 64 // of allowed or renamed query parameters per website
	maxName         = 64 // bytes
)

// MaxHops is the most internal redirects that a domain may allow (RULINGS A19).
const MaxHops = 255

// Warning is what a configuration that can be saved had better not say.
type Warning struct {
	// Where is the field: rules, or websites[key].rules.
	Where string
	Text  string
}

// Compile checks a configuration that is about to be saved, brings it into its stored form and compiles its scripts. It reports all errors
// it finds; each names the field and, in a script, line and column, and wraps link.ErrInvalid.
func Compile(d *linkfoldv1.Domain) ([]Warning, error) {
	var c compilation
	c.script(rules.KindDomain, "rules", d.GetRules())
	if d.GetRules().GetSource() == "" {
		d.Rules = nil
		if len(d.GetWebsites()) > 0 {
			c.fail("websites", "need domain rules: without them no website is ever found")
		}
	}
	c.redirects(d)
	if name := d.GetDefaultWebsite(); name != "" {
		normal, err := link.NormalizeDomain(name)
		if err != nil || !below(normal, d.GetName()) {
			c.fail("default_website", "%q is no website of %s: give a host name below it", name, d.GetName())
		}
		d.DefaultWebsite = normal
	}
	if len(d.GetWebsites()) > MaxWebsites {
		c.fail("websites", "%d of them: at most %d are allowed; one with the key * stands for all others", len(d.GetWebsites()), MaxWebsites)
	}
	for _, w := range d.GetWebsites() {
		c.website(d, w)
	}
	slices.SortFunc(d.Websites, func(a, b *linkfoldv1.Website) int { return strings.Compare(a.GetKey(), b.GetKey()) })
	for i, w := range d.GetWebsites() {
		if i > 0 && w.GetKey() == d.GetWebsites()[i-1].GetKey() {
			c.fail("websites["+w.GetKey()+"]", "is there twice: give each website one entry")
		}
	}
	if c.size > MaxInstructions {
		c.fail("rules", "all scripts together compile to %d instructions: at most %d are allowed; repeat less, or let one website with the key * stand for several", c.size, MaxInstructions)
	}
	if size := proto.Size(d); size > MaxBytes {
		c.fail("configuration", "%d bytes once compiled: at most %d are allowed; shorten the scripts, or let one website with the key * stand for several", size, MaxBytes)
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	c.reachable(d)
	return c.warnings, nil
}

type compilation struct {
	errs     []error
	warnings []Warning
	size     int // instructions of all scripts
}

func (c *compilation) fail(where, format string, args ...any) {
	c.errs = append(c.errs, link.Invalid("%s: %s", where, fmt.Sprintf(format, args...)))
}

// script compiles in place: the saved form is source and what was made of it.
func (c *compilation) script(kind rules.Kind, where string, s *linkfoldv1.RuleScript) {
	if s.GetSource() == "" {
		return
	}
	compiled, warnings, err := rules.Compile(kind, s.GetSource())
	if err != nil {
		c.fail(where, "%v", err)
		return
	}
	s.Compiler, s.Rules = compiled.GetCompiler(), compiled.GetRules()
	for _, r := range s.Rules {
		for _, expression := range slices.Concat(r.GetPatterns(), []string{r.GetProtocol(), r.GetPort()}) {
			if n, err := pattern.Size(expression); err == nil {
				c.size += n
			}
		}
	}
	for _, w := range warnings {
		c.warnings = append(c.warnings, Warning{where, w.String()})
	}
}

func (c *compilation) redirects(d *linkfoldv1.Domain) {
	switch d.GetRedirectStatus() {
	case 0, 301, 302, 307, 308:
	default:
		c.fail("redirect_status", "%d: give 301, 302, 307 or 308", d.GetRedirectStatus())
	}
	if s := d.GetRedirectStatus(); s == 301 || s == 308 {
		c.warnings = append(c.warnings, Warning{"redirect_status", fmt.Sprintf("browsers remember a %d: repeated visits are not counted, and later changes are not seen by those who came before", s)})
	}
	if d.GetMaxHops() > MaxHops {
		c.fail("max_hops", "%d: give at most %d", d.GetMaxHops(), MaxHops)
	}
	if d.GetFallback() == "" {
		return
	}
	fallback, err := link.NormalizeDestination(d.GetFallback())
	switch {
	case err != nil:
		c.fail("fallback", "%v", err)
	case resolve.ParseValue(fallback).Internal(), len(link.Placeholders(fallback)) > 0:
		c.fail("fallback", "%q: give an absolute URL without placeholders", fallback)
	case below(hostOf(fallback), d.GetName()):
		c.fail("fallback", "%q is on the domain itself, where an unknown key would lead to it for ever: give a URL elsewhere", fallback)
	}
	d.Fallback = fallback
}

// hostOf is the host of a serialized URL.
func hostOf(u string) string {
	parsed, err := url.Parse(u)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(parsed.Hostname(), ".")
}

// below reports that a host is the domain or a sub-domain of it.
func below(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

func (c *compilation) website(d *linkfoldv1.Domain, w *linkfoldv1.Website) {
	where := "websites[" + w.GetKey() + "]"
	if w.GetKey() != Other {
		key, err := link.NormalizeDomain(w.GetKey())
		if err != nil || !below(key, d.GetName()) {
			c.fail(where, "is no website of %s: give a key that the domain rules make, such as www.%s, or *", d.GetName(), d.GetName())
			return
		}
		w.Key = key
	}
	c.script(rules.KindWebsite, where+".rules", w.GetRules())
	if w.GetRules().GetSource() == "" {
		w.Rules = nil
	}
	names := slices.Clone(w.GetAllowedQuery())
	for from, to := range w.GetQueryNames() {
		names = append(names, from, to)
	}
	if len(names) > maxNames {
		c.fail(where, "%d names of query parameters: at most %d are allowed", len(names), maxNames)
	}
	for _, n := range names {
		if n == "" || len(n) > maxName {
			c.fail(where, "query parameter %q: give 1 to %d bytes", n, maxName)
		}
	}
}

// reachable warns of entries that the domain rules never lead to, as far as the keys themselves tell.
func (c *compilation) reachable(d *linkfoldv1.Domain) {
	loaded, err := Load(d)
	if err != nil || loaded == nil {
		return
	}
	for _, w := range d.GetWebsites() {
		if w.GetKey() != Other && !loaded.Has(w.GetKey()) {
			c.warnings = append(c.warnings, Warning{"websites[" + w.GetKey() + "]", "the domain rules do not make this key of the host " + w.GetKey()})
		}
	}
	if w := d.GetDefaultWebsite(); w != "" && !loaded.Has(w) {
		c.warnings = append(c.warnings, Warning{"default_website", "the domain rules do not make the key " + w})
	}
}
