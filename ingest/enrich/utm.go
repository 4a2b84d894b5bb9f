package enrich

import (
	"net/url"
	"strings"

	"linkfold/schema/clickhouse"
	"linkfold/schema/linkfoldv1"
)

// UTM fills in the campaign parameters: from the query of the request, because that is what this visitor came with, and
// each one that is not there from the destination, because that is how campaigns are usually tagged.
func UTM(h *linkfoldv1.Hit, e *clickhouse.Enrichment) {
	utm(h.GetQuery(), e)
	if _, query, ok := strings.Cut(h.GetDestination(), "?"); ok {
		query, _, _ = strings.Cut(query, "#")
		utm(query, e)
	}
}

// utm fills the fields that are still empty; the first value of a name counts. A value that cannot be unescaped is
// taken as it stands.
func utm(query string, e *clickhouse.Enrichment) {
	if !strings.Contains(query, "utm_") { // almost all queries
		return
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		field := utmField(name, e)
		if field == nil || *field != "" {
			continue
		}
		if v, err := url.QueryUnescape(value); err == nil {
			value = v
		}
		*field = strings.ToValidUTF8(value, "\uFFFD")
	}
}

func utmField(name string, e *clickhouse.Enrichment) *string {
	switch name {
	case "utm_source":
		return &e.UTMSource
	case "utm_medium":
		return &e.UTMMedium
	case "utm_campaign":
		return &e.UTMCampaign
	case "utm_term":
		return &e.UTMTerm
	case "utm_content":
		return &e.UTMContent
	}
	return nil
}
