package redirector_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linkfold/redirector"
	"linkfold/redirector/resolve"
	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
)

// vector is a case of the shortlink draft, see resolve/testdata.
type vector struct {
	ID       string            `json:"id"`
	Ruleset  map[string]string `json:"ruleset"`
	Request  string            `json:"request"`
	Expected string            `json:"expected"`
	Error    string            `json:"error"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	var all []vector
	for _, name := range []string{"shortlink_public.json", "shortlink_generated.json"} {
		b, err := os.ReadFile(filepath.Join("resolve", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Cases []vector }
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
		all = append(all, file.Cases...)
	}
	return all
}

// carried reports that a request and links can carry the case: everything that the ruleset says can be saved and means the same then, and
// a request has no fragment, no user and no origin but the host's.
func (v *vector) carried() bool {
	u, err := url.Parse(v.Request)
	if err != nil || u.Fragment != "" || u.User != nil || strings.Contains(v.Request, "#") || strings.ContainsFunc(u.Host, func(r rune) bool { return r > 127 }) {
		return false
	}
	for key, value := range v.Ruleset {
		k, err := link.NormalizeKey(key)
		if err != nil || k != key {
			return false
		}
		d, err := link.NormalizeDestination(value)
		if err != nil || strings.HasPrefix(value, "/") && d != value || len(link.Placeholders(value)) > 0 {
			return false
		}
	}
	return true
}

// Every case of the draft's vectors that HTTP can carry gets the same answer from a real redirector, each ruleset on a domain of its own.
func TestShortlinkVectorsOverHTTP(t *testing.T) {
	t.Parallel()
	in := start(t, func(c *redirector.Config) { c.DefaultDomain, c.Limit.MissesPerMinute = "", 0 })
	domains := map[string]string{}
	ran := 0
	for _, v := range vectors(t) {
		if !v.carried() {
			continue
		}
		ruleset, err := json.Marshal(v.Ruleset)
		if err != nil {
			t.Fatal(err)
		}
		domain, ok := domains[string(ruleset)]
		if !ok {
			domain = fmt.Sprintf("d%d", len(domains))
			if !in.saveRuleset(domain, v.Ruleset) {
				if !v.loops(t) {
					t.Errorf("%s: a ruleset without loops was refused: %s", v.ID, ruleset)
				}
				domain = "" // Refused when saving, as it has to be.
			}
			domains[string(ruleset)] = domain
		}
		if domain == "" {
			continue
		}
		ran++
		u, err := url.Parse(v.Request)
		if err != nil {
			t.Fatal(err)
		}
		_, target, _ := strings.Cut(v.Request, u.Host)
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		answer := in.raw("GET " + strings.ReplaceAll(target, " ", "%20") + " HTTP/1.1\r\nHost: " + domain + "\r\nConnection: close\r\n\r\n")
		if got, want := location(answer), v.location(u); got != want {
			t.Errorf("%s: %s with %s: Location %q, want %q\n%s", v.ID, v.Request, ruleset, got, want, answer)
		}
	}
	if ran < 100 {
		t.Errorf("only %d vectors ran", ran)
	}
}

// loops reports that some key of the ruleset never comes to an end.
func (v *vector) loops(t *testing.T) bool {
	t.Helper()
	rules := resolve.Map{}
	for key, value := range v.Ruleset {
		rules[key] = resolve.ParseValue(value)
	}
	for key := range v.Ruleset {
		if loop, err := resolve.FindLoop(t.Context(), rules, key); err != nil || loop != nil {
			return true
		}
	}
	return false
}

// saveRuleset creates links; false when one is refused because it closes a loop.
func (in *instance) saveRuleset(domain string, ruleset map[string]string) bool {
	in.t.Helper()
	in.configure(domain, "{}")
	keys := make([]string, 0, len(ruleset))
	for k := range ruleset {
		keys = append(keys, k)
	}
	// Absolute values first, or a path may lead to a shorter key while the longer one is still missing.
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(ruleset[b], ruleset[a]) })
	for _, k := range keys {
		b, err := json.Marshal(map[string]string{"domain": domain, "key": k, "destination": ruleset[k]})
		if err != nil {
			in.t.Fatal(err)
		}
		r := in.api("POST", "/v1/links", string(b))
		if r.status == 422 && strings.Contains(r.body, "closes a loop") {
			return false
		}
		if r.status != 201 {
			in.t.Fatalf("%s: %+v", b, r)
		}
	}
	return true
}

// location is what the answer must say: the destination, or a path of the same origin, or nothing when no link was followed.
func (v *vector) location(request *url.URL) string {
	origin := request.Scheme + "://" + request.Host
	rest, same := strings.CutPrefix(v.Expected, origin)
	if !same || !strings.HasPrefix(rest, "/") {
		return v.Expected
	}
	// Back on the origin: as an absolute value, or by way of internal redirects, or because no key matched at all.
	for key, value := range v.Ruleset {
		path := request.EscapedPath()
		if path == "/"+key || strings.HasPrefix(path, "/"+key+"/") {
			if strings.HasPrefix(value, "http") {
				return v.Expected
			}
			if strings.HasPrefix(rest, "//") {
				return "/." + rest
			}
			return rest
		}
	}
	return ""
}

func location(answer string) string {
	for line := range strings.Lines(answer) {
		if value, ok := strings.CutPrefix(line, "Location: "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// A hit says which link was asked for, by which way it was answered, and why it was not.
func TestChainsAreRecorded(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.configure("localhost", `{"max_hops":2}`)
	in.create("docs", "/documentation")
	in.create("documentation", "/d/x?utm_medium=qr")
	in.create("d", "https://docs.example/base")
	in.create("far", "/docs")
	in.create("home", "/nowhere")
	for _, c := range []struct {
		path, location string
		status         int
		outcome        linkfoldv1.Outcome
		key            string
		hops           uint32
		chain, detail  string
	}{
		{"/docs/a/b?x=1", "https://docs.example/base/x/a/b?utm_medium=qr&x=1", 302, linkfoldv1.Outcome_OUTCOME_REDIRECTED, "docs", 2, "documentation d", ""},
		{"/far", "", 404, linkfoldv1.Outcome_OUTCOME_UNRESOLVABLE, "far", 2, "docs documentation", "too many internal redirects"},
		{"/home/z", "/nowhere/z", 302, linkfoldv1.Outcome_OUTCOME_REDIRECTED, "home", 1, "", ""},
		{"/nowhere/z", "", 404, linkfoldv1.Outcome_OUTCOME_NOT_FOUND, "nowhere/z", 0, "", ""},
		{"/docsx", "", 404, linkfoldv1.Outcome_OUTCOME_NOT_FOUND, "docsx", 0, "", ""},
		{"/d/../../etc", "", 404, linkfoldv1.Outcome_OUTCOME_NOT_FOUND, "etc", 0, "", ""},
		{"/d/%2e%2e/d/y", "https://docs.example/base/y", 302, linkfoldv1.Outcome_OUTCOME_REDIRECTED, "d", 0, "", ""},
	} {
		answer := in.raw("GET " + c.path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if location(answer) != c.location || !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
			t.Errorf("%s: %s", c.path, answer)
		}
		hits := in.hits()
		h := hits[len(hits)-1]
		var chain []string
		for _, hop := range h.GetChain() {
			if chain = append(chain, hop.GetKey()); hop.GetLinkRev() == 0 {
				t.Errorf("%s: hop %v without a revision", c.path, hop)
			}
		}
		if h.GetOutcome() != c.outcome || h.GetKey() != c.key || h.GetHops() != c.hops || strings.Join(chain, " ") != c.chain || h.GetDetail() != c.detail ||
			(h.GetLinkRev() != 0) != (c.outcome != linkfoldv1.Outcome_OUTCOME_NOT_FOUND) {
			t.Errorf("%s: hit %v", c.path, h)
		}
	}
}

// lock_query keeps the destination's query; the domain's status and fallback are used.
func TestLockedQueryStatusAndFallback(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.configure("localhost", `{"redirect_status":307,"fallback":"https://example.net/lost"}`)
	if r := in.api("POST", "/v1/links", `{"key":"locked","destination":"https://example.com/?a=1&b=~","lock_query":true}`); r.status != 201 {
		t.Fatal(r)
	}
	in.create("open", "https://example.com/?a=1")
	in.create("off", "https://example.com/")
	if r := in.api("POST", "/v1/links/localhost/off/deactivate", ""); r.status != 200 {
		t.Fatal(r)
	}
	for path, want := range map[string]string{
		"/locked?a=2&c=3": "307 https://example.com/?a=1&b=~", "/open?a=2&c=3": "307 https://example.com/?a=2&c=3",
		"/off": "302 https://example.net/lost", "/unknown": "302 https://example.net/lost", "/off/x": "302 https://example.net/lost",
	} {
		eventually(t, path+" leads to "+want, func() bool {
			r := in.get(path)
			return fmt.Sprint(r.status, " ", r.header.Get("Location")) == want
		})
	}
}

// On a QR domain the case of a path does not count, and tells a scan from a click; what follows the key keeps its case.
func TestQRDomain(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.configure("localhost", `{"generator":"qr"}`)
	in.create("h83if", "https://example.com/a")
	for path, want := range map[string]string{
		"/h83if": "SOURCE_LINK https://example.com/a", "/H83IF": "SOURCE_QR https://example.com/a", "/H83if/Some/Page": "SOURCE_LINK https://example.com/a/Some/Page",
	} {
		eventually(t, path+" is answered", func() bool {
			r := in.get(path)
			hits := in.hits()
			h := hits[len(hits)-1]
			return r.status == 302 && h.GetSource().String()+" "+r.header.Get("Location") == want && h.GetKey() == "h83if"
		})
	}
}
