package resolve

import (
	"context"
	"fmt"
	"testing"
)

// chain is a ruleset in which a request for "k0" takes n internal redirects to its destination.
func chain(n int) Map {
	rules := Map{fmt.Sprintf("k%d", n): ParseValue("https://end.example/page?a=1")}
	for i := range n {
		rules[fmt.Sprintf("k%d", i)] = ParseValue(fmt.Sprintf("/k%d", i+1))
	}
	return rules
}

func BenchmarkResolve(b *testing.B) {
	eight := Map{"a": ParseValue("https://one.example/base/")}
	cases := []struct {
		name, path, query string
		rules             Map
		options           Options
	}{
		{"one-hop", "/docs", "", Map{"docs": ParseValue("https://docs.example.com/start?lang=en#top")}, Options{}},
		{"one-hop-query", "/docs", "utm_source=poster&utm_medium=qr", Map{"docs": ParseValue("https://docs.example.com/start?lang=en#top")}, Options{}},
		{"one-hop-rest", "/docs/v2/install", "", Map{"docs": ParseValue("https://docs.example.com/start?lang=en#top")}, Options{}},
		{"eight-prefixes", "/a/b/c/d/e/f/g/h", "", eight, Options{}},
		{"no-match", "/some/page", "", eight, Options{}},
		{"ten-redirects", "/k0", "", chain(10), Options{}},
		{"255-redirects", "/k0", "", chain(255), Options{}},
		{"template", "/docs", "", Map{"docs": ParseValue("https://docs.example.com/{language}/{version}/manual?from=qr")}, Options{Variables: someVariables}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			r := Request{Origin: "https://go.example", Path: c.path, Query: c.query}
			for b.Loop() {
				if _, err := Resolve(context.Background(), c.rules, r, c.options); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func someVariables(name string) (string, bool) {
	switch name {
	case "language":
		return "en", true
	case "version":
		return "3.59", true
	}
	return "", false
}

func BenchmarkParse(b *testing.B) {
	for _, raw := range []string{"https://docs.example.com/start?lang=en#top", "https://bücher.example/ä?ö=ü", "/docs/start?lang=en"} {
		b.Run(raw, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ParseValue(raw)
			}
		})
	}
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseRequest("https://go.example/docs/v2?utm_source=poster"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestOneHopAllocatesNothing(t *testing.T) {
	rules := Map{"docs": ParseValue("https://docs.example.com/start?lang=en#top")}
	r := Request{Origin: "https://go.example", Path: "/docs"}
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := Resolve(context.Background(), rules, r, Options{}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
