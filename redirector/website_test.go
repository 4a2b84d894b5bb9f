package redirector_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linkfold/redirector"
	"linkfold/redirector/rules"
	"linkfold/schema/linkfoldv1"
)

// ruleCase is a case of rules/testdata/snap_rules.json.
type ruleCase struct {
	ID, Script, Domain, Host string
	WebsiteKey               string `json:"website_key"`
	URL                      string
	Expect                   struct {
		Status       int
		Rule         string
		WebsiteKey   string `json:"website_key"`
		Options      map[string]string
		UnknownQuery []string `json:"unknown_query"`
	}
}

type ruleVectors struct {
	DomainScripts  map[string]string `json:"domain_scripts"`
	WebsiteScripts map[string]string `json:"website_scripts"`
	DomainCases    []ruleCase        `json:"domain_cases"`
	WebsiteCases   []ruleCase        `json:"website_cases"`
}

func snapVectors(t *testing.T) (v ruleVectors) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("rules", "testdata", "snap_rules.json"))
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ruled starts a redirector that believes X-Forwarded-Proto and limits nobody.
func ruled(t *testing.T) *instance {
	return start(t, func(c *redirector.Config) {
		c.DefaultDomain, c.Limit.MissesPerMinute, c.TrustedProxies = "", 0, []string{"127.0.0.1"}
	})
}

// rulesOn configures a domain and waits until requests are answered by it.
func (in *instance) rulesOn(domain string, c map[string]any) {
	in.t.Helper()
	mark := fmt.Sprintf("mark%d.%s", len(in.hits()), domain)
	c["default_website"] = mark
	b, err := json.Marshal(c)
	if err != nil {
		in.t.Fatal(err)
	}
	in.configure(domain, string(b))
	eventually(in.t, "configuration of "+domain, func() bool {
		// No rule of the vectors takes such a host.
		return strings.Contains(in.get("/", "Host", "--.--.--.--."+domain).body, mark)
	})
}

// ask sends a request for u and returns the answer and its hit.
func (in *instance) ask(u string, headers ...string) (response, *linkfoldv1.Hit) {
	in.t.Helper()
	parsed, err := url.Parse(u)
	if err != nil {
		in.t.Fatal(err)
	}
	r := in.get(parsed.RequestURI(), append([]string{"Host", parsed.Host, "X-Forwarded-Proto", parsed.Scheme}, headers...)...)
	hits := in.hits()
	return r, hits[len(hits)-1]
}

// Every case of the domain vectors gets its website and options on the hit of a real request.
func TestDomainRuleVectorsOverHTTP(t *testing.T) {
	t.Parallel()
	in, v := ruled(t), snapVectors(t)
	slices.SortStableFunc(v.DomainCases, func(a, b ruleCase) int { return strings.Compare(a.Script+a.Domain, b.Script+b.Domain) })
	current := ""
	for _, c := range v.DomainCases {
		if now := c.Script + c.Domain; now != current {
			current = now
			in.rulesOn(c.Domain, map[string]any{"rules": v.DomainScripts[c.Script]})
		}
		r, h := in.ask("http://" + c.Host + "/")
		unknown := h.GetOutcome() == linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE
		if r.status != 404 || unknown != (c.Expect.Status == 404) || unknown != strings.Contains(r.body, "Unknown Website") ||
			h.GetWebsite() != c.Expect.WebsiteKey || h.GetRule() != c.Expect.Rule || !equal(h.GetOptions(), c.Expect.Options) {
			t.Errorf("%s: %d %s\nhit %v\nwant %+v", c.ID, r.status, r.body, h, c.Expect)
		}
	}
}

func equal(a, b map[string]string) bool {
	return len(a) == len(b) && (len(a) == 0 || fmt.Sprint(a) == fmt.Sprint(b))
}

// anyHost makes every host its own website, so that website rules can be tried alone.
const anyHost = `any { optional host = "([a-z0-9][-a-z0-9]*\\.)+"; };`

