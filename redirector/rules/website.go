package rules

import (
	"strconv"
	"strings"
)

// Match is what a website's rules say about a URL.
type Match struct {
	Rule    string // name of the website rule that matched; "" for a website without rules
	Website string // website key
	SiteKey string // scheme://website-key[:port]/start?query: what tells websites apart
	Rest    string // of the path, without the leading "/": what the page is found by
	Start   []string
	Options Options // of domain and website rules together
	// Known are the query parameters that rules have taken, as the request spells them; they are not for the destination.
	Known []string
	// UnknownQuery are the query parameters that neither a rule nor the allow-list knows, or whose value no rule takes (B16), in the order of
	// the request, each once.
	UnknownQuery []string
	// Conflict tells that one variable stands at several places with different values, and that Canonical settles it: redirect there (B17).
	Conflict bool
	// HasOfficial tells whether the rules that matched define an official position, so that the canonical URL is worth telling.
	HasOfficial bool

	site      *Site
	domain    DomainMatch
	url       URL
	rule      *rule // nil: a website without rules
	found     []found
	query     []pair
	glued     bool   // the variables of the path share segments
	whole     string // rest of the path with its extensions
	path      string // the start path as text
	siteQuery string
	conflict  bool // values differ, settled or not
}

// Match matches a URL against the website's rules, in their order; the first whose protocol, port, query and path all fit wins (B12, B13, B15,
// B21). d is what the domain's rules said about the host. ok is false when no rule matches.
func (s *Site) Match(u URL, d DomainMatch) (Match, bool) {
	m := Match{site: s, domain: d, url: u, Website: d.Website}
	if !m.find() {
		return Match{}, false
	}
	if m.conflict {
		m.settleConflict()
	}
	return m, true
}

// find fills in everything but Conflict.
func (m *Match) find() bool {
	m.query = parseQuery(m.url.Query)
	m.Rest = strings.TrimPrefix(m.url.Path, "/")
	if m.site != nil && m.site.rules != nil && !m.findRule() {
		return false
	}
	m.HasOfficial = m.domain.HasOfficial() || m.rule != nil && m.rule.official
	m.readParameters()
	m.setSite()
	m.setOptions()
	return true
}

func (m *Match) findRule() bool {
	port := strconv.Itoa(m.url.port())
	for _, r := range m.site.rules.rules {
		if !r.admits(m.url.Scheme) || r.port != nil && !r.port.MatchString(port) {
			continue
		}
		found := make([]found, len(r.vars))
		if r.takeQuery(found, m.query) && m.takePath(r, found) && m.takeExtension(r, found) {
			m.rule, m.Rule, m.found = r, r.name, found
			return true
		}
		m.Rest, m.glued = strings.TrimPrefix(m.url.Path, "/"), false
	}
	return false
}

// takePath matches the path's variables and leaves the rest. The path is matched as if it ended with "/", so that every segment does.
func (m *Match) takePath(r *rule, found []found) bool {
	if len(r.patterns) == 0 {
		return true
	}
	path := m.Rest
	if len(path) > m.site.rules.input {
		return false
	}
	whole := path
	if whole != "" && !strings.HasSuffix(whole, "/") {
		whole += "/"
	}
	for mode, pattern := range r.patterns {
		at := pattern.FindStringSubmatchIndex(whole)
		if at == nil {
			continue
		}
		for n, i := range r.at[inPath] {
			raw := ""
			if from, to := at[2*n+2], at[2*n+3]; from >= 0 {
				raw = whole[from:to]
			}
			found[i].take(&r.vars[i], raw, "/")
		}
		m.glued = mode > 0
		m.Rest = path[min(at[1], len(path)):]
		return true
	}
	return false
}

// indexes are the pages that a directory stands for.
var indexes = map[string]bool{"index.html": true, "index.htm": true, "index.php": true}

// takeExtension takes extensions off the last segment, the last declared first: "index.html.en" leaves "index.html", and since that is the
// directory's own page, nothing (seed, "URL Canonicalization"). "page.es.html" leaves "page.html" (seed, "Path").
func (m *Match) takeExtension(r *rule, found []found) bool {
	m.whole = m.Rest
	extensions := r.at[inExtension]
	taken := false
	for n := len(extensions) - 1; n >= 0; n-- {
		i := extensions[n]
		v := &r.vars[i]
		text, without, ok := cutExtension(m.Rest, v)
		if !ok && v.required {
			return false
		}
		if ok {
			found[i], m.Rest, taken = takenText(text), without, true
		}
	}
	slash := strings.LastIndexByte(m.Rest, '/') + 1
	if taken && indexes[m.Rest[slash:]] {
		m.Rest = m.Rest[:slash]
	}
	return true
}

// takenText is a text found without separators.
func takenText(text string) found { return found{ok: true, raw: text, value: text} }

// cutExtension looks for the last piece of the last segment that v accepts. The first piece is the page's name, no extension.
func cutExtension(rest string, v *variable) (text, without string, ok bool) {
	start := strings.LastIndexByte(rest, '/') + 1
	if len(rest)-start > v.input {
		return "", rest, false
	}
	end := len(rest)
	for end > start {
		dot := strings.LastIndexByte(rest[start:end], '.') + start
		if dot <= start {
			break
		}
		if text = rest[dot+1 : end]; text != "" && v.acceptsExtension(text) {
			return text, rest[:dot] + rest[end:], true
		}
		end = dot
	}
	return "", rest, false
}

// takeQuery matches the query's variables by name: the first value of each counts. A required one must be there and match.
func (r *rule) takeQuery(found []found, query []pair) bool {
	var read uint64 // a bit per variable, of which a rule has at most 32
	if len(r.at[inQuery]) == 0 {
		query = nil
	}
	for _, p := range query[:min(len(query), maxPairs)] {
		i, ok := r.query.variables[p.name]
		if !ok || read>>i&1 == 1 {
			continue
		}
		read |= 1 << i
		if v := &r.vars[i]; v.accepts(p.value) {
			found[i] = takenText(p.value)
			if v.website() {
				found[i].value = v.second
			}
		}
	}
	for _, i := range r.at[inQuery] {
		if r.vars[i].required && !found[i].ok {
			return false
		}
	}
	return true
}

// readParameters sorts the query's names into those that the rule has taken, those that are allowed, and the unknown ones.
func (m *Match) readParameters() {
	if len(m.query) == 0 {
		return
	}
	var known, unknown nameSet
	var read uint64 // a bit per variable, of which a rule has at most 32
	for _, p := range m.query {
		i, declared := 0, false
		if m.rule != nil {
			i, declared = m.rule.query.variables[p.name]
		}
		switch {
		case declared && read>>i&1 == 0 && m.found[i].ok:
			known.add(p.name)
		case declared || !m.site.allows(p.name):
			unknown.add(p.name)
		}
		if declared {
			read |= 1 << i
		}
	}
	m.Known, m.UnknownQuery = known.names, unknown.names
}

// port is the port of the request: one is always defined (B21).
func (u URL) port() int {
	if u.Port == 0 {
		return defaultPort(u.Scheme)
	}
	return u.Port
}

func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}
