package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// setSite puts together which website the URL belongs to: the groups and websites of path and query (B5).
func (m *Match) setSite() {
	if m.rule != nil {
		m.path = m.sitePath()
		m.siteQuery = m.joinQuery(m.siteParameters())
	}
	if m.path != "" {
		m.Start = strings.Split(m.path, "/")
	}
	m.SiteKey = m.siteKey()
}

func (m *Match) siteKey() string {
	var buffer [512]byte
	key := append(append(buffer[:0], m.url.Scheme...), "://"...)
	key = append(key, m.Website...)
	if port := m.url.port(); port != defaultPort(m.url.Scheme) {
		key = strconv.AppendInt(append(key, ':'), int64(port), 10)
	}
	key = append(append(key, '/'), m.path...)
	if m.siteQuery != "" {
		key = append(append(key, '?'), m.siteQuery...)
	}
	return string(key)
}

// sitePath joins the path's groups and websites, with "/" unless they were glued.
func (m *Match) sitePath() string {
	var path pathJoiner
	path.glued = m.glued
	for _, i := range m.rule.at[inPath] {
		v := &m.rule.vars[i]
		switch {
		case v.group():
			path.add(m.found[i].raw)
		case v.website():
			path.add(escapePath(v.second))
		}
	}
	return path.String()
}

// pathJoiner joins texts of path variables into a path without "/" at its end.
type pathJoiner struct {
	glued bool
	text  string
}

func (p *pathJoiner) add(text string) {
	if !p.glued {
		text = strings.TrimSuffix(text, "/")
		if text != "" && p.text != "" {
			p.text += "/"
		}
	}
	p.text += text
}

func (p *pathJoiner) String() string { return strings.TrimSuffix(p.text, "/") }

// siteParameters are the query's groups and websites, sorted by name.
func (m *Match) siteParameters() []pair {
	var all []pair
	for _, i := range m.rule.at[inQuery] {
		v, f := &m.rule.vars[i], &m.found[i]
		switch {
		case v.website():
			all = append(all, pair{v.name, v.second})
		case v.group() && f.ok:
			all = append(all, pair{v.name, f.value})
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(a.name, b.name) })
	return all
}

func (m *Match) joinQuery(pairs []pair) string {
	var b strings.Builder
	for _, p := range pairs {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(escapeQuery(p.name))
		b.WriteByte('=')
		b.WriteString(escapeQuery(p.value))
	}
	return b.String()
}

// PageKey is the key tuple of the page: "N", domain, website sub-domain ("" when it may be left out), start path segments, and the segments of
// the rest (seed, "Query"; B22).
func (m *Match) PageKey() []string {
	key := m.tuple("N")
	if m.Rest != "" {
		key = append(key, strings.Split(m.Rest, "/")...)
	}
	return key
}

// BaseKey is the key tuple of the website: "B", domain, sub-domain, start path segments (B22).
func (m *Match) BaseKey() []string { return m.tuple("B") }

func (m *Match) tuple(tag string) []string {
	d := &m.domain
	sub := strings.TrimSuffix(strings.TrimSuffix(d.Bare, d.domain), ".")
	key := append(make([]string, 0, 8), tag, d.domain, sub)
	key = append(key, m.Start...)
	if m.siteQuery != "" {
		key = append(key, strings.Split(m.siteQuery, "&")...)
	}
	return key
}

// SitePath is what tells the website's pages from those of other websites of its sub-domain, as a path: what stands in the tuples between the
// sub-domain and the rest. Empty for most.
func (m *Match) SitePath() string {
	if len(m.Start) == 0 && m.siteQuery == "" {
		return ""
	}
	return strings.Join(m.tuple("")[3:], "/")
}