func TestWebsiteRuleVectorsOverHTTP(t *testing.T) {
	t.Parallel()
	in, v := ruled(t), snapVectors(t)
	domain := func(c ruleCase) string { d, _ := rules.Registrable(c.WebsiteKey); return d }
	slices.SortStableFunc(v.WebsiteCases, func(a, b ruleCase) int { return cmp.Compare(a.Script+domain(a), b.Script+domain(b)) })
	current := ""
	for _, c := range v.WebsiteCases {
		if now := c.Script + domain(c); now != current {
			current = now
			in.rulesOn(domain(c), map[string]any{"rules": anyHost, "websites": map[string]any{"*": map[string]any{"rules": v.WebsiteScripts[c.Script]}}})
		}
		r, h := in.ask(c.URL)
		delete(h.Options, "host") // anyHost's own
		want := linkfoldv1.Outcome_OUTCOME_NOT_FOUND
		switch {
		case c.Expect.Status == 404:
			want, c.Expect.Rule = linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE, "any"
		case len(c.Expect.UnknownQuery) > 0:
			want = linkfoldv1.Outcome_OUTCOME_UNKNOWN_QUERY
		}
		if r.status != 404 || h.GetOutcome() != want || h.GetRule() != c.Expect.Rule || !equal(h.GetOptions(), c.Expect.Options) ||
			!slices.Equal(h.GetUnknownQuery(), c.Expect.UnknownQuery) {
			t.Errorf("%s: %s: %d\nhit %v\nwant %+v", c.ID, c.URL, r.status, h, c.Expect)
		}
	}
}

