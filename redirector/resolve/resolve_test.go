package resolve

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ruleset(t testing.TB, text string) Map {
	t.Helper()
	rules, err := ParseRuleset(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// TestRulings has a case for each ruling that the vectors do not settle.
func TestRulings(t *testing.T) {
	for _, c := range []struct{ name, rules, path, want, failure string }{
		{"A1 one slash", `{"a": "https://x.example/p/"}`, "/a/b", "https://x.example/p/b", ""},
		{"A1 only at the seam", `{"a": "/two/", "two": "https://x.example/p"}`, "/a/z", "https://x.example/p//z", ""},
		{"A1 two slashes", `{"a": "https://x.example"}`, "/a//b", "https://x.example//b", ""},
		{"A4 home", `{"home": "/"}`, "/home/evil.example/x", "https://go.example/evil.example/x", ""},
		{"A4 two slashes", `{}`, "//evil.example/x", "https://go.example//evil.example/x", ""},
		{"A4 nothing but slashes", `{}`, "//", "https://go.example//", ""},
		{"A4 tab", `{"a": "/\t/evil.example"}`, "/a", "https://go.example//evil.example", ""},
		{"A5", `{"a": "x.example"}`, "/a", "", "invalid value"},
		{"A7", `{"a": "//evil.example"}`, "/a", "", "invalid value"},
		{"A8", `{"a": "httpx://h"}`, "/a", "", "invalid destination"},
		{"A9", `{}`, "/constructor", "https://go.example/constructor", ""},
		{"A10 cut at the end", `{"a": "/c?x=1#y?a=1?b=2#z"}`, "/a/r", "https://go.example/c/r?b=2#z", ""},
		{"A10 cut in the rest", `{"a": "/c/k?a=1?b=2", "c": "https://x.example"}`, "/a/r", "https://x.example/k/r?b=2", ""},
		{"A10 looked up uncut", `{"a": "/c?a=1?b=2", "c?a=1": "https://x.example"}`, "/a/r", "https://x.example/r?b=2", ""},
		{"A11", `{"a": "/b/../c", "b": "https://x.example/p"}`, "/a", "", "path traversal"},
		{"A11 encoded", `{"a": "/b/x/%2E.", "b": "https://x.example/p"}`, "/a", "", "path traversal"},
		{"A11 backslash", `{"a": "/b/x\\..\\..\\c", "b": "https://x.example/p"}`, "/a", "", "path traversal"},
		{"A11 tab", `{"a": "/b/.\t./c", "b": "https://x.example/p"}`, "/a", "", "path traversal"},
		{"A11 not in a path to look up", `{"a": "/b/../c"}`, "/a", "https://go.example/c", ""},
		{"A11 single dot", `{"a": "/b/./c/.", "b": "https://x.example/p"}`, "/a", "https://x.example/p/c/", ""},
		{"A12", `{"a": "/b c/é\"?q=é#f g"}`, "/a", "https://go.example/b%20c/%C3%A9%22?q=%C3%A9#f%20g", ""},
		{"A12 space at the end", `{"a": "/b "}`, "/a", "https://go.example/b%20", ""},
		{"A14", `{"": "https://x.example"}`, "//y", "https://go.example//y", ""},
		{"raw keys are reachable from values", `{"a": "/b c/r", "b c": "https://x.example"}`, "/a", "https://x.example/r", ""},
		{"and not from requests", `{"b c": "https://x.example"}`, "/b%20c", "https://go.example/b%20c", ""},
		{"later hops are prepended", `{"a": "/b/y", "b": "https://z.example/q"}`, "/a/x", "https://z.example/q/y/x", ""},
		{"key with a slash at its end", `{"docs/": "https://x.example"}`, "/docs//y", "https://x.example/y", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, failure := answer(t, ruleset(t, c.rules), "https://go.example"+c.path, Options{})
			if got != c.want || failure != c.failure {
				t.Errorf("%s %s: got %q %q, want %q %q", c.rules, c.path, got, failure, c.want, c.failure)
			}
		})
	}
}

func TestMaxHops(t *testing.T) {
	for _, c := range []struct {
		redirects, limit int
		ok               bool
	}{
		{255, 0, true}, {256, 0, false}, {3, 3, true}, {4, 3, false}, {0, -1, true}, {1, -1, false}, {1, 1, true}, {300, 300, true},
	} {
		r := Request{Origin: "https://go.example", Path: "/k0"}
		result, err := Resolve(context.Background(), chain(c.redirects), r, Options{MaxHops: c.limit})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrTooManyRedirects) {
			t.Errorf("%d redirects, limit %d: %v", c.redirects, c.limit, err)
		}
		if len(result.Chain) != result.Hops || c.ok && result.Hops != c.redirects {
			t.Errorf("%d redirects, limit %d: %d hops, %d links after the first", c.redirects, c.limit, result.Hops, len(result.Chain))
		}
	}
}

