package rules

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Registrable gives the domain that was registered for a host: one label more than its public suffix. ok is false for addresses, for public
// suffixes themselves, and for names below no known suffix, localhost among them (B20).
func Registrable(host string) (domain string, ok bool) {
	host = lowered(host)
	if host == "" || strings.HasPrefix(host, "[") {
		return "", false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", false
	}
	suffix, official := publicsuffix.PublicSuffix(host)
	// The list's last rule is "*": an unknown last label counts as a suffix that nobody vouches for.
	if !official && !strings.Contains(suffix, ".") {
		return "", false
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	return domain, err == nil
}