// The whole way of a URL: website, options, links of the website, variables in destinations, canonical URL, query policies.
func TestTheWayOfAURL(t *testing.T) {
	t.Parallel()
	in := ruled(t)
	config := map[string]any{
		"rules": `staff { required who = website("staff\\.", "staff"); };
main { optional www = website("w{1,4}\\.", "www"); optional language = flag("(en|fr|de)\\."); };`,
		"websites": map[string]any{
			"*":                 map[string]any{"rules": `main { path optional canonalize::language = flag("en|fr|de", "en"); query optional page = flag("[0-9]+", "1"); };`},
			"staff.example.net": map[string]any{"rules": `snap { required start_path = "snap"; protocol = "any"; };`, "unknown_query": "strip"},
		},
	}
	in.rulesOn("example.net", config)
	save := func(domain, key, destination string) {
		t.Helper()
		b, _ := json.Marshal(map[string]string{"domain": domain, "key": key, "destination": destination})
		if r := in.api("POST", "/v1/links", string(b)); r.status != 201 {
			t.Fatal(r)
		}
	}
	save("www.example.net", "manual", "https://docs.example/{language}/{version=1.0}/manual?p={page}")
	save("example.net", "bare", "https://bare.example/")
	save("www.example.net", "jump", "/elsewhere")
	save("staff.example.net", "snap/hours", "https://hours.example/")
	for _, c := range []struct {
		url, location string
		status        int
		outcome, site string
		pageKey       string
	}{
		{"http://fr.example.net/manual?page=3", "https://docs.example/fr/1.0/manual?p=3", 302, "REDIRECTED", "www.example.net", "N example.net  manual"},
		{"http://example.net/de/manual", "https://docs.example/de/1.0/manual?p=1", 302, "REDIRECTED", "www.example.net", "N example.net  manual"},
		{"https://www.example.net/manual/x?utm_source=a", "https://docs.example/en/1.0/manual/x?p=1&utm_source=a", 302, "REDIRECTED", "www.example.net", "N example.net  manual x"},
		{"http://www.example.net/MANUAL", "https://docs.example/en/1.0/manual?p=1", 302, "REDIRECTED", "www.example.net", "N example.net  MANUAL"},
		{"http://www.example.net/bare", "https://bare.example/", 302, "REDIRECTED", "www.example.net", "N example.net  bare"},
		{"http://www.example.net/fr/jump/x", "/fr/elsewhere/x", 302, "REDIRECTED", "www.example.net", "N example.net  jump x"},
		{"https://en.example.net/fr/manual?utm_id=7", "https://www.example.net/fr/manual?utm_id=7", 301, "CANONICAL", "www.example.net", "N example.net  manual"},
		{"http://www.example.net/manual?test=1", "", 404, "UNKNOWN_QUERY", "www.example.net", "N example.net  manual"},
		{"http://www.example.net/manual?page=x", "", 404, "UNKNOWN_QUERY", "www.example.net", "N example.net  manual"},
		{"http://staff.example.net/snap/hours/2011-10", "https://hours.example/2011-10", 302, "REDIRECTED", "staff.example.net", "N example.net staff snap hours 2011-10"},
		{"http://staff.example.net/snap/hours?a=1&b=2&utm_term=t", "/snap/hours?utm_term=t", 302, "CANONICAL", "staff.example.net", "N example.net staff snap hours"},
		{"http://staff.example.net/hours", "", 404, "UNKNOWN_WEBSITE", "staff.example.net", ""},
		{"http://nobody.example.net/x", "", 404, "UNKNOWN_WEBSITE", "", ""},
		{"http://192.0.2.1/x", "", 404, "UNKNOWN_DOMAIN", "", ""},
		{"http://www.example.nonsense/x", "", 404, "UNKNOWN_DOMAIN", "", ""},
	} {
		var r response
		var h *linkfoldv1.Hit
		eventually(t, c.url+" is answered", func() bool {
			r, h = in.ask(c.url)
			return r.status == c.status
		})
		if r.header.Get("Location") != c.location || h.GetOutcome().String() != "OUTCOME_"+c.outcome || h.GetWebsite() != c.site || strings.Join(h.GetPageKey(), " ") != c.pageKey {
			t.Errorf("%s: %d %s\n%v", c.url, r.status, r.header, h)
		}
	}
	r, h := in.ask("http://fr.example.net/manual")
	if got := r.header.Get("Link"); got != `<http://www.example.net/fr/manual>; rel="canonical"` || h.GetOptions()["language"] != "fr" || h.GetKey() != "manual" || h.GetLinkRev() == 0 {
		t.Errorf("Link %q\n%v", got, h)
	}
	if r, _ := in.ask("http://nobody.example.net/x"); !strings.Contains(r.body, `href="//mark`) || r.header.Get("Location") != "" {
		t.Errorf("the page does not name the default website: %+v", r)
	}
	config["websites"].(map[string]any)["*"].(map[string]any)["unknown_query"] = "pass"
	in.rulesOn("example.net", config)
	if r, h := in.ask("http://www.example.net/bare?test=1&page=2"); r.header.Get("Location") != "https://bare.example/?test=1" || len(h.GetUnknownQuery()) != 1 {
		t.Errorf("passed on: %v\n%v", r.header, h)
	}
}

// Who keeps asking for hosts that are not here is limited, and its address is kept for the firewall.
func TestUnknownHostsAreLimitedAndListed(t *testing.T) {
	t.Parallel()
	in := start(t, func(c *redirector.Config) { c.DefaultDomain, c.Limit.MissesPerMinute, c.Limit.MissBurst = "", 1, 2 })
	for i, want := range []int{404, 404, 429} {
		if r := in.get("/x", "Host", fmt.Sprintf("h%d.example", i)); r.status != want || r.header.Get("Set-Cookie") != "" {
			t.Errorf("request %d: %+v", i, r)
		}
	}
	for _, h := range in.hits() {
		if string(h.GetPerson().GetClientIp()) != "\x7f\x00\x00\x01" || h.GetPerson().GetCookieId() != "" || h.GetDomain() != "" {
			t.Errorf("hit %v", h)
		}
	}
}

