package rules

import (
	"slices"
	"strconv"
)

// Canonical is the one URL that search engines are to know the page by: every variable at its official place, and each once (seed, "URL
// Canonicalization"; B13, B17, B18). Allowed and unknown query parameters are no part of it.
//
// It is only given where asking for it gives the same answer as the request: the same website, rest and options, and the same canonical URL.
// Where rules do not allow that, the request itself, without query parameters that mean nothing, is its canonical URL.
func (m *Match) Canonical() string {
	if u, ok := m.settled(); ok {
		return u.String()
	}
	return m.asGiven().String()
}

// settleConflict sets Conflict where the canonical URL resolves it; elsewhere a redirect would come back.
func (m *Match) settleConflict() {
	u, ok := m.settled()
	m.Conflict = ok && u.String() != m.url.String()
}

// settled is the canonical URL if asking for it gives the same answer.
func (m *Match) settled() (URL, bool) {
	u := m.official()
	if u.String() == m.url.String() {
		return u, !m.conflict
	}
	again := Match{site: m.site, url: u}
	if again.domain = m.domain; m.domain.rules != nil {
		var ok bool
		if again.domain, ok = m.domain.rules.Domain(m.domain.domain, u.Host); !ok || !hostText(u.Host) {
			return u, false
		}
	}
	again.Website = again.domain.Website
	if !again.find() || again.conflict || len(again.UnknownQuery) > 0 {
		return u, false
	}
	same := again.Website == m.Website && again.path == m.path && again.siteQuery == m.siteQuery && again.Rest == m.Rest &&
		slices.Equal(again.Options, m.Options)
	return u, same && again.official().String() == u.String()
}

// asGiven is the request without the query parameters that no rule has taken.
func (m *Match) asGiven() URL {
	u := m.url
	u.Host, u.Port = m.host(u.Host), m.portFor(u.Scheme)
	var taken []pair
	read := map[int]bool{}
	for _, p := range m.query {
		if m.rule == nil {
			break
		}
		if i, ok := m.rule.query.variables[p.name]; ok {
			if !read[i] && m.found[i].ok {
				taken = append(taken, p)
			}
			read[i] = true
		}
	}
	u.Query = m.joinQuery(taken)
	return u
}

// host is the host of a canonical URL: a website key that was given stands for its host.
func (m *Match) host(host string) string {
	if m.domain.rules == nil {
		return m.Website
	}
	return lowered(host)
}

// official writes the URL with every variable at its official place.
func (m *Match) official() URL {
	all := m.held()
	u := URL{Scheme: m.canonicalScheme(), Host: m.officialHost(all)}
	u.Port = m.portFor(u.Scheme)
	u.Path = m.officialPath(all)
	u.Query = m.joinQuery(m.officialQuery(all))
	return u
}

// canonicalScheme is http unless the rule admits only https (B13), or admits http on other ports only.
func (m *Match) canonicalScheme() string {
	r := m.rule
	if r == nil || r.admits("http") && (r.port == nil || r.port.MatchString(strconv.Itoa(URL{Scheme: "http", Port: m.portFor("http")}.port()))) {
		return "http"
	}
	if r.admits("https") && m.url.Scheme != "http" {
		return "https"
	}
	return m.url.Scheme
}

// portFor is the request's port in a URL of another scheme; 0 for the default of either.
func (m *Match) portFor(scheme string) int {
	if m.url.Port == defaultPort(m.url.Scheme) || scheme != m.url.Scheme && m.url.Port == defaultPort(scheme) {
		return 0
	}
	return m.url.Port
}

func (m *Match) officialHost(all []held) string {
	if m.domain.rules == nil {
		return m.Website
	}
	var sub []byte
	for i := range all {
		if all[i].place == inSubdomain {
			sub = append(sub, m.write(all, &all[i])...)
		}
	}
	return hostOf(sub, m.domain.domain)
}

// officialPath ends with "/" where nothing is left of the path (B18).
func (m *Match) officialPath(all []held) string {
	path := pathJoiner{glued: m.glued}
	for i := range all {
		if all[i].place == inPath {
			path.add(m.write(all, &all[i]))
		}
	}
	text := path.String()
	if text == "" {
		return "/" + m.writeRest(all)
	}
	return "/" + text + "/" + m.writeRest(all)
}

// String writes the URL.
func (u URL) String() string {
	var buffer [512]byte
	b := append(append(append(buffer[:0], u.Scheme...), "://"...), u.Host...)
	if u.Port != 0 {
		b = strconv.AppendInt(append(b, ':'), int64(u.Port), 10)
	}
	b = append(b, u.Path...)
	if u.Query != "" {
		b = append(append(b, '?'), u.Query...)
	}
	return string(b)
}
