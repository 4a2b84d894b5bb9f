package admin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decode[T any](t *testing.T, r reply) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	return v
}

// What is put comes back, is kept in the history, and is replaced only by those who have seen it.
func TestDomainConfiguration(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	full := Configuration{
		Tracking: "hash", RedirectStatus: 307, Fallback: "https://example.org/lost", MaxHops: 9, Generator: "qr", CodeLength: 7, DefaultWebsite: "www.example.net",
		Rules: `main { optional www = website("w{1,4}\\.", "www"); };`,
		Websites: map[string]Website{
			"www.example.net": {Rules: `main { protocol = "any"; };`, UnknownQuery: "strip", AllowedQuery: []string{"utm_*"}, QueryNames: map[string]string{"l": "language"}},
			"*":               {UnknownQuery: "pass"},
		},
	}
	body, err := json.Marshal(full)
	must(t, err)
	first := e.want(200, "PUT", "/v1/domains/Example.NET", string(body), "Linkfold-Reason", "start")
	got := decode[Domain](t, e.want(200, "GET", "/v1/domains/example.net", ""))
	if diff := cmp.Diff(full, got.Configuration); diff != "" || got.Name != "example.net" || len(got.Warnings) != 0 {
		t.Error(got.Name, got.Warnings, diff)
	}
	before := e.events()
	e.want(200, "PUT", "/v1/domains/example.net", string(body)) // Nothing new.
	e.want(428, "PUT", "/v1/domains/example.net", `{}`)
	e.want(409, "PUT", "/v1/domains/example.net", `{}`, "If-Match", "1")
	if e.events() != before {
		t.Errorf("%d events for nothing", e.events()-before)
	}
	e.want(200, "PUT", "/v1/domains/example.net", `{"tracking":"none"}`, "If-Match", first.Header().Get("ETag"))
	e.want(428, "DELETE", "/v1/domains/example.net", "")
	for range 2 { // Repeating it is harmless.
		e.want(200, "DELETE", "/v1/domains/example.net", "", "If-Match", strconv.FormatUint(before+1, 10), "Idempotency-Key", "remove")
	}
	e.want(404, "DELETE", "/v1/domains/example.net", "", "If-Match", strconv.FormatUint(before+2, 10))
	e.want(404, "GET", "/v1/domains/example.net", "")
	history := decode[struct{ Revisions []DomainRevision }](t, e.want(200, "GET", "/v1/domains/example.net/history", "")).Revisions
	var types []string
	for _, r := range history {
		types = append(types, r.Type)
	}
	if diff := cmp.Diff([]string{"DomainConfigured", "DomainConfigured", "DomainRemoved"}, types); diff != "" || history[0].Reason != "start" || history[0].Domain.Rules != full.Rules || !history[2].Domain.Removed {
		t.Error(diff, history)
	}
}

// A refusal names the field, the place in the script and what to change, and everything that is wrong at once.
func TestDomainRefusals(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for body, want := range map[string]string{
		`{"rules":"main { };"}`:                         "rules: parsing error: expected a variable, found an empty list (line 1, column 8)",
		`{"rules":"main {\n required h = \"[a-\"; };"}`: "(line 2, column 15)",
		`{"redirect_status":303}`:                       "redirect_status: 303: give 301, 302, 307 or 308",
		`{"fallback":"/x"}`:                             "fallback: ",
		`{"fallback":"ftp://x/"}`:                       "fallback: ",
		`{"websites":{"www.example.net":{}}}`:           "need domain rules",
		`{"rules":"main { optional w = \"w\\.\"; };","websites":{"www.example.org":{}}}`:    "is no website of example.net",
		`{"rules":"a { };","redirect_status":999}`:                                          "redirect_status",
		`{"rules":"main { optional w = \"w\\.\"; };","websites":{"*":{"rules":"a {}"}}}`:    "websites[*].rules: parsing error",
		`{"rules":"main { optional w = \"w\\.\"; };","websites":{"*":{"unknown_query":1}}}`: "expected string",
		`{"default_website":"x\"><b>"}`:                                                     "default_website", `{"max_hops":256}`: "max_hops", `{"redirect_status":-5}`: "redirect_status",
	} {
		r := e.want(422, "PUT", "/v1/domains/example.net", body)
		if !strings.Contains(r.Body.String(), want) {
			t.Errorf("%s: %s; want %s in it", body, r.Body, want)
		}
	}
	if e.events() != 1 {
		t.Error("a refused configuration was saved")
	}
}

// Links live on the websites that the rules of a registered domain make, and nowhere else.
func TestLinksOnWebsites(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.want(200, "PUT", "/v1/domains/example.net", `{"rules":"main { optional who = \"[a-z]+\\.\"; };"}`)
	e.want(201, "POST", "/v1/links", `{"domain":"staff.example.net","key":"k","destination":"https://example.com/"}`)
	e.want(201, "POST", "/v1/links", `{"domain":"example.net","key":"k","destination":"https://example.com/"}`)
	e.want(200, "GET", "/v1/links/staff.example.net/k", "")
	for _, domain := range []string{"a.b.example.net", "9.example.net", "example.org", "net"} {
		e.want(422, "POST", "/v1/links", `{"domain":"`+domain+`","key":"k","destination":"https://example.com/"}`)
	}
}

