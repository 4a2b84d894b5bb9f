package clickhouse

import (
	"math"
	"time"

	"github.com/google/uuid"

	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
)

// Enrichment is what ingest derives from a hit. Version names the chain that did it, so that history can be enriched
// again when the chain improves.
type Enrichment struct {
	Version      uint16
	ReferrerHost string
	UTMSource    string
	UTMMedium    string
	UTMCampaign  string
	UTMTerm      string
	UTMContent   string
}

// HitRows is a block of the hits table.
type HitRows struct {
	seqs
	id                                                     col[uuid.UUID]
	time, streamTime                                       col[time.Time]
	domain, key                                            col[string]
	linkRev                                                col[uint64]
	outcome, method, source, tracking                      col[string]
	status                                                 col[uint16]
	destination, host, path, query, referrer               col[string]
	referrerHost                                           col[string]
	utmSource, utmMedium, utmCampaign, utmTerm, utmContent col[string]
	userAgent, acceptLanguage                              col[string]
	secPurpose, purpose                                    col[string]
	secFetchSite, secFetchMode, secFetchDest, secFetchUser col[string]
	rangeHeader                                            col[string]
	gpc                                                    col[bool]
	latency                                                col[uint32]
	redirector                                             col[string]
	clientIP                                               col[[16]byte]
	cookieID                                               col[string]
	visitorDay                                             col[uint64]
	enrichment                                             col[uint16]
	scheme, website, rule, detail                          col[string]
	options                                                col[map[string]string]
	pageKey, baseKey, unknownQuery, chainKeys              col[[]string]
	chainRevs                                              col[[]uint64]
	hops                                                   col[uint16]
}

// Table implements Rows.
func (r *HitRows) Table() string { return Hits }

// Truncate implements Rows.
func (r *HitRows) Truncate(n int) { truncate(r.columns(), n) }

// IDs are the hit ids of the rows, in the order of the rows. The slice is the block's own.
func (r *HitRows) IDs() []uuid.UUID { return r.id }

// Append adds the row of a hit that is message seq of its stream. This and columns are the one place that says how a
// Hit becomes a row. The hit's strings are kept, the hit itself is not.
func (r *HitRows) Append(seq uint64, streamTime time.Time, h *linkfoldv1.Hit, e *Enrichment) {
	r.seq.add(seq)
	r.id.add(uuidOf(h.GetId()))
	r.time.add(time.UnixMicro(h.GetTimeUs()))
	r.streamTime.add(streamTime)
	r.appendLink(h)
	r.appendRules(h)
	r.appendRequest(h)
	r.appendHints(h.GetHints())
	r.appendEnrichment(e)
	r.latency.add(h.GetLatencyUs())
	r.redirector.add(h.GetRedirector())
	r.clientIP.add(ipv6Of(h.GetPerson().GetClientIp()))
	r.cookieID.add(h.GetPerson().GetCookieId())
	r.visitorDay.add(h.GetVisitorDay())
	r.tracking.add(event.TrackingName(h.GetTracking()))
}

func (r *HitRows) appendLink(h *linkfoldv1.Hit) {
	r.domain.add(h.GetDomain())
	r.key.add(h.GetKey())
	r.linkRev.add(h.GetLinkRev())
	r.outcome.add(event.OutcomeName(h.GetOutcome()))
	r.status.add(uint16(min(h.GetStatus(), math.MaxUint16)))
	r.destination.add(h.GetDestination())
}

// appendRules adds what the rules and the resolution of the request found out; most hits have none of it.
func (r *HitRows) appendRules(h *linkfoldv1.Hit) {
	var keys []string
	var revs []uint64
	for _, hop := range h.GetChain() {
		keys, revs = append(keys, hop.GetKey()), append(revs, hop.GetLinkRev())
	}
	r.chainKeys.add(keys)
	r.chainRevs.add(revs)
	r.hops.add(uint16(min(h.GetHops(), math.MaxUint16)))
	r.detail.add(h.GetDetail())
	r.website.add(h.GetWebsite())
	r.rule.add(h.GetRule())
	r.options.add(h.GetOptions())
	r.pageKey.add(h.GetPageKey())
	r.baseKey.add(h.GetBaseKey())
	r.unknownQuery.add(h.GetUnknownQuery())
}

func (r *HitRows) appendRequest(h *linkfoldv1.Hit) {
	r.method.add(h.GetMethod())
	r.scheme.add(h.GetScheme())
	r.host.add(h.GetHost())
	r.path.add(h.GetPath())
	r.query.add(h.GetQuery())
	r.referrer.add(h.GetReferrer())
	r.userAgent.add(h.GetUserAgent())
	r.acceptLanguage.add(h.GetAcceptLanguage())
	r.source.add(event.SourceName(h.GetSource()))
}

func (r *HitRows) appendHints(f *linkfoldv1.FetchHints) {
	r.secPurpose.add(f.GetSecPurpose())
	r.purpose.add(f.GetPurpose())
	r.secFetchSite.add(f.GetSecFetchSite())
	r.secFetchMode.add(f.GetSecFetchMode())
	r.secFetchDest.add(f.GetSecFetchDest())
	r.secFetchUser.add(f.GetSecFetchUser())
	r.rangeHeader.add(f.GetRange())
	r.gpc.add(f.GetGpc())
}

func (r *HitRows) appendEnrichment(e *Enrichment) {
	r.enrichment.add(e.Version)
	r.referrerHost.add(e.ReferrerHost)
	r.utmSource.add(e.UTMSource)
	r.utmMedium.add(e.UTMMedium)
	r.utmCampaign.add(e.UTMCampaign)
	r.utmTerm.add(e.UTMTerm)
	r.utmContent.add(e.UTMContent)
}

func (r *HitRows) columns() []column {
	return []column{
		{"id", &r.id}, {"time", &r.time}, {"stream_time", &r.streamTime},
		{"domain", &r.domain}, {"key", &r.key}, {"link_rev", &r.linkRev},
		{"outcome", &r.outcome}, {"status", &r.status}, {"method", &r.method},
		{"source", &r.source}, {"tracking", &r.tracking}, {"destination", &r.destination},
		{"host", &r.host}, {"path", &r.path}, {"query", &r.query},
		{"referrer", &r.referrer}, {"referrer_host", &r.referrerHost},
		{"utm_source", &r.utmSource}, {"utm_medium", &r.utmMedium}, {"utm_campaign", &r.utmCampaign},
		{"utm_term", &r.utmTerm}, {"utm_content", &r.utmContent},
		{"user_agent", &r.userAgent}, {"accept_language", &r.acceptLanguage},
		{"sec_purpose", &r.secPurpose}, {"purpose", &r.purpose},
		{"sec_fetch_site", &r.secFetchSite}, {"sec_fetch_mode", &r.secFetchMode},
		{"sec_fetch_dest", &r.secFetchDest}, {"sec_fetch_user", &r.secFetchUser},
		{"range", &r.rangeHeader}, {"gpc", &r.gpc}, {"latency_us", &r.latency},
		{"redirector", &r.redirector}, {"client_ip", &r.clientIP}, {"cookie_id", &r.cookieID},
		{"visitor_day", &r.visitorDay}, {"enrichment", &r.enrichment}, {"_seq", &r.seq},
		{"scheme", &r.scheme}, {"hops", &r.hops}, {"chain_keys", &r.chainKeys}, {"chain_revs", &r.chainRevs}, {"detail", &r.detail},
		{"website", &r.website}, {"rule", &r.rule}, {"options", &r.options}, {"page_key", &r.pageKey}, {"base_key", &r.baseKey},
		{"unknown_query", &r.unknownQuery},
	}
}
