package rules

import (
	"strings"
)

// DomainMatch is what a domain's rules say about a host.
type DomainMatch struct {
	Rule    string  // name of the rule that matched; "" where none was asked
	Website string  // website key: groups and websites, then the domain
	Bare    string  // the website key without the website() parts that may be left out; mostly the same. Both name one website (B22)
	Options Options // variables of the sub-domain alone

	domain  string
	rules   *Rules // nil: the website key was given
	rule    *rule
	found   []found
	lenient bool // matched with dots left out
}

// found is what a URL has at a variable's place.
type found struct {
	ok    bool
	raw   string // as it stands in the URL
	value string // without the trailing separator; the second string of website()
}

// WebsiteKey is the match of a website key that is given rather than found by domain rules.
func WebsiteKey(key string) DomainMatch {
	key = lowered(key)
	domain, ok := Registrable(key)
	if !ok {
		domain = key
	}
	return DomainMatch{Website: key, Bare: key, domain: domain}
}

// SubDomain gives what stands before the domain in a host, with its trailing dot; "" when they are equal. ok is false when the host is not
// below the domain. Letters are lowered in both.
func SubDomain(domain, host string) (sub string, ok bool) {
	domain, host = lowered(domain), lowered(host)
	if host == domain {
		return "", true
	}
	sub, ok = strings.CutSuffix(host, domain)
	return sub, ok && strings.HasSuffix(sub, ".")
}

// lowered is a host name in lower case without the dot of the root, unless it is that dot.
func lowered(host string) string {
	if len(host) > 1 {
		host = strings.TrimSuffix(host, ".")
	}
	return strings.ToLower(host)
}

// Domain matches the sub-domains of a host. Rules are tried in their order, each first as it is written and then with dots left out (B7), and
// the first that matches wins: what stands first counts for more than how exactly it is written.
func (r *Rules) Domain(domain, host string) (DomainMatch, bool) {
	sub, ok := SubDomain(domain, host)
	if !ok || len(sub) > min(r.input, maxHost) {
		return DomainMatch{}, false
	}
	for _, one := range r.rules {
		for i, pattern := range one.patterns {
			if at := pattern.FindStringSubmatchIndex(sub); at != nil {
				m := DomainMatch{Rule: one.name, domain: lowered(domain), rules: r, rule: one, lenient: i > 0}
				m.take(sub, at)
				return m, true
			}
		}
	}
	return DomainMatch{}, false
}

// take fills in a match from the captures of the rule's variables.
func (m *DomainMatch) take(sub string, at []int) {
	vars := m.rule.vars
	m.found = make([]found, len(vars))
	m.Options = make(Options, 0, len(vars))
	for i := range vars {
		f := &m.found[i]
		f.take(&vars[i], sub[at[2*i+2]:at[2*i+3]], ".")
		switch {
		case f.ok:
			m.Options = append(m.Options, Option{vars[i].name, f.value})
		case vars[i].hasSecond:
			m.Options = append(m.Options, Option{vars[i].name, vars[i].second})
		}
	}
	m.Website = m.key(true)
	m.Bare = m.Website
	if m.rule.optional {
		m.Bare = m.key(false)
	}
}

// take notes what stands at a variable's place. An optional variable that has matched nothing is not there (B11).
func (f *found) take(v *variable, raw, separator string) {
	f.ok = raw != "" || v.required
	f.raw = raw
	f.value = strings.TrimSuffix(raw, separator) // B4
	if v.website() {
		f.value = v.second
	}
}

// key puts the website key together: groups as they are, websites as their second string with a dot (B5, B6).
func (m *DomainMatch) key(optional bool) string {
	var buffer [256]byte
	key := buffer[:0]
	for i := range m.rule.vars {
		v := &m.rule.vars[i]
		switch {
		case v.group():
			key = append(key, m.found[i].raw...)
		case v.website() && v.second != "" && (optional || v.required):
			key = append(append(key, v.second...), '.')
		}
	}
	return hostOf(key, m.domain)
}

// hostOf appends the domain to sub-domains that may or may not end with a dot.
func hostOf(sub []byte, domain string) string {
	if len(sub) > 0 && sub[len(sub)-1] == '.' {
		sub = sub[:len(sub)-1]
	}
	if len(sub) == 0 {
		return domain
	}
	return string(append(append(sub, '.'), domain...))
}

// HasOfficial tells whether the rule that matched defines an official position.
func (m *DomainMatch) HasOfficial() bool { return m.rule != nil && m.rule.official }
