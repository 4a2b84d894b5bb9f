package admin

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"linkfold/schema/stream"
)

func TestLifeOfALink(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	r := e.want(201, "POST", "/v1/links", `{"key":"k","destination":"http://Example.com","title":"One"}`)
	if l := r.link; l.Domain != "go" || l.Key != "k" || l.Destination != "http://example.com/" || l.Revision != 2 || r.Header().Get("ETag") != `"2"` {
		t.Errorf("created %+v, ETag %s", l, r.Header().Get("ETag"))
	}
	e.want(409, "POST", "/v1/links", `{"key":"k","destination":"http://example.com"}`)
	e.want(428, "PUT", "/v1/links/go/k", `{"destination":"https://two.example/"}`)
	r = e.want(200, "PUT", "/v1/links/go/k", `{"destination":"https://two.example/"}`, "If-Match", `"2"`, "Linkfold-Reason", "moved")
	if r.link.Revision != 3 || r.link.Title != "" {
		t.Errorf("changed to %+v", r.link)
	}
	r = e.want(409, "PUT", "/v1/links/go/k", `{"destination":"https://three.example/"}`, "If-Match", `"2"`)
	if r.link.Current != 3 || !strings.HasPrefix(r.Header().Get("Content-Type"), "application/problem+json") {
		t.Errorf("conflict: %s %s", r.Header().Get("Content-Type"), r.Body)
	}
	if r = e.want(200, "PUT", "/v1/links/go/k", `{"destination":"https://two.example"}`, "If-Match", "3"); r.link.Revision != 3 {
		t.Error("no change made an event")
	}
	if r = e.want(200, "POST", "/v1/links/go/k/deactivate", ""); !r.link.Inactive {
		t.Error("still active")
	}
	e.want(200, "POST", "/v1/links/go/k/reactivate", "", "If-Match", `W/"4"`)
	e.want(409, "DELETE", "/v1/links/go/k", "", "If-Match", "4")
	e.want(200, "DELETE", "/v1/links/go/k", "")
	e.want(404, "GET", "/v1/links/go/k", "")
	e.want(404, "DELETE", "/v1/links/go/k", "")
	e.want(404, "PUT", "/v1/links/go/k", `{"destination":"https://two.example/"}`, "If-Match", "6")
	r = e.want(201, "POST", "/v1/links", `{"key":"k","destination":"https://again.example/"}`)
	if r.link.Revision != 7 {
		t.Errorf("created again as %+v", r.link)
	}
	var types []string
	for _, h := range e.want(200, "GET", "/v1/links/go/k/history", "").link.Revisions {
		types = append(types, h.Type)
		if h.Link.Revision == 3 && (h.Reason != "moved" || h.Previous != 2 || h.Actor != "admin" || h.Command == "") {
			t.Errorf("history says %+v", h)
		}
	}
	if got := strings.Join(types, " "); got != "LinkCreated LinkRetargeted LinkDeactivated LinkReactivated LinkDeleted LinkCreated" {
		t.Errorf("history is %s", got)
	}
	e.want(404, "GET", "/v1/links/go/never/history", "")
}

func TestRandomCodes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	r := e.want(201, "POST", "/v1/links", `{"destination":"https://example.com"}`)
	if !regexp.MustCompile(`^[a-zA-Z0-9]{5}$`).MatchString(r.link.Key) {
		t.Errorf("code %q", r.link.Key)
	}
	// The first two candidates of this command are taken.
	for n := range 2 {
		e.want(201, "POST", "/v1/links", `{"destination":"https://taken.example","key":"`+generatorOf(nil).code(token, "cmd", n)+`"}`)
	}
	before := e.events()
	r = e.want(201, "POST", "/v1/links", `{"destination":"https://example.com"}`, "Idempotency-Key", "cmd")
	if want := generatorOf(nil).code(token, "cmd", 2); r.link.Key != want {
		t.Errorf("code %q, want the third candidate %q", r.link.Key, want)
	}
	again := e.want(201, "POST", "/v1/links", `{"destination":"https://example.com"}`, "Idempotency-Key", "cmd")
	if again.link.Key != r.link.Key || e.events() != before+1 {
		t.Errorf("repeated: %q, %d events", again.link.Key, e.events()-before)
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	letters := map[rune]bool{}
	codes := generatorOf(nil)
	for n := range 5000 {
		c := codes.code("secret", "command", n)
		seen[c] = true
		for _, r := range c {
			letters[r] = true
		}
	}
	if len(seen) < 4990 || len(letters) != 62 {
		t.Errorf("%d different codes of 5000, %d letters", len(seen), len(letters))
	}
	if codes.code("a", "c", 0) == codes.code("b", "c", 0) || codes.code("a", "c", 0) == codes.code("a", "d", 0) {
		t.Error("a code must depend on secret and command")
	}
}