func TestResult(t *testing.T) {
	rules := ruleset(t, `{"a": "/b/c", "b": "https://x.example/", "bad": "ftp://x", "toBad": "/bad", "out": "/elsewhere"}`)
	for _, c := range []struct {
		path    string
		matched bool
		keys    []string
		hops    int
		err     error
	}{
		{"/a/r", true, []string{"a", "b"}, 1, nil},
		{"/b", true, []string{"b"}, 0, nil},
		{"/none", false, nil, 0, nil},
		{"/out", false, []string{"out"}, 1, nil},
		{"/toBad/x", false, []string{"toBad", "bad"}, 1, ErrInvalidValue},
	} {
		got, err := Resolve(context.Background(), rules, Request{Origin: "https://go.example", Path: c.path}, Options{})
		if !errors.Is(err, c.err) || got.Matched != c.matched || got.Hops != c.hops || (err != nil) != (got.URL == "") {
			t.Errorf("%s: got %+v, %v", c.path, got, err)
		}
		var keys []string
		if got.First.Value != nil {
			keys = append(keys, got.First.Key)
		}
		for _, m := range got.Chain {
			keys = append(keys, m.Key)
		}
		if !cmp.Equal(keys, c.keys) {
			t.Errorf("%s: links %q, want %q", c.path, keys, c.keys)
		}
	}
}

// lockedRules locks some keys of a Map.
type lockedRules struct {
	Map
	locked string
}

func (l lockedRules) Longest(ctx context.Context, path string) (Match, bool, error) {
	m, ok, err := l.Map.Longest(ctx, path)
	m.Locked, m.Revision = strings.Contains(l.locked, m.Key), 7
	return m, ok, err
}

func TestLocked(t *testing.T) {
	rules := Map{
		"d": ParseValue("https://x.example/p?sig=~%20a+b'&b#top"),
		"i": ParseValue("/d/r"),
		"q": ParseValue("/d?e=1#f"),
		"o": ParseValue("/elsewhere?e=1"),
	}
	for _, c := range []struct{ locked, path, want string }{
		{"d", "/d", "https://x.example/p?sig=~%20a+b%27&b#top"},
		{"d", "/d/y?u=1#v", "https://x.example/p/y?sig=~%20a+b%27&b#top"},
		{"", "/d?u=1#v", "https://x.example/p?sig=%7E+a+b%27&b=&u=1#v"},
		{"d", "/i?u=1", "https://x.example/p/r?sig=~%20a+b%27&b#top"},
		{"i", "/i?u=1#v", "https://x.example/p/r?sig=~%20a+b%27&b#top"},
		{"d", "/q?u=1#v", "https://x.example/p?sig=%7E+a+b%27&b=&e=1#f"},
		{"o", "/o?u=1#v", "https://go.example/elsewhere?e=1"},
		{"d", "/none?u=1#v", "https://go.example/none?u=1#v"},
	} {
		got, failure := answer(t, lockedRules{rules, c.locked}, "https://go.example"+c.path, Options{})
		if got != c.want {
			t.Errorf("%s locked, %s: got %q %s, want %q", c.locked, c.path, got, failure, c.want)
		}
	}
}

var errDown = errors.New("down")

type brokenRules struct{}

func (brokenRules) Longest(context.Context, string) (Match, bool, error) {
	return Match{}, false, errDown
}

func TestRulesetErrorsAreReturned(t *testing.T) {
	_, err := Resolve(context.Background(), brokenRules{}, Request{Origin: "https://go.example", Path: "/a"}, Options{})
	if !errors.Is(err, errDown) || Reason(err) != nil {
		t.Errorf("resolve: %v", err)
	}
	if _, err := FindLoop(context.Background(), brokenRules{}, "a"); !errors.Is(err, errDown) {
		t.Errorf("find loop: %v", err)
	}
}

func TestLocalLocation(t *testing.T) {
	for path, want := range map[string]string{"/x": "/x", "/": "/", "//x": "/.//x", "///x?y#z": "/.///x?y#z", "/.//x": "/.//x"} {
		if got := LocalLocation(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}

func TestTrace(t *testing.T) {
	rules := ruleset(t, `{"a": "/b/y?e=1#f", "b": "https://x.example/?d=1"}`)
	var steps []Step
	r := Request{Origin: "https://go.example", Path: "/a/r/s", Query: "q=1"}
	if _, err := Resolve(context.Background(), rules, r, Options{Trace: func(s Step) { steps = append(steps, s) }}); err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Action: ActionMatch, Path: "/a/r/s", Candidates: []string{"a/r/s", "a/r", "a"}, Key: "a", Value: "/b/y?e=1#f", Remaining: "/r/s", Relative: "/r/s"},
		{Action: ActionRedirect, Path: "/b/y", Hop: 1, Relative: "/r/s", EmbeddedQuery: "?e=1", Fragment: "#f", FragmentFrom: "value"},
		{Action: ActionMatch, Path: "/b/y", Candidates: []string{"b/y", "b"}, Key: "b", Value: "https://x.example/?d=1", Remaining: "/y", Relative: "/y/r/s"},
		{Action: ActionCombine, Relative: "/y/r/s", DestinationQuery: "?d=1", EmbeddedQuery: "?e=1", RequestQuery: "?q=1", Fragment: "#f",
			FragmentFrom: "value", URL: "https://x.example/y/r/s?d=1&e=1&q=1#f"},
	}
	if d := cmp.Diff(want, steps); d != "" {
		t.Error(d)
	}
}
