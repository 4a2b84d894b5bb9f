package visitor

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"linkfold/schema/linkfoldv1"
)

const (
	unset  = linkfoldv1.Tracking_TRACKING_UNSPECIFIED
	cookie = linkfoldv1.Tracking_TRACKING_COOKIE
	hash   = linkfoldv1.Tracking_TRACKING_HASH
	none   = linkfoldv1.Tracking_TRACKING_NONE
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		domain linkfoldv1.Tracking
		gpc    bool
		want   linkfoldv1.Tracking
	}{
		{unset, false, cookie}, {unset, true, hash}, {cookie, false, cookie}, {cookie, true, hash},
		{hash, false, hash}, {hash, true, hash}, {none, false, none}, {none, true, none},
	} {
		if got := Policy(c.domain, c.gpc); got != c.want {
			t.Errorf("Policy(%v, %v) = %v, want %v", c.domain, c.gpc, got, c.want)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	salt, other := newSalt(), newSalt()
	now := time.UnixMilli(1331923247123)
	ip := netip.MustParseAddr("192.0.2.7")
	first := Identify(cookie, salt, "", ip, "agent", now)
	if !ValidCookie(first.CookieID) || !strings.HasPrefix(first.CookieID, "1331923247123") || first.Day == 0 {
		t.Errorf("first visit: %+v", first)
	}
	elsewhere := netip.MustParseAddr("192.0.2.8")
	if again := Identify(cookie, salt, first.CookieID, elsewhere, "other", now); again != first {
		t.Errorf("with the cookie: %+v, want %+v", again, first)
	}
	if v := Identify(cookie, other, first.CookieID, ip, "agent", now); v.Day == first.Day {
		t.Error("the day hash does not depend on the salt")
	}
	if v := Identify(cookie, other, "", ip, "agent", now); v.CookieID == first.CookieID {
		t.Error("the cookie tells the address to whoever tries all of them")
	}
	hashed := Identify(hash, salt, first.CookieID, ip, "agent", now)
	if hashed.CookieID != "" || hashed.Day == 0 || hashed.Day == first.Day {
		t.Errorf("hash policy: %+v", hashed)
	}
	if v := Identify(hash, salt, "", elsewhere, "agent", now); v.Day == hashed.Day {
		t.Error("two addresses are one visitor")
	}
	if v := Identify(none, salt, first.CookieID, ip, "agent", now); v != (Visitor{Policy: none}) {
		t.Errorf("none policy: %+v", v)
	}
}

func TestValidCookie(t *testing.T) {
	t.Parallel()
	good := "1331923247123" + strings.Repeat("0f", 16)
	if !ValidCookie(good) {
		t.Error(good)
	}
	for _, bad := range []string{
		"", good[1:], good + "0", strings.ToUpper(good), "x" + good[1:], good[:44] + "\n", good[:44] + ";", good[:12] + "a" + good[13:], good[:43] + "é",
	} {
		if ValidCookie(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.1", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"203.0.113.9", "198.51.100.1", "203.0.113.9"}, // Not a proxy: the header is the client's own.
		{"10.1.1.1", "", "10.1.1.1"},
		{"10.1.1.1", "198.51.100.1", "198.51.100.1"},
		{"::ffff:10.1.1.1", "198.51.100.1", "198.51.100.1"},
		{"10.1.1.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"},
		{"10.1.1.1", "6.6.6.6, 198.51.100.1 , 192.0.2.1,10.2.2.2", "198.51.100.1"},
		{"10.1.1.1", "10.9.9.9", "10.9.9.9"},
		{"10.1.1.1", "unknown", "10.1.1.1"},
		{"10.1.1.1", "198.51.100.1, unknown", "10.1.1.1"},
		{"10.1.1.1", "198.51.100.1,", "10.1.1.1"},
		{"10.1.1.1", "198.51.100.1:4711", "198.51.100.1"},
		{"10.1.1.1", "[2001:db9::1]:4711", "2001:db9::1"},
		{"10.1.1.1", "[2001:db9::1]", "2001:db9::1"},
		{"2001:db8::5", "::ffff:198.51.100.1", "198.51.100.1"},
		{"10.1.1.1", "fe80::1%x OK evil", "fe80::1"},
		{"10.1.1.1", "[fe80::1%x OK evil]:80", "fe80::1"},
	} {
		if got := proxies.ClientAddress(netip.MustParseAddr(c.peer), c.forwarded); got.String() != c.want {
			t.Errorf("peer %s, X-Forwarded-For %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
	if got := proxies.ClientAddress(netip.Addr{}, "198.51.100.1"); got.IsValid() {
		t.Errorf("unknown peer: %s", got)
	}
	for _, bad := range []string{"", "10.0.0.0/33", "proxy.example", "10.0.0"} {
		if _, err := ParseProxies([]string{bad}); err == nil {
			t.Errorf("trusted proxy %q is accepted", bad)
		}
	}
}

// The hash written out is crypto/hmac's, for short and long texts.
func TestHashIsHMAC(t *testing.T) {
	t.Parallel()
	salt := Salt{1, 2, 3}
	for _, agent := range []string{"", "Mozilla/5.0", strings.Repeat("x", 5000)} {
		m := hmac.New(sha256.New, salt[:])
		m.Write([]byte("a\x00\x00\x00\x04abcd"))
		m.Write(binary.BigEndian.AppendUint32(nil, uint32(len(agent))))
		m.Write([]byte(agent))
		if got := salt.hash('a', "abcd", agent); !bytes.Equal(got[:], m.Sum(nil)) {
			t.Errorf("hash of %d bytes of agent differs from crypto/hmac", len(agent))
		}
	}
}