// The same idempotency key twice is one event, also when the link has changed in between.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"create", "POST", "/v1/links", `{"key":"k","destination":"https://one.example/"}`, 201},
		{"change", "PUT", "/v1/links/go/k", `{"destination":"https://two.example/"}`, 200},
		{"deactivate", "POST", "/v1/links/go/k/deactivate", "", 200},
		{"delete", "DELETE", "/v1/links/go/k", "", 200},
		{"domain", "PUT", "/v1/domains/other", `{"tracking":"hash"}`, 200},
	} {
		headers := []string{"Idempotency-Key", c.name}
		if c.method == "PUT" && c.name == "change" {
			headers = append(headers, "If-Match", e.do("GET", c.path, "").Header().Get("ETag"))
		}
		first := e.want(c.status, c.method, c.path, c.body, headers...)
		switch c.name { // Somebody else changes it.
		case "create":
			e.want(200, "PUT", "/v1/links/go/k", `{"destination":"https://x.example/"}`, "If-Match", "2")
		case "deactivate":
			e.want(200, "POST", "/v1/links/go/k/reactivate", "")
		case "domain":
			e.want(428, "PUT", "/v1/domains/other", `{"tracking":"none"}`)
			e.want(200, "PUT", "/v1/domains/other", `{"tracking":"none"}`, "If-Match", first.Header().Get("ETag"))
		}
		before := e.events()
		again := e.want(c.status, c.method, c.path, c.body, headers...)
		if e.events() != before || again.link.Revision != first.link.Revision {
			t.Errorf("%s repeated: %d new events, revision %d, was %d", c.name, e.events()-before, again.link.Revision, first.link.Revision)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const create = `{"key":"k","destination":"https://example.com"}`
	for name, c := range map[string]struct {
		status  int
		body    string
		headers []string
	}{
		"no token":             {401, create, []string{"Authorization", ""}},
		"wrong token":          {401, create, []string{"Authorization", "Bearer 0123456789abcdeg"}},
		"other scheme":         {401, create, []string{"Authorization", "Basic " + token}},
		"unknown field":        {422, `{"key":"k","destination":"https://example.com","colour":"red"}`, nil},
		"wrong type":           {422, `{"key":7,"destination":"https://example.com"}`, nil},
		"wrong tags":           {422, `{"key":"k","destination":"https://example.com","tags":"a"}`, nil},
		"no JSON":              {400, `{"key":`, nil},
		"no body":              {400, ``, nil},
		"no destination":       {422, `{"key":"k"}`, nil},
		"script":               {422, `{"key":"k","destination":"javascript:alert(1)"}`, nil},
		"relative":             {422, `{"key":"k","destination":"x"}`, nil},
		"other host":           {422, `{"key":"k","destination":"//evil.example/"}`, nil},
		"upper-case scheme":    {422, `{"key":"k","destination":"HTTP://example.com/"}`, nil},
		"traversal":            {422, `{"key":"k","destination":"/a/../b"}`, nil},
		"two queries":          {422, `{"key":"k","destination":"/a?b=1?c=2"}`, nil},
		"itself":               {422, `{"key":"k","destination":"/k"}`, nil},
		"control in key":       {422, `{"key":"a\u0001b","destination":"https://example.com"}`, nil},
		"reserved key":         {422, `{"key":"-/x","destination":"https://example.com"}`, nil},
		"unknown domain":       {422, `{"domain":"nowhere","key":"k","destination":"https://example.com"}`, nil},
		"hostile domain":       {422, `{"domain":"a b","key":"k","destination":"https://example.com"}`, nil},
		"too large":            {413, `{"key":"k","destination":"https://example.com","title":"` + strings.Repeat("x", maxBody) + `"}`, nil},
		"long idempotency key": {422, create, []string{"Idempotency-Key", strings.Repeat("x", 129)}},
		"key not UTF-8":        {422, create, []string{"Idempotency-Key", "\xff"}},
		"reason not UTF-8":     {422, create, []string{"Linkfold-Reason", "a\xc3("}},
	} {
		r := e.want(c.status, "POST", "/v1/links", c.body, c.headers...)
		if !strings.HasPrefix(r.Header().Get("Content-Type"), "application/problem+json") {
			t.Errorf("%s: %s is no problem document", name, r.Header().Get("Content-Type"))
		}
	}
	e.want(201, "POST", "/v1/links", create)
	for _, etag := range []string{"x", `"0"`, "-1", "*"} {
		e.want(422, "PUT", "/v1/links/go/k", `{"destination":"https://example.com"}`, "If-Match", etag)
	}
	e.want(422, "PUT", "/v1/domains/go", `{"tracking":"everything"}`)
	e.want(422, "PUT", "/v1/domains/a%20b", `{}`)
	e.want(404, "GET", "/v1/domains/nowhere", "")
	e.want(409, "PUT", "/v1/domains/nowhere", `{}`, "If-Match", "7")
	if n := e.events(); n != 2 {
		t.Errorf("%d events, want those of the domain and one link", n)
	}
}

func TestMissingDefaultDomain(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.handler = New(Config{Token: token}, e.js, nil)
	e.want(422, "POST", "/v1/links", `{"key":"k","destination":"https://example.com"}`)
	e.want(201, "POST", "/v1/links", `{"domain":"GO.","key":"k","destination":"https://example.com"}`)
}

func TestKeysWithSlashes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.want(201, "POST", "/v1/links", `{"key":"a/b é","destination":"https://example.com"}`)
	for _, path := range []string{"/v1/links/go/a%2Fb%20%C3%A9", "/v1/links/go/a%2fb%2520%25C3%25A9"} {
		if r := e.want(200, "GET", path, ""); r.link.Key != "a/b%20%C3%A9" {
			t.Errorf("%s: key %q", path, r.link.Key)
		}
	}
	if n := len(e.want(200, "GET", "/v1/links/go/a%2Fb%20%C3%A9/history", "").link.Revisions); n != 1 {
		t.Errorf("%d revisions", n)
	}
}