// A dry run says what would change and changes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	in := ruled(t)
	in.rulesOn("example.net", map[string]any{"rules": `main { optional www = website("www\\.", "www"); };`})
	if r := in.api("POST", "/v1/links", `{"domain":"www.example.net","key":"a","destination":"https://a.example/"}`); r.status != 201 {
		t.Fatal(r)
	}
	eventually(t, "the link", func() bool { r, _ := in.ask("http://www.example.net/a"); return r.status == 302 })
	for range 3 {
		in.ask("http://shop.example.net/a")
	}
	in.ask("http://other.example/a")
	before := in.api("GET", "/v1/domains/example.net", "").header.Get("ETag")
	hits := len(in.hits())
	r := in.api("POST", "/v1/domains/example.net/dry-run?hits=100", `{"rules":"main { optional www = website(\"www\\\\.|shop\\\\.\", \"www\"); };"}`)
	var got struct {
		Hits, Requests, Changed int
		ChangedHits             int `json:"changed_hits"`
		Differences             []struct {
			Request       string
			Hits          int
			Before, After struct {
				Status                     int
				Location, Website, Outcome string
			}
		}
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 200 {
		t.Fatal(err, r)
	}
	if got.Changed != 1 || got.ChangedHits != 3 || got.Differences[0].Request != "http://shop.example.net/a" || got.Differences[0].Before.Outcome != "unknown_website" ||
		got.Differences[0].After.Location != "https://a.example/" || got.Differences[0].After.Website != "www.example.net" || got.Hits != hits-1 {
		t.Errorf("%+v", got)
	}
	if in.api("GET", "/v1/domains/example.net", "").header.Get("ETag") != before || len(in.hits()) != hits {
		t.Error("the dry run changed something")
	}
}

// A redirect to a path of the same website keeps the options that brought the visitor there, and never comes back to where it began.
func TestRedirectsOnTheSameWebsite(t *testing.T) {
	t.Parallel()
	in := ruled(t)
	in.rulesOn("example.net", map[string]any{"rules": `shop { required shop = website("shop\\.", "shop"); }; main { optional www = website("www\\.", "www"); };`,
		"websites": map[string]any{
			"*":                map[string]any{"rules": `main { query required v = "(1|2)"; query optional language = flag("en|fr"); path optional region = flag("eu|us"); };`, "unknown_query": "strip"},
			"shop.example.net": map[string]any{"rules": `shop { path optional start = website("", "shop"); };`},
		}})
	for _, l := range [][3]string{
		{"www.example.net", "v=1/a", "/v=1/b#x"}, {"www.example.net", "v=1/self", "https://www.example.net/self"},
		{"shop.example.net", "shop/a", "/a"}, {"shop.example.net", "shop/b", "/shop/c"}, {"shop.example.net", "shop", "https://example.com/start"},
		{"www.example.net", "v=2/c", "/v=2/d"},
	} {
		b, _ := json.Marshal(map[string]string{"domain": l[0], "key": l[1], "destination": l[2]})
		if r := in.api("POST", "/v1/links", string(b)); r.status != 201 {
			t.Fatal(r)
		}
	}
	for u, want := range map[string]string{
		"http://www.example.net/eu/a/z?v=1&lang=fr&utm_id=7": "302 /eu/b/z?utm_id=7&v=1&lang=fr#x",
		"http://www.example.net/a?v=1&lang=fr&lang=en&bad=1": "302 /a?v=1&lang=fr", // strip: the first language counts
		"http://www.example.net/self?v=1":                    "404 ",
		"http://www.example.net/c/z?v=2":                     "302 /d/z?v=2",
		"http://shop.example.net/a":                          "404 ", // no link, and "/a" would be on another website
		"http://shop.example.net/":                           "302 https://example.com/start",
		"http://shop.example.net/b/z":                        "302 https://example.com/start/c/z",
	} {
		eventually(t, u+" is answered "+want, func() bool {
			r, _ := in.ask(u)
			return fmt.Sprint(r.status, " ", r.header.Get("Location")) == want
		})
	}
}

