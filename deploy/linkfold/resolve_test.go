package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// resolveLine is a line of output, read without the code under test.
type resolveLine struct {
	Request, Destination, Error string
	Hops                        int
	Trace                       []map[string]any
}

// rulesFile writes a ruleset to a file.
func rulesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runResolve runs the command; screen is what a person would see.
func runResolve(t *testing.T, args ...string) (out, screen string, code int) {
	t.Helper()
	var o, s bytes.Buffer
	code = run(append([]string{"resolve"}, args...), &o, &s)
	return o.String(), s.String(), code
}

func TestResolveVectors(t *testing.T) {
	n := 0
	for _, name := range []string{"shortlink_public.json", "shortlink_generated.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "redirector", "resolve", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Cases []struct {
				ID, Request, Expected, Error string
				Ruleset                      json.RawMessage
			}
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for _, c := range file.Cases {
			n++
			out, screen, code := runResolve(t, "--ruleset", rulesFile(t, string(c.Ruleset)), "--", c.Request)
			var got resolveLine
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
				t.Fatalf("%s: code %d, %v: %s%s", c.ID, code, err, out, screen)
			}
			if got.Request != c.Request || got.Destination != c.Expected || got.Error != c.Error {
				t.Errorf("%s: got %s, want %q %q", c.ID, out, c.Expected, c.Error)
			}
		}
	}
	if n < 228 {
		t.Errorf("%d vectors: some are missing", n)
	}
}

func TestResolvePrints(t *testing.T) {
	rules := rulesFile(t, `{"a": "/b", "b": "https://x.example/?q=<1>&r={v=d}", "zig": "/zag", "zag": "/zig"}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"https://go.example/a"}, `{"request":"https://go.example/a","destination":"https://x.example/?q=%3C1%3E&r=%7Bv%3Dd%7D","hops":1}`},
		{[]string{"--var", "v=é;w=1", "https://go.example/b"}, `{"request":"https://go.example/b","destination":"https://x.example/?q=%3C1%3E&r=%C3%A9%3Bw%3D1","hops":0}`},
		{[]string{"--var", "other=1", "https://go.example/b"}, `{"request":"https://go.example/b","destination":"https://x.example/?q=%3C1%3E&r=d","hops":0}`},
		{[]string{"<a>&b"}, `{"request":"<a>&b","error":"invalid request","hops":0}`},
		{[]string{"https://go.example/zig"}, `{"request":"https://go.example/zig","error":"too many internal redirects","hops":255}`},
		{[]string{"--max-hops=3", "https://go.example/zig"}, `{"request":"https://go.example/zig","error":"too many internal redirects","hops":3}`},
		{[]string{"--max-hops=0", "https://go.example/a"}, `{"request":"https://go.example/a","error":"too many internal redirects","hops":0}`},
		{[]string{"https://go.example/1", "https://go.example/2"}, `{"request":"https://go.example/1","destination":"https://go.example/1","hops":0}` +
			"\n" + `{"request":"https://go.example/2","destination":"https://go.example/2","hops":0}`},
	} {
		out, screen, code := runResolve(t, append([]string{"--ruleset", rules}, c.args...)...)
		if code != 0 || screen != "" || out != c.want+"\n" {
			t.Errorf("%q: code %d, %s\ngot  %swant %s", c.args, code, screen, out, c.want)
		}
	}
}

func TestResolveExplains(t *testing.T) {
	rules := rulesFile(t, `{"a": "/b", "b": "https://x.example/"}`)
	out, _, code := runResolve(t, "--explain", "--ruleset", rules, "https://go.example/a/r?x=1", "none")
	lines := strings.Split(out, "\n")
	if code != 0 || len(lines) != 3 {
		t.Fatalf("code %d: %s", code, out)
	}
	var good, bad resolveLine
	if err := json.Unmarshal([]byte(lines[0]), &good); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &bad); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, step := range append(good.Trace, bad.Trace...) {
		actions = append(actions, step["action"].(string))
	}
	if got := strings.Join(actions, ", "); got != "match, redirect, match, combine, refuse" {
		t.Errorf("steps are %s:\n%s", got, out)
	}
}

func TestResolveReadsLines(t *testing.T) {
	c := &resolveCmd{Ruleset: rulesFile(t, `{"a": "https://x.example/"}`), MaxHops: 255}
	var out bytes.Buffer
	in := strings.NewReader("https://go.example/a\n\n  \r\nhttps://go.example/b\r\nftp://x/\nhttps://go.example/a?x")
	if err := c.Run(&env{ctx: t.Context(), in: in, out: &out}); err != nil {
		t.Fatal(err)
	}
	want := `{"request":"https://go.example/a","destination":"https://x.example/","hops":0}
{"request":"https://go.example/b","destination":"https://go.example/b","hops":0}
{"request":"ftp://x/","error":"invalid request","hops":0}
{"request":"https://go.example/a?x","destination":"https://x.example/?x=","hops":0}
`
	if out.String() != want {
		t.Errorf("got %swant %s", &out, want)
	}
}

// TestResolveAnswersAtOnce talks with the command line by line, and then interrupts it while it waits for the next.
func TestResolveAnswersAtOnce(t *testing.T) {
	c := &resolveCmd{Ruleset: rulesFile(t, `{}`), MaxHops: 255}
	asked, ask := io.Pipe()
	answers, answer := io.Pipe()
	defer ask.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(&env{ctx: ctx, in: asked, out: answer}) }()
	lines := json.NewDecoder(answers)
	for range 3 {
		if _, err := io.WriteString(ask, "https://go.example/a\n"); err != nil {
			t.Fatal(err)
		}
		var line resolveLine
		if err := lines.Decode(&line); err != nil || line.Destination != "https://go.example/a" {
			t.Fatalf("%+v, %v", line, err)
		}
	}
	interrupt()
	if err := <-ended; err == nil {
		t.Error("ended without an error")
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"x"}, 2, "--ruleset"},
		{[]string{"--ruleset", filepath.Join(t.TempDir(), "none.json"), "x"}, 1, "open ruleset"},
		{[]string{"--ruleset", rulesFile(t, `{"a": 1}`), "x"}, 1, `line 1, column 7: the value of key "a" is a number: write a string`},
		{[]string{"--ruleset", rulesFile(t, `[]`), "x"}, 1, "write a JSON object"},
		{[]string{"--ruleset", rulesFile(t, `{}`), "--max-hops=256", "x"}, 2, "give 0 to 255"},
		{[]string{"--ruleset", rulesFile(t, `{}`), "--var=1a=x", "x"}, 2, "a name is letters"},
	} {
		out, screen, code := runResolve(t, c.args...)
		if code != c.code || out != "" || !strings.Contains(screen, c.want) {
			t.Errorf("%q: code %d, out %q, screen %q; want %d and %q", c.args, code, out, screen, c.code, c.want)
		}
	}
}
