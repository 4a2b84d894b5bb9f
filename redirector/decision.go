package redirector

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"time"

	"linkfold/redirector/links"
	"linkfold/redirector/resolve"
	"linkfold/redirector/rules"
	"linkfold/redirector/website"
	"linkfold/schema/linkfoldv1"
)

// decision is what the steps have found out. Its strings may be views of the request.
type decision struct {
	outcome  linkfoldv1.Outcome
	status   int
	location string
	detail   string // why a link leads nowhere

	// Step 1: what was asked for.
	path    string // serialized
	query   string // what is left of it for the destination
	options string // what rules have taken out of it
	source  linkfoldv1.Source

	// Step 2: the domain.
	host     string
	hostPort string // as the request has it
	scheme   string
	config   *linkfoldv1.Domain
	policy   linkfoldv1.Tracking
	removed  bool // it was a domain once

	// Steps 3 and 4: what the domain's rules, if it has any, make of the request.
	sites *website.Domain
	site  *site

	// Step 6: the link that was asked for, and where it led. Without a link, domain and key are those of the request.
	domain  string
	key     string
	linkRev uint64
	hops    int
	chain   []resolve.Match
}

// site is what rules have found out about a request: the website by its host, and the page by the rest of its URL.
type site struct {
	host  rules.DomainMatch
	rules *rules.Site // of the website
	page  rules.Match
	paged bool // page is valid
}

// page is what the website rules have found out; nil until they have matched.
func (d *decision) page() *rules.Match {
	if d.site == nil || !d.site.paged {
		return nil
	}
	return &d.site.page
}

// settle ends the steps.
func (d *decision) settle(o linkfoldv1.Outcome, status int) bool {
	d.outcome, d.status = o, status
	return true
}

func (d *decision) redirect(o linkfoldv1.Outcome, status int, location string) bool {
	d.location = location
	return d.settle(o, status)
}

func (d *decision) unavailable(log *slog.Logger, err error) bool {
	if !errors.Is(err, links.ErrUnavailable) && !errors.Is(err, links.ErrRules) {
		log.Error("lookup failed", "err", err)
	}
	return d.settle(linkfoldv1.Outcome_OUTCOME_UNAVAILABLE, 503)
}

func (d *decision) unresolvable(why string) {
	d.detail = why
	d.settle(linkfoldv1.Outcome_OUTCOME_UNRESOLVABLE, 404)
}

func (d *decision) redirectStatus() int { return int(cmp.Or(d.config.GetRedirectStatus(), 302)) }

// hostBelow is the host, or the domain itself for one that has nothing to do with it: then it answers as the default domain.
func (d *decision) hostBelow(domain string) string {
	if d.host == domain || strings.HasSuffix(d.host, "."+domain) {
		return d.host
	}
	return domain
}

// lookupPath is the path that links are looked up by: behind a website's rules, what names the website and what they left of the request's.
func (d *decision) lookupPath() string {
	page := d.page()
	if page == nil {
		return d.path
	}
	start := page.SitePath()
	switch {
	case start == "":
		return "/" + page.Rest
	case page.Rest == "":
		return "/" + start
	}
	return "/" + start + "/" + page.Rest
}

// settles reports that a URL of the same website brings its visitors to no further canonical URL.
func (d *decision) settles(u string) bool {
	parsed, err := rules.ParseURL(u)
	if err != nil {
		return false
	}
	host, website, ok := d.sites.Find(parsed.Host)
	if !ok || website == nil {
		return false
	}
	m, ok := website.Match(parsed, host)
	return ok && !m.Conflict
}

// onHost is the Location for a path, with query and fragment, among the website's links; ok is false for what no request can reach, and for
// the path that was asked for.
func (d *decision) onHost(location string) (onHost string, ok bool) {
	path, fragment, hasFragment := strings.Cut(location, "#")
	path, query, _ := strings.Cut(path, "?")
	path, ok = d.onSite(path)
	if !ok || path == d.path {
		return "", false
	}
	location = withQuery(withQuery(resolve.LocalLocation(path), query), d.options)
	if hasFragment {
		location += "#" + fragment
	}
	return location, true
}

// onSite is a path among the website's links as a path of the request's host: with the options that the request's path had in front. ok is
// false for a path outside of the website's start path: requests for it would be for another website.
func (d *decision) onSite(path string) (onHost string, ok bool) {
	page := d.page()
	if page == nil {
		return path, true
	}
	rest := path
	if start := page.SitePath(); start != "" {
		if rest, ok = strings.CutPrefix(path, "/"+start); !ok || rest != "" && rest[0] != '/' {
			return "", false
		}
	}
	front, ok := strings.CutSuffix(d.path, page.Rest)
	if !ok { // The rules have taken something from its end: a suffix that names a language.
		front = "/" + strings.Join(page.Start, "/")
	}
	return cmp.Or(strings.TrimSuffix(front, "/")+rest, "/"), true
}

// isSelf reports that a destination is the address that was asked for, whatever its scheme, port and query.
func (d *decision) isSelf(destination string) bool {
	_, rest, _ := strings.Cut(destination, "://")
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	i := strings.IndexByte(rest, '/')
	return i >= 0 && rest[i:] == d.path && hostName(rest[:i]) == d.host
}

