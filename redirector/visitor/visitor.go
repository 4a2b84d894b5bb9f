// Package visitor decides what may be remembered about the person behind a request, and computes it: client address, tracking
// cookie, and the hash that tells visitors of one day apart (DESIGN.md §2, 0x1F outline "Tracking", RULINGS D0).
package visitor

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
	"time"

	"linkfold/schema/linkfoldv1"
)

// CookieName is the tracking cookie's name, CookieAge its life in seconds; both are those of the original service.
const (
	CookieName = "0x1f"
	CookieAge  = 900
)

// Visitor is what one request may remember.
type Visitor struct {
	// Policy is the domain's, after Sec-GPC.
	Policy linkfoldv1.Tracking
	// CookieID is the id to echo in the tracking cookie; empty unless the policy is cookie.
	CookieID string
	// Day is the visitor hash of this day; 0 when the policy is none.
	Day uint64
}

// Policy is a domain's policy as it applies to a request: unset means cookie, and Global Privacy Control never gets more than hash.
func Policy(domain linkfoldv1.Tracking, gpc bool) linkfoldv1.Tracking {
	if domain == linkfoldv1.Tracking_TRACKING_UNSPECIFIED {
		domain = linkfoldv1.Tracking_TRACKING_COOKIE
	}
	if gpc && domain == linkfoldv1.Tracking_TRACKING_COOKIE {
		return linkfoldv1.Tracking_TRACKING_HASH
	}
	return domain
}

// Identify applies a policy. cookie is what the client sent: it is echoed when it is an id that we could have made, and replaced when it is
// not, because the client controls it.
func Identify(policy linkfoldv1.Tracking, salt *Salt, cookie string, ip netip.Addr, userAgent string, now time.Time) Visitor {
	v := Visitor{Policy: policy}
	switch policy {
	case linkfoldv1.Tracking_TRACKING_COOKIE:
		if v.CookieID = cookie; !ValidCookie(cookie) {
			v.CookieID = newCookie(salt, ip, userAgent, now)
		}
		sum := salt.hash('c', v.CookieID)
		v.Day = binary.BigEndian.Uint64(sum[:])
	case linkfoldv1.Tracking_TRACKING_HASH:
		sum := salt.hash('a', string(ip.AsSlice()), userAgent)
		v.Day = binary.BigEndian.Uint64(sum[:])
	}
	return v
}

// newCookie is the id of a first visit: milliseconds since the epoch, then 128 bits of a hash of address and agent in hexadecimal. The hash
// is salted, so that the address cannot be found by trying all of them.
func newCookie(salt *Salt, ip netip.Addr, userAgent string, now time.Time) string {
	sum := salt.hash('i', string(ip.AsSlice()), userAgent)
	b := make([]byte, 0, 13+32)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	return string(hex.AppendEncode(b, sum[:16]))
}

// ValidCookie reports whether s has the form of an id made here: 13 digits and 32 lower-case hexadecimal digits.
func ValidCookie(s string) bool {
	if len(s) != 13+32 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || i >= 13 && c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

// Salt is the secret of one day. Without it, a visitor hash cannot be computed again.
type Salt [32]byte

// hash is HMAC-SHA-256 over the purpose and the length-prefixed parts. It is written out (RFC 2104) because every request needs one or two
// of them: crypto/hmac costs three allocations each. A test compares the two.
func (s *Salt) hash(purpose byte, parts ...string) [sha256.Size]byte {
	var space [512]byte
	b := append(s.pad(space[:0], 0x36), purpose)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	inner := sha256.Sum256(b)
	return sha256.Sum256(append(s.pad(b[:0], 0x5c), inner[:]...))
}

// pad is one block of the key, each byte changed.
func (s *Salt) pad(b []byte, with byte) []byte {
	for _, k := range s {
		b = append(b, k^with)
	}
	for range sha256.BlockSize - len(s) {
		b = append(b, with)
	}
	return b
}