// Of many who create one key at once, one wins; the others are told.
func TestConcurrentCreates(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	codes := make([]int, 32)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			codes[i] = e.do("POST", "/v1/links", `{"key":"k","destination":"https://example.com"}`).Code
		})
	}
	wg.Wait()
	won := 0
	for _, c := range codes {
		if c == 201 {
			won++
		} else if c != 409 {
			t.Errorf("status %d", c)
		}
	}
	if won != 1 || e.events() != 2 {
		t.Errorf("%d winners, %d events", won, e.events())
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	r := e.want(200, "GET", "/openapi.json", "", "Authorization", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]any
	}
	must(t, json.Unmarshal(r.Body.Bytes(), &doc))
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") || doc.Paths["/v1/links/{domain}/{key}"]["put"] == nil {
		t.Errorf("OpenAPI %s with paths %v", doc.OpenAPI, doc.Paths)
	}
}

// Looking back leaves nothing behind on the server.
func TestReadersAreRemoved(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.want(201, "POST", "/v1/links", `{"key":"k","destination":"https://example.com/"}`)
	for range 3 {
		e.want(200, "GET", "/v1/links/go/k/history", "")
		e.want(200, "GET", "/v1/domains/go/history", "")
		e.want(200, "GET", "/v1/domains/go/ruleset", "")
	}
	s, err := e.js.Stream(t.Context(), stream.Links)
	must(t, err)
	if n := s.CachedInfo().State.Consumers; n != 0 {
		t.Errorf("%d consumers are left", n)
	}
}
