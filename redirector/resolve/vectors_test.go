package resolve

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vector is one case of the vector files.
type vector struct {
	ID       string
	Ruleset  json.RawMessage
	Request  string
	Expected string
	Error    string
}

// vectors are all published cases: those of the draft and its reference implementation, and those generated from the rulings.
func vectors(t testing.TB) []vector {
	t.Helper()
	var all []vector
	for _, name := range []string{"shortlink_public.json", "shortlink_generated.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Cases []vector }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		all = append(all, file.Cases...)
	}
	if len(all) < 228 {
		t.Fatalf("%d vectors: some are missing", len(all))
	}
	return all
}

// answer is what resolving raw prints: a URL, or the kind of error.
func answer(t testing.TB, rules Ruleset, raw string, o Options) (url, failure string) {
	t.Helper()
	r, err := ParseRequest(raw)
	var result Result
	if err == nil {
		result, err = Resolve(context.Background(), rules, r, o)
	}
	if err == nil {
		return result.URL, ""
	}
	if Reason(err) == nil {
		t.Fatalf("%s: error without a reason: %v", raw, err)
	}
	return "", Reason(err).Error()
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			url, failure := answer(t, ruleset(t, string(v.Ruleset)), v.Request, Options{})
			if url != v.Expected || failure != v.Error {
				t.Errorf("%s\ngot  %q %q\nwant %q %q", v.Request, url, failure, v.Expected, v.Error)
			}
		})
	}
}
