package enrich

import (
	"strings"

	"linkfold/schema/clickhouse"
	"linkfold/schema/linkfoldv1"
)

// Referrer fills in the host of the referring page: lower case, without port, credentials, a final dot and a leading
// "www.". Referrers that are not URLs with a host (android-app: ones are) give an empty host.
func Referrer(h *linkfoldv1.Hit, e *clickhouse.Enrichment) { e.ReferrerHost = hostOf(h.GetReferrer()) }

// hostOf is not net/url: a referrer is client-controlled, often malformed, and only the host is wanted.
func hostOf(ref string) string {
	_, rest, ok := strings.Cut(ref, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	host := strings.TrimSuffix(strings.ToLower(withoutPort(rest)), ".")
	if strings.ContainsAny(host, " \t\r\n\"<>") {
		return ""
	}
	return strings.TrimPrefix(host, "www.")
}

func withoutPort(host string) string {
	if strings.HasPrefix(host, "[") { // IPv6 literal
		if i := strings.IndexByte(host, ']'); i >= 0 {
			return host[:i+1]
		}
		return ""
	}
	if i := strings.IndexByte(host, ':'); i >= 0 {
		return host[:i]
	}
	return host
}
