package resolve

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A fuzzed ruleset is text, so that most mutations of it are rulesets too: keys and values in turn.
const separator = "\x1f"

func fuzzedRules(text string) (parsed Map, plain map[string]string) {
	parsed, plain = Map{}, map[string]string{}
	pieces := strings.Split(text, separator)
	for i := 0; i+1 < len(pieces); i += 2 {
		parsed[pieces[i]], plain[pieces[i]] = ParseValue(pieces[i+1]), pieces[i+1]
	}
	return parsed, plain
}

func FuzzResolve(f *testing.F) {
	for _, v := range vectors(f) {
		var rules map[string]string
		if err := json.Unmarshal(v.Ruleset, &rules); err != nil {
			f.Fatal(err)
		}
		if len(rules) > 20 {
			continue // the chain of 255: too long to mutate well
		}
		var pieces []string
		for key, value := range rules {
			pieces = append(pieces, key+separator+value)
		}
		slices.Sort(pieces)
		f.Add(strings.Join(pieces, separator), v.Request)
	}
	f.Fuzz(func(t *testing.T, text, request string) {
		parsed, plain := fuzzedRules(text)
		got, failure := answer(t, parsed, request, Options{})
		want, wanted := referenceResolve(plain, request)
		if got != want || failure != wanted {
			t.Errorf("%q %q\ngot  %q %q\nwant %q %q", text, request, got, failure, want, wanted)
		}
		checkProperties(t, parsed, request)
	})
}

// checkProperties checks what must hold for any rules and request: equal inputs give equal bytes, the answer is serialized, and it lies on
// the request's origin or inside the path of an absolute value.
func checkProperties(t *testing.T, rules Map, raw string) {
	r, err := ParseRequest(raw)
	if err != nil {
		return
	}
	first, err := Resolve(context.Background(), rules, r, Options{})
	second, _ := Resolve(context.Background(), rules, r, Options{Trace: func(Step) {}})
	if first.URL != second.URL || first.Hops != second.Hops || first.Hops > DefaultMaxHops || len(first.Chain) > first.Hops {
		t.Errorf("%q: first %+v, then %+v", raw, first, second)
	}
	if err != nil {
		if first.URL != "" {
			t.Errorf("%q: a URL beside error %v: %q", raw, err, first.URL)
		}
		return
	}
	origin, path := r.Origin, "/"
	if first.Matched {
		last := first.First
		if n := len(first.Chain); n > 0 {
			last = first.Chain[n-1]
		}
		origin, path = last.Value.origin, strings.TrimSuffix(last.Value.path, "/")
	}
	if !strings.HasPrefix(first.URL, origin+path) {
		t.Errorf("%q: %q is not below %q", raw, first.URL, origin+path)
	}
	if u, err := parseWHATWG(first.URL); err != nil || u.origin != origin {
		t.Errorf("%q: %q is read as %+v, %v", raw, first.URL, u, err)
	}
}

func FuzzSplitSerialized(f *testing.F) {
	for _, c := range urlTests(f) {
		f.Add(c.Input)
		f.Add(c.Href)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, ok := splitSerialized(raw)
		if !ok {
			return
		}
		if want, err := parseWHATWG(raw); err != nil || got != want {
			t.Errorf("%q: got %+v, want %+v, %v", raw, got, want, err)
		}
	})
}