func TestLoopsAreNamed(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	link := func(status int, key, destination string) reply {
		t.Helper()
		return e.want(status, "POST", "/v1/links", `{"key":"`+key+`","destination":"`+destination+`"}`)
	}
	link(201, "zig", "/zag")
	link(201, "zag", "/docs/old/page")
	link(201, "docs", "https://docs.example/")
	if r := link(422, "docs/old", "/zig/x"); !strings.Contains(r.Body.String(), "docs/old → zig → zag → docs/old") {
		t.Error(r.Body)
	}
	link(201, "docs/new", "/zig/x") // zag leads to docs.
	if r := link(422, "self", "https://GO/self?x=1"); !strings.Contains(r.Body.String(), "self → self") && !strings.Contains(r.Body.String(), "lower case") {
		t.Error(r.Body)
	}
	if r := link(422, "self", "https://go./self/y"); !strings.Contains(r.Body.String(), "self → self") {
		t.Error(r.Body)
	}
	e.want(200, "PUT", "/v1/domains/qr", `{"generator":"qr"}`)
	e.want(201, "POST", "/v1/links", `{"domain":"qr","key":"a","destination":"/B"}`)
	e.want(422, "POST", "/v1/links", `{"domain":"qr","key":"b","destination":"/A"}`)
	e.want(201, "POST", "/v1/links", `{"domain":"qr","key":"é","destination":"https://example.com/"}`)
	if r := e.want(422, "PUT", "/v1/links/go/docs", `{"destination":"/zag"}`, "If-Match", "4"); !strings.Contains(r.Body.String(), "docs → zag → docs") {
		t.Error(r.Body)
	}
}

// A website has one set of links, whichever of its names they were saved under.
func TestTwoNamesOfOneWebsite(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.want(200, "PUT", "/v1/domains/example.net", `{"rules":"main { optional www = website(\"www\\\\.\", \"www\"); };"}`)
	e.want(201, "POST", "/v1/links", `{"domain":"example.net","key":"a","destination":"/b"}`)
	if r := e.want(422, "POST", "/v1/links", `{"domain":"www.example.net","key":"b","destination":"/a"}`); !strings.Contains(r.Body.String(), "b → a → b") {
		t.Error(r.Body)
	}
	if r := e.want(422, "POST", "/v1/links", `{"domain":"www.example.net","key":"a","destination":"https://example.com/"}`); !strings.Contains(r.Body.String(), "is taken on example.net") {
		t.Error(r.Body)
	}
	e.want(201, "POST", "/v1/links", `{"domain":"www.example.net","key":"b","destination":"https://example.com/"}`)
}

// Keys are made from the domain's alphabet, of its length.
func TestGenerators(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for config, want := range map[string]string{
		`{}`: `^[a-zA-Z0-9]{5}$`, `{"generator":"random","code_length":9}`: `^[a-zA-Z0-9]{9}$`, `{"generator":"qr","code_length":6}`: `^[a-z0-9]{6}$`,
	} {
		domain := fmt.Sprintf("d%d", e.events())
		e.want(200, "PUT", "/v1/domains/"+domain, config)
		r := e.want(201, "POST", "/v1/links", `{"domain":"`+domain+`","destination":"https://example.com/"}`)
		if !regexp.MustCompile(want).MatchString(r.link.Key) {
			t.Errorf("%s makes %q, want %s", config, r.link.Key, want)
		}
		status := 201
		if strings.Contains(config, "qr") {
			status = 422
		}
		e.want(status, "POST", "/v1/links", `{"domain":"`+domain+`","key":"ABC","destination":"https://example.com/"}`)
	}
	e.want(422, "PUT", "/v1/domains/x", `{"generator":"dice"}`)
	e.want(422, "PUT", "/v1/domains/x", `{"code_length":33}`)
}

// The checksum of a ruleset changes with every link and does not depend on the order of reading.
func TestRuleset(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	get := func() Ruleset { return decode[Ruleset](t, e.want(200, "GET", "/v1/domains/go/ruleset", "")) }
	empty := get()
	if empty.Links != 0 || empty.Checksum != "000000000000" {
		t.Errorf("empty ruleset %+v", empty)
	}
	e.want(201, "POST", "/v1/links", `{"key":"a/b","destination":"https://example.com/"}`)
	e.want(201, "POST", "/v1/links", `{"key":"b.c","destination":"https://example.com/"}`)
	two := get()
	e.want(200, "DELETE", "/v1/links/go/a%2Fb", "")
	one := get()
	if two.Links != 2 || two.Deleted != 0 || two.Revision != 3 || one.Links != 1 || one.Deleted != 1 || one.Revision != 4 || one.Checksum == two.Checksum {
		t.Errorf("two links %+v, one deleted %+v", two, one)
	}
	e.want(422, "GET", "/v1/domains/nowhere/ruleset", "")
	e.want(200, "PUT", "/v1/domains/example.net", `{"rules":"main { optional who = \"[a-z]+\\.\"; };"}`)
	e.want(201, "POST", "/v1/links", `{"domain":"staff.example.net","key":"k","destination":"https://example.com/"}`)
	if got := decode[Ruleset](t, e.want(200, "GET", "/v1/domains/staff.example.net/ruleset", "")); got.Links != 1 {
		t.Errorf("links of a website: %+v", got)
	}
}