// ruleset is where the links of this request are. A website without the parts that may be left out is the same website (RULINGS B22).
func (d *decision) ruleset(store *links.Store) *ruleset {
	s := &ruleset{store: store, domain: d.domain, anyCase: d.anyCase()}
	if d.site != nil {
		s.domain, s.lowerToo = d.site.host.Website, true
		if d.site.host.Bare != s.domain {
			s.other = d.site.host.Bare
		}
	}
	return s
}

// variables gives destinations the values of the rules' variables; nil without rules.
func (d *decision) variables() func(string) (string, bool) {
	if page := d.page(); page != nil {
		return page.Variable
	}
	return nil
}

// follow takes over what resolving found out on its way, whatever its end.
func (d *decision) follow(s *ruleset, r *resolve.Result) {
	d.hops, d.chain = r.Hops, r.Chain
	if r.First.Value != nil {
		d.domain, d.key, d.linkRev = s.first, r.First.Key, r.First.Revision
	}
}

// miss reports that the visitor got no link. An inactive link counts as one, too, or the limit would tell it from an unknown one.
func (d *decision) miss() bool {
	switch d.outcome {
	case linkfoldv1.Outcome_OUTCOME_NOT_FOUND, linkfoldv1.Outcome_OUTCOME_INACTIVE, linkfoldv1.Outcome_OUTCOME_UNRESOLVABLE,
		linkfoldv1.Outcome_OUTCOME_UNKNOWN_DOMAIN, linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE, linkfoldv1.Outcome_OUTCOME_UNKNOWN_QUERY:
		return true
	}
	return false
}

// answer is step 8. What is no link is answered alike, whether it is unknown, inactive or broken.
func (d *decision) answer() answer {
	a := answer{outcome: d.outcome, status: d.status, location: d.location}
	switch d.outcome {
	case linkfoldv1.Outcome_OUTCOME_REDIRECTED:
		if page := d.page(); page != nil && page.HasOfficial {
			a.canonical = page.Canonical()
		}
	case linkfoldv1.Outcome_OUTCOME_NOT_FOUND, linkfoldv1.Outcome_OUTCOME_INACTIVE, linkfoldv1.Outcome_OUTCOME_UNRESOLVABLE:
		if fallback := d.config.GetFallback(); fallback != "" {
			a.status, a.location = 302, fallback
		}
	case linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE:
		a.suggested = d.config.GetDefaultWebsite()
	case linkfoldv1.Outcome_OUTCOME_UNAVAILABLE:
		a.retryAfter = time.Second
	}
	return a
}

// anyCase reports a QR domain, where the case of a path does not count, but tells a scan from a click: symbols carry the upper-case form of a
// URL, people get the lower-case one (DESIGN.md §9).
func (d *decision) anyCase() bool {
	return d.config.GetGenerator() == linkfoldv1.Generator_GENERATOR_QR
}

// describe writes into the hit what rules and resolution found out.
func (d *decision) describe(hit *linkfoldv1.Hit) {
	hit.Source, hit.Hops, hit.Detail = max(d.source, linkfoldv1.Source_SOURCE_LINK), uint32(d.hops), d.detail
	for _, m := range d.chain[:min(len(d.chain), maxChain)] {
		hit.Chain = append(hit.Chain, &linkfoldv1.Hop{Key: m.Key, LinkRev: m.Revision})
	}
	hit.Website, hit.Rule = d.website(), d.rule()
	page := d.page()
	if page == nil {
		return
	}
	hit.PageKey, hit.BaseKey = texts(page.PageKey()), texts(page.BaseKey())
	hit.UnknownQuery = texts(page.UnknownQuery)
	if len(page.Options) > 0 {
		hit.Options = make(map[string]string, len(page.Options))
		for _, o := range page.Options {
			hit.Options[o.Name] = text(o.Value, maxOption)
		}
	}
}

// website is the key that the domain rules have given; empty without rules, and when none fits.
func (d *decision) website() string {
	if d.site == nil {
		return ""
	}
	return d.site.host.Website
}

// rule is the name of the rule that decided: the website's, else the domain's.
func (d *decision) rule() string {
	if d.site == nil {
		return ""
	}
	return cmp.Or(d.site.page.Rule, d.site.host.Rule)
}

// Bounds of what a hit says about a request that went a long way.
const (
	maxChain  = 32  // links after the first; hops counts them all
	maxTexts  = 64  // parts of a key tuple, unknown query parameters
	maxOption = 256 // bytes of one of those, or of an option's value
)

func texts(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, 0, min(len(list), maxTexts))
	for _, s := range list[:cap(out)] {
		out = append(out, text(s, maxOption))
	}
	return out
}

// onScheme is an absolute URL with another scheme: who came by https is not sent to http.
func onScheme(u, scheme string) string {
	_, rest, ok := strings.Cut(u, "://")
	if !ok {
		return u
	}
	return scheme + "://" + rest
}

// withQuery is a URL with further parameters.
func withQuery(u, query string) string {
	switch {
	case query == "":
		return u
	case strings.Contains(u, "?"):
		return u + "&" + query
	}
	return u + "?" + query
}
