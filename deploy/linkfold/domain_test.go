package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"linkfold/redirector/admin"
)

const (
	wwwRules = "main {\n\toptional www = website(\"w{1,4}\\.\", \"www\");\n};\n"
	anyRules = "main {\n  protocol = \"any\";\n};\n"
)

func TestDomainCommands(t *testing.T) {
	t.Parallel()
	in := startUp(t)
	for name, test := range map[string]func(*testing.T, *running){
		"set keeps the rest": setKeepsTheRest, "conflicts": domainConflicts, "errors in scripts": scriptErrors, "dry run": domainDryRun,
		"history and removal": historyAndRemoval, "checksum": domainChecksum, "document": domainDocument,
		"endpoints": endpointsOfAPI,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &running{t, in.Running, in.dir})
		})
	}
}

// Each command changes what it names and nothing else.
func setKeepsTheRest(t *testing.T, in *running) {
	out, _ := in.command(0, "set", "Keep.example", "--rules", scriptFile(t, wwwRules), "--tracking", "hash", "--fallback", "https://example.org/lost")
	contains(t, out, "domain keep.example: registered, revision ")
	out, _ = in.command(0, "set", "keep.example", "--website", "WWW.keep.example="+scriptFile(t, anyRules), "--max-hops", "9", "--redirect-status", "308", "--generator", "qr")
	contains(t, out, "changed", "warning: redirect_status", "--unknown-query '*=404'")
	in.command(0, "set", "keep.example", "--unknown-query", "*=strip", "--allow-query", "*=utm_*", "--allow-query", "*=ref", "--default-website", "www.keep.example")
	out, _ = in.command(0, "set", "keep.example", "--tracking", "hash")
	contains(t, out, "nothing to change")
	out, _ = in.command(0, "get", "keep.example")
	want := `domain             keep.example
revision           N
created            TIME
tracking           hash
redirect status    308
fallback           https://example.org/lost
max hops           9
generator          qr
code length        5 (default)
default website    www.keep.example
rules
    main {
    	optional www = website("w{1,4}\.", "www");
    };

website            * (all others)
  unknown query    strip
  allowed query    utm_* ref
  rules            none

website            www.keep.example
  unknown query    404 (default)
  allowed query    the built-in list (default)
  rules
      main {
        protocol = "any";
      };
`
	out = regexp.MustCompile(`(?m)^(revision +)\d+$`).ReplaceAllString(out, "${1}N")
	out = regexp.MustCompile(`(?m)^(created +)[-\d: ]+$`).ReplaceAllString(out, "${1}TIME")
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	in.command(0, "set", "keep.example", "--fallback", "", "--max-hops", "0", "--allow-query", "*=", "--no-website", "www.keep.example")
	d := in.domain("keep.example")
	if w := d.Websites["*"]; d.Fallback != "" || d.MaxHops != 0 || d.Tracking != "hash" || d.Rules != wwwRules || len(d.Websites) != 1 || len(w.AllowedQuery) != 0 || w.UnknownQuery != "strip" {
		t.Errorf("%+v", d)
	}
	in.command(0, "set", "keep.example", "--no-website", "*", "--no-rules")
	out, _ = in.command(0, "get", "keep.example")
	contains(t, out, "rules              none\n")
}

func domainConflicts(t *testing.T, in *running) {
	_, screen := in.command(1, "set", "conflict.example", "--if-revision", "5")
	contains(t, screen, "is not registered", "--if-revision")
	in.command(0, "set", "conflict.example")
	first := in.domain("conflict.example").Revision
	in.command(0, "set", "conflict.example", "--tracking", "none", "--if-revision", strconv.FormatUint(first, 10))
	second := in.domain("conflict.example").Revision
	for _, verb := range [][]string{{"set", "conflict.example", "--tracking", "hash"}, {"remove", "conflict.example"}} {
		_, screen = in.command(1, append(verb, "--if-revision", strconv.FormatUint(first, 10))...)
		contains(t, screen, "somebody changed domain conflict.example meanwhile", "linkfold domain get conflict.example", "current revision is "+strconv.FormatUint(second, 10))
	}
	if d := in.domain("conflict.example"); d.Tracking != "none" || d.Revision != second {
		t.Errorf("%+v", d)
	}
}

// Errors and warnings name the file that was given, or the field when the script came otherwise.
func scriptErrors(t *testing.T, in *running) {
	bad, two := scriptFile(t, "main { };"), scriptFile(t, "a {\n optional x = \"[a-\";\n optional y = \"(\";\n};\n")
	_, screen := in.command(1, "set", "bad.example", "--rules", two, "--website", "*="+bad, "--redirect-status", "999")
	contains(t, screen, "nothing was changed:\n"+two+":2:15: ", "\n"+two+":3:15: ", "\n"+bad+":1:8: parsing error: expected a variable", "\nredirect_status: 999: give 301")
	_, screen = in.command(1, "set", "bad.example", "--rules", bad, "--dry-run")
	contains(t, screen, bad+":1:8: parsing error")
	_, screen = in.command(1, "set", "bad.example", "--max-hops", "256")
	contains(t, screen, "max_hops: expected number <= 255, not 256")
	document := scriptFile(t, `{"rules": "main { };"}`)
	_, screen = in.command(1, "set", "bad.example", "--config", document)
	contains(t, screen, "\nrules:1:8: parsing error")
	_, screen = in.command(1, "set", "bad.example", "--rules", scriptFile(t, "\n"))
	contains(t, screen, "is empty")
	_, screen = in.command(1, "set", "bad.example", "--no-website", "www.bad.example")
	contains(t, screen, "no entry for it")
	_, screen = in.command(1, "get", "bad.example")
	contains(t, screen, "not found")
	warned := scriptFile(t, "any { required language = flag(\"(en|fr)\\.\", \"\"); };")
	out, _ := in.command(0, "set", "bad.example", "--rules", warned)
	contains(t, out, warned+":1:16: warning: ")
}

