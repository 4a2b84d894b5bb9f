package stream

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Subject prefixes. One subject per aggregate, so that optimistic concurrency, "last event" reads and time travel all work
// per link (DESIGN.md §3).
const (
	linkPrefix   = "lf.link."
	domainPrefix = "lf.domain."
	hitPrefix    = "lf.hit."
	ledgerPrefix = "lf.ledger."
)

// ErrSubject is wrapped by every error about a subject that is not one of ours.
var ErrSubject = errors.New("not a linkfold subject")

// LinkSubject is the subject of the link (domain, key).
func LinkSubject(domain, key string) string {
	return linkPrefix + EscapeToken(domain) + "." + EscapeToken(key)
}

// LinksOf is the subject filter of all links on a domain.
func LinksOf(domain string) string { return linkPrefix + EscapeToken(domain) + ".*" }

// DomainSubject is the subject of a domain's configuration.
func DomainSubject(domain string) string { return domainPrefix + EscapeToken(domain) }

// HitSubject is the one subject of HITS partition p.
func HitSubject(p int) string { return fmt.Sprintf("%s%d", hitPrefix, p) }

// LedgerSubject is the subject of one redirector instance's totals.
func LedgerSubject(redirector string) string { return ledgerPrefix + EscapeToken(redirector) }

// Aggregate names what a LINKS subject speaks of. Key is empty for a domain.
type Aggregate struct {
	Kind   Kind
	Domain string
	Key    string
}

// Kind is the type of an aggregate; it is also the letter in the Redis key (see package projection).
type Kind byte

// The kinds of aggregate in LINKS.
const (
	KindLink   Kind = 'l'
	KindDomain Kind = 'd'
)

// LinkAggregate names the link (domain, key).
func LinkAggregate(domain, key string) Aggregate {
	return Aggregate{Kind: KindLink, Domain: domain, Key: key}
}

// DomainAggregate names the domain.
func DomainAggregate(domain string) Aggregate { return Aggregate{Kind: KindDomain, Domain: domain} }

// Subject is the aggregate's subject in LINKS.
func (a Aggregate) Subject() string {
	if a.Kind == KindDomain {
		return DomainSubject(a.Domain)
	}
	return LinkSubject(a.Domain, a.Key)
}

// ParseSubject is the inverse of Aggregate.Subject; the error wraps ErrSubject.
func ParseSubject(subject string) (Aggregate, error) {
	switch {
	case strings.HasPrefix(subject, linkPrefix):
		d, k, ok := strings.Cut(subject[len(linkPrefix):], ".")
		if !ok {
			return Aggregate{}, fmt.Errorf("parse %q: %w", subject, ErrSubject)
		}
		domain, err1 := UnescapeToken(d)
		key, err2 := UnescapeToken(k)
		if err := errors.Join(err1, err2); err != nil {
			return Aggregate{}, fmt.Errorf("parse %q: %w", subject, err)
		}
		return LinkAggregate(domain, key), nil
	case strings.HasPrefix(subject, domainPrefix):
		domain, err := UnescapeToken(subject[len(domainPrefix):])
		if err != nil {
			return Aggregate{}, fmt.Errorf("parse %q: %w", subject, err)
		}
		return DomainAggregate(domain), nil
	}
	return Aggregate{}, fmt.Errorf("parse %q: %w", subject, ErrSubject)
}

const upperHex = "0123456789ABCDEF"

// EscapeToken makes one legal subject token of any byte string: ASCII letters, digits, "-" and "_" stand for themselves,
// every other byte is "=" and two upper-case hex digits, and the empty string is "=" alone. The result is unique per input.
func EscapeToken(s string) string {
	if s == "" {
		return "="
	}
	n := 0
	for i := 0; i < len(s); i++ {
		if !plain(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := 0; i < len(s); i++ {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

// UnescapeToken is the inverse of EscapeToken. It refuses every spelling that EscapeToken would not have written, so that
// two subjects never name one aggregate; the error wraps ErrSubject.
func UnescapeToken(token string) (string, error) {
	if token == "=" {
		return "", nil
	}
	b := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		if token[i] != '=' {
			b = append(b, token[i])
			continue
		}
		if i+2 >= len(token) {
			return "", fmt.Errorf("token %q is cut short: %w", token, ErrSubject)
		}
		d, err := hex.DecodeString(token[i+1 : i+3])
		if err != nil {
			return "", fmt.Errorf("token %q has a bad escape: %w", token, ErrSubject)
		}
		b = append(b, d[0])
		i += 2
	}
	if s := string(b); s != "" && EscapeToken(s) == token {
		return s, nil
	}
	return "", fmt.Errorf("token %q is not canonical: %w", token, ErrSubject)
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