// The default domain's rules see its own name for hosts that are not registered.
func TestDefaultDomainWithRules(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.configure("localhost", `{"rules":"main { optional www = website(\"www\\\\.\", \"www\"); };"}`)
	in.create("Docs%C3%A9", "https://docs.example/")
	for host, path := range map[string]string{"localhost": "/Docs%C3%A9", "192.0.2.1": "/Docs%C3%A9", "www.localhost": "/Docs%C3%A9"} {
		eventually(t, host+" is redirected", func() bool { return in.get(path, "Host", host).status == 302 })
	}
}

// No answer of a ruled website brings its visitor back to where another answer sends them on.
func TestNoLoopsByRules(t *testing.T) {
	t.Parallel()
	in := ruled(t)
	in.rulesOn("example.net", map[string]any{"rules": `main { optional www = website("www\\.", "www"); };`, "websites": map[string]any{
		"*": map[string]any{"unknown_query": "pass", "rules": `r0 { port="80"; query required options::language=flag("[a-z]*"); };
r1 { path required language=flag(""); query optional canonalize::language=flag("[a-z.]+"); };`}}})
	if r, h := in.ask("https://www.example.net/?lang=fr"); r.status == 301 {
		t.Errorf("https: %v\n%v", r.header, h)
	}
	in.rulesOn("example.org", map[string]any{"rules": `main { optional www = website("www\\.", "www"); };`, "websites": map[string]any{
		"*": map[string]any{"rules": `main { path optional canonalize::language = flag("en|fr"); path optional extension::language = flag("en|fr"); query optional options::language = flag("en|fr"); };`}}})
	for _, l := range [][3]string{
		{"www.example.org", "a", "/B"}, {"www.example.org", "b", "/A"}, {"www.example.org", "blog/x", "/blog/y.en"}, {"www.example.org", "blog/y", "/blog/x.en"},
	} {
		b, _ := json.Marshal(map[string]string{"domain": l[0], "key": l[1], "destination": l[2]})
		if r := in.api("POST", "/v1/links", string(b)); r.status != 201 {
			t.Fatal(r)
		}
	}
	for _, u := range []string{"http://www.example.org/a", "http://www.example.org/B", "http://www.example.org/blog/x", "http://www.example.org/blog/y.fr"} {
		eventually(t, u+" comes to an end", func() bool {
			r, h := in.ask(u)
			return r.status == 404 && h.GetOutcome() == linkfoldv1.Outcome_OUTCOME_UNRESOLVABLE
		})
	}
	// Unknown parameters are refused before anything is made canonical, or passed on with it.
	if r, _ := in.ask("http://www.example.org/en/x?language=fr&bogus=1"); r.status != 404 {
		t.Errorf("unknown parameter: %+v", r)
	}
}

// What was promised to a domain's visitors outlives the domain.
func TestRemovedDomainsKeepTheirPolicy(t *testing.T) {
	t.Parallel()
	in := ruled(t)
	in.configure("example.net", `{"tracking":"none"}`)
	etag := in.api("GET", "/v1/domains/example.net", "").header.Get("ETag")
	if r := in.api("DELETE", "/v1/domains/example.net", "", "If-Match", etag); r.status != 200 {
		t.Fatal(r)
	}
	eventually(t, "the domain is gone", func() bool { return in.get("/", "Host", "example.net").body == "Unknown Domain\n" })
	if _, h := in.ask("http://example.net/x"); h.GetPerson() != nil || h.GetVisitorDay() != 0 {
		t.Errorf("hit remembers the visitor: %v", h)
	}
	if _, h := in.ask("http://other.example/x", "Sec-GPC", "1"); h.GetPerson() != nil {
		t.Errorf("hit remembers a visitor who does not want that: %v", h)
	}
}
