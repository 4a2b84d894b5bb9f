package rules_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linkfold/redirector/rules"
	"linkfold/redirector/rules/script"
)

// ownCase is one case of testdata/own_cases.json: what the documents and rulings say about a script, with the place that says it.
type ownCase struct {
	ID, Kind, Grammar, Script, Domain, Host, URL, Why string
	DomainScript                                      string `json:"domain_script"`
	WebsiteScript                                     string `json:"website_script"`
	WebsiteKey                                        string `json:"website_key"`
	Line                                              int
	Expect                                            any
}

func TestOwnCases(t *testing.T) {
	data, err := os.ReadFile("testdata/own_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []ownCase
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 350 {
		t.Errorf("%d cases: some are missing", len(all))
	}
	for _, c := range all {
		t.Run(c.ID, func(t *testing.T) {
			switch c.Kind {
			case "ast":
				c.parses(t)
			case "error":
				c.fails(t)
			default:
				c.matches(t)
			}
			if t.Failed() {
				t.Log("decided by: ", c.Why)
			}
		})
	}
}

func (c ownCase) parses(t *testing.T) {
	compile(t, kindOf(c.Grammar), c.Script)
	parsed, err := script.Parse(kindOf(c.Grammar), c.Script)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := json.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Expect, got); diff != "" {
		t.Error(diff)
	}
}

func (c ownCase) fails(t *testing.T) {
	_, _, err := rules.Compile(kindOf(c.Grammar), c.Script)
	var all script.Errors
	if !errors.As(err, &all) || len(all) != 1 || !strings.HasPrefix(all[0].Message, c.Expect.(string)) || c.Line != 0 && all[0].Line != c.Line {
		t.Errorf("%v, want %q in line %d", err, c.Expect, c.Line)
	}
}

func (c ownCase) matches(t *testing.T) {
	u, err := rules.ParseURL(c.URL)
	if c.URL == "" {
		u, err = rules.ParseURL("http://" + c.Host + "/")
	}
	if err != nil {
		t.Fatal(err)
	}
	m, reason := c.match(t, u)
	got := map[string]any{
		"rule": m.Rule, "website_key": m.Website, "site_key": m.SiteKey, "rest": m.Rest, "options": m.Options.Map(),
		"unknown_query": append([]string{}, m.UnknownQuery...),
	}
	switch {
	case reason != "":
		got = map[string]any{"status": 404, "error": reason}
	default:
		got["canonical"], got["conflict"], got["page_key"], got["base_key"] = m.Canonical(), m.Conflict, m.PageKey(), m.BaseKey()
	}
	for name, want := range c.Expect.(map[string]any) {
		if diff := cmp.Diff(want, untyped(t, got[name])); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// match is the way of a URL through the scripts of a case; reason says why it ends early. With a domain script alone the rule is its.
func (c ownCase) match(t *testing.T, u rules.URL) (m rules.Match, reason string) {
	var s *rules.Site
	d := rules.WebsiteKey(c.WebsiteKey)
	switch c.Kind {
	case "domain":
		c.DomainScript = c.Script
	case "website":
		s = site(t, c.Script)
	}
	if c.WebsiteScript != "" {
		s = site(t, c.WebsiteScript)
	}
	if c.DomainScript != "" {
		domain, ok := asHost(t, c.Domain), true
		if domain == "" {
			domain, ok = rules.Registrable(u.Host)
		}
		if _, below := rules.SubDomain(domain, u.Host); !ok || !below {
			return m, rules.UnknownDomain
		}
		if d, ok = load(t, rules.KindDomain, c.DomainScript).Domain(domain, u.Host); !ok {
			return m, rules.DomainNotFound
		}
	}
	m, ok := s.Match(u, d)
	if !ok {
		return m, rules.WebsiteNotFound
	}
	if s == nil {
		m.Rule = d.Rule
	}
	return m, ""
}

// asHost is a name as it stands in parsed URLs.
func asHost(t *testing.T, name string) string {
	if name == "" {
		return ""
	}
	u, err := rules.ParseURL("http://" + name)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// untyped is a value as JSON gives it back.
func untyped(t *testing.T, v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