// A dry run names the requests that would be answered differently, and changes nothing.
func domainDryRun(t *testing.T, in *running) {
	in.command(0, "set", "example.net", "--rules", scriptFile(t, wwwRules))
	in.link("www.example.net", "a")
	eventually(t, "link and rules are served", func() bool { return in.visit("www.example.net", "/a") == http.StatusFound })
	in.visit("ww.example.net", "/a")
	before := in.domain("example.net").Revision
	next := scriptFile(t, "any { required language = \"(en|fr)\\.\"; };")
	var out string
	eventually(t, "both requests are in the stream", func() bool {
		out, _ = in.command(0, "set", "example.net", "--rules", next, "--dry-run", "500")
		return strings.Contains(out, "http://ww.example.net/a")
	})
	contains(t, out, "dry run, nothing was changed: ", "2 of 2 different requests", "http://www.example.net/a", "www.example.net/a")
	for _, row := range []string{`before +redirected +302 +https://example.com/ +www.example.net/a`, `→ after +unknown_website +404`} {
		if !regexp.MustCompile(row).MatchString(out) {
			t.Errorf("no row %q in\n%s", row, out)
		}
	}
	out, _ = in.command(0, "set", "example.net", "--tracking", "none", "--dry-run", "--json")
	var r admin.DryRun
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Hits < 2 || r.Changed != 0 {
		t.Errorf("%v %+v", err, r)
	}
	if d := in.domain("example.net"); d.Revision != before || d.Rules != wwwRules || d.Tracking != "cookie" {
		t.Errorf("the dry run changed %+v", d)
	}
}

func historyAndRemoval(t *testing.T, in *running) {
	in.command(0, "set", "history.example", "--rules", scriptFile(t, wwwRules), "--reason", "begin")
	in.command(0, "set", "history.example", "--rules", scriptFile(t, strings.Replace(wwwRules, "main {", "/* a */\nall {", 1)), "--tracking", "none", "--website", "*="+scriptFile(t, anyRules))
	out, _ := in.command(0, "remove", "history.example", "--reason", "end")
	contains(t, out, "domain history.example: removed, revision ")
	_, screen := in.command(1, "remove", "history.example")
	contains(t, screen, "not found")
	in.command(0, "set", "history.example", "--tracking", "hash")
	out, _ = in.command(0, "history", "history.example")
	var rows []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		line = regexp.MustCompile(`^ +\d+ +[-\d]{10} [:\d]{8} +`).ReplaceAllString(line, "")
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"admin DomainConfigured begin rules (+3 −0 lines)",
		"admin DomainConfigured tracking, rules (+2 −1 lines), websites[*] added,",
		"websites[*].rules (+3 −0 lines)",
		"admin DomainRemoved end",
		"admin DomainConfigured tracking",
	}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	out, _ = in.command(0, "history", "history.example", "--json")
	var h domainHistory
	if err := json.Unmarshal([]byte(out), &h); err != nil || len(h.Revisions) != 4 || h.Revisions[0].Domain.Rules != wwwRules {
		t.Error(err, out)
	}
}

// The checksum of the log is the one that verify finds in Redis.
func domainChecksum(t *testing.T, in *running) {
	in.command(0, "set", "sum.example")
	in.link("sum.example", "a")
	in.link("sum.example", "b/c")
	out, _ := in.command(0, "checksum", "sum.example", "--json")
	var r admin.Ruleset
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Links != 2 {
		t.Fatal(err, out)
	}
	out, _ = in.command(0, "checksum", "sum.example")
	contains(t, out, "links              2, and 0 deleted\n", "checksum           "+r.Checksum)
	eventually(t, "verify finds "+r.Checksum, func() bool { return in.verified("sum.example") == "2 "+r.Checksum })
}

// A document that was read, edited and sent back does not overwrite what others have changed since.
func domainDocument(t *testing.T, in *running) {
	in.command(0, "set", "document.example", "--rules", scriptFile(t, wwwRules), "--fallback", "https://example.org/")
	out, _ := in.command(0, "get", "document.example", "--json")
	file := scriptFile(t, strings.Replace(out, `"cookie"`, `"none"`, 1))
	in.command(0, "set", "document.example", "--config", file, "--max-hops", "3")
	if d := in.domain("document.example"); d.Tracking != "none" || d.MaxHops != 3 || d.Fallback != "https://example.org/" {
		t.Errorf("%+v", d)
	}
	_, screen := in.command(1, "set", "document.example", "--config", file)
	contains(t, screen, "somebody changed")
	in.command(0, "set", "document.example", "--config", scriptFile(t, `{"tracking":"hash"}`))
	if d := in.domain("document.example"); d.Tracking != "hash" || d.Rules != "" || d.Fallback != "" {
		t.Errorf("the document did not replace everything: %+v", d)
	}
	_, screen = in.command(1, "set", "document.example", "--config", scriptFile(t, `{"tracing":"hash"}`))
	contains(t, screen, "tracing")
	other := in.domain("document.example").Revision
	in.command(0, "set", "copy.example", "--config", file)
	if d := in.domain("copy.example"); d.Tracking != "none" || d.Revision <= other {
		t.Errorf("%+v", d)
	}
}

// The file of endpoints also says where the API is.
func endpointsOfAPI(t *testing.T, in *running) {
	b, err := os.ReadFile(filepath.Join(in.dir, "endpoints.json"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(b), `"admin": "http://`+in.Admin+`"`, `"token_file": "`+in.TokenFile+`"`, `"clickhouse": "`)
}
