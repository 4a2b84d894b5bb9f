package enrich

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"linkfold/schema/clickhouse"
	"linkfold/schema/linkfoldv1"
)

func TestReferrer(t *testing.T) {
	for ref, want := range map[string]string{
		"":                                     "",
		"https://t.co/abc":                     "t.co",
		"http://WWW.Example.COM:8080/a?b#c":    "example.com",
		"https://user:pw@example.com./":        "example.com",
		"https://[2001:db8::1]:443/":           "[2001:db8::1]",
		"https://[broken":                      "",
		"android-app://com.google.android.gm/": "com.google.android.gm",
		"about:blank":                          "",
		"not a url":                            "",
		"https://":                             "",
		"https://bücher.example/x":             "bücher.example",
		"https://evil.example\\@good.example/": "evil.example",
		"https://a b/":                         "",
		"https://example.com?x=https://other/": "example.com",
	} {
		if got := hostOf(ref); got != want {
			t.Errorf("%q: %q, want %q", ref, got, want)
		}
	}
}

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		hit  *linkfoldv1.Hit
		want clickhouse.Enrichment
	}{
		"nothing": {&linkfoldv1.Hit{}, clickhouse.Enrichment{}},
		"request before destination": {
			&linkfoldv1.Hit{Query: "utm_source=poster&utm_source=late", Destination: "https://e.com/?utm_source=mail&utm_medium=email&utm_campaign=a+b%21#utm_term=no"},
			clickhouse.Enrichment{UTMSource: "poster", UTMMedium: "email", UTMCampaign: "a b!"},
		},
		"all": {
			&linkfoldv1.Hit{Query: "x=1&utm_source=s&utm_medium=m&utm_campaign=c&utm_term=t&utm_content=o&utm_id=7", Referrer: "https://t.co/"},
			clickhouse.Enrichment{ReferrerHost: "t.co", UTMSource: "s", UTMMedium: "m", UTMCampaign: "c", UTMTerm: "t", UTMContent: "o"},
		},
		"bad escapes": {
			&linkfoldv1.Hit{Query: "utm_source=%zz&utm_medium=%ff&utm_campaign"},
			clickhouse.Enrichment{UTMSource: "%zz", UTMMedium: "\uFFFD"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Version = Version
			got := clickhouse.Enrichment{UTMTerm: "of the hit before"}
			Apply(c.hit, &got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
