package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		path string
		want []string
	}{
		{"", nil}, {"/", nil}, {"/a", []string{"a"}}, {"/docs/", []string{"docs/", "docs"}},
		{"/a/b/c", []string{"a/b/c", "a/b", "a"}}, {"//x", []string{"/x"}}, {"/a//b", []string{"a//b", "a/", "a"}},
	} {
		if got := slices.Collect(Candidates(c.path)); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.path, got, c.want)
		}
	}
}

func TestParseRuleset(t *testing.T) {
	rules := ruleset(t, "\uFEFF{\"a\": \"/old\", \"\\u00e9\": \"\", \"a\": \"/new\"}\n")
	if len(rules) != 2 || rules["a"].String() != "/new" || rules["é"].String() != "" {
		t.Errorf("got %v", rules)
	}
	for text, want := range map[string]string{
		``:                              "line 1, column 1: the ruleset ends too early",
		"\n":                            "line 2, column 1: the ruleset ends too early",
		`[]`:                            "line 1, column 1: the ruleset is an array",
		`"x"`:                           "line 1, column 1: the ruleset is a string",
		"{\n \"a\": \"x\",\n \"b\": 1}": `line 3, column 7: the value of key "b" is a number`,
		`{"a": null}`:                   `line 1, column 7: the value of key "a" is null`,
		`{"a": {"b": "c"}}`:             `line 1, column 7: the value of key "a" is an object`,
		`{"a": ["b"]}`:                  `line 1, column 7: the value of key "a" is an array`,
		`{"a": true}`:                   `line 1, column 7: the value of key "a" is true or false`,
		`{"a": "b"`:                     "line 1, column 10: the ruleset ends too early",
		`{"a": "b"} {}`:                 "line 1, column 12: text follows the end",
		`{"a" "b"}`:                     "line 1, column 6: the ruleset is no valid JSON",
		`{a: "b"}`:                      "line 1, column 2: the ruleset is no valid JSON",
		`{"a": "b",}`:                   "the ruleset is no valid JSON",
		`nonsense`:                      "line 1, column 1: the ruleset is no valid JSON",
	} {
		if _, err := ParseRuleset(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s…", text, err, want)
		}
	}
}

func TestFindLoop(t *testing.T) {
	long := Map{}
	for i := range 300 {
		long[fmt.Sprintf("k%d", i)] = ParseValue(fmt.Sprintf("/k%d", i+1))
	}
	for _, c := range []struct {
		name, rules, key string
		want             []string
	}{
		{"two keys", `{"zig": "/zag", "zag": "/zig"}`, "zig", []string{"zig", "zag", "zig"}},
		{"a way into it", `{"x": "/zig", "zig": "/zag", "zag": "/zig?q"}`, "x", []string{"zig", "zag", "zig"}},
		{"itself", `{"a": "/a"}`, "a", []string{"a", "a"}},
		{"itself with ever more path", `{"a": "/a/x"}`, "a", []string{"a", "a"}},
		{"by prefixes", `{"a": "/b/x", "b": "/a/y"}`, "a", []string{"a", "b", "a"}},
		{"out by a longer key", `{"a": "/a/x", "a/x": "https://x.example"}`, "a", nil},
		{"destination", `{"a": "/b", "b": "https://x.example"}`, "a", nil},
		{"no match", `{"a": "/b"}`, "a", nil},
		{"not even the first", `{}`, "a", nil},
		{"invalid value", `{"a": "/b", "b": "//a"}`, "a", nil},
		{"placeholders", `{"a": "/{x}/a"}`, "a", nil},
	} {
		got, err := FindLoop(context.Background(), ruleset(t, c.rules), c.key)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if got, err := FindLoop(context.Background(), long, "k0"); !errors.Is(err, ErrTooManyRedirects) {
		t.Errorf("long chain: %q, %v", got, err)
	}
	if got, err := FindLoop(context.Background(), chain(DefaultMaxHops), "k0"); got != nil || err != nil {
		t.Errorf("longest chain: %q, %v", got, err)
	}
}

// TestFindLoopAgreesWithResolve: a chain is too long exactly if there is a loop, in every ruleset of the vectors.
func TestFindLoopAgreesWithResolve(t *testing.T) {
	for _, v := range vectors(t) {
		rules := ruleset(t, string(v.Ruleset))
		for key := range rules {
			if key == "" {
				continue
			}
			_, resolved := Resolve(context.Background(), rules, Request{Origin: "https://go.example", Path: "/" + key}, Options{})
			loop, err := FindLoop(context.Background(), rules, key)
			if errors.Is(resolved, ErrTooManyRedirects) != (loop != nil || err != nil) {
				t.Errorf("%s %q: resolve %v; loop %q, %v", v.ID, key, resolved, loop, err)
			}
		}
	}
}
