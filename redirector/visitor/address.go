package visitor

import (
	"fmt"
	"net/netip"
	"strings"
)

// Proxies are the networks whose X-Forwarded-For is believed.
type Proxies []netip.Prefix

// ParseProxies reads addresses and CIDR networks.
func ParseProxies(list []string) (Proxies, error) {
	var out Proxies
	for _, s := range list {
		if addr, err := netip.ParseAddr(s); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q: give an address or a network such as 10.0.0.0/8", s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Scheme is the scheme that the visitor used: what the trusted proxy at peer says in X-Forwarded-Proto, else http, since this service speaks
// nothing else. Of a list the last entry counts, for the reason that ClientAddress gives.
func (p Proxies) Scheme(peer netip.Addr, forwarded string) string {
	if forwarded == "" || !p.contain(peer.Unmap()) {
		return "http"
	}
	last := strings.TrimSpace(forwarded[strings.LastIndexByte(forwarded, ',')+1:])
	if strings.EqualFold(last, "https") {
		return "https"
	}
	return "http"
}

func (p Proxies) contain(a netip.Addr) bool {
	for _, n := range p {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// ClientAddress is the visitor's address: the peer's, or, while that is a trusted proxy, the last address of X-Forwarded-For that is not one.
// What a client wrote further left is never believed. forwarded is the header's value, several headers joined by commas.
func (p Proxies) ClientAddress(peer netip.Addr, forwarded string) netip.Addr {
	addr := peer.Unmap()
	for forwarded != "" && p.contain(addr) {
		var last string
		if i := strings.LastIndexByte(forwarded, ','); i >= 0 {
			forwarded, last = forwarded[:i], forwarded[i+1:]
		} else {
			forwarded, last = "", forwarded
		}
		next, err := parseHop(strings.TrimSpace(last))
		if err != nil {
			return addr // A proxy that we trust wrote something else than an address: stop at what is known.
		}
		addr = next
	}
	return addr
}

// parseHop reads an address with or without a port. A zone is cut off: it may be any text, and means nothing on this machine.
func parseHop(s string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a.Unmap().WithZone(""), nil
	}
	ap, err := netip.ParseAddrPort(s)
	return ap.Addr().Unmap().WithZone(""), err
}
