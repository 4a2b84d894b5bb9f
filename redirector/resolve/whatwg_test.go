package resolve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// urlTest is a case of the web platform tests.
type urlTest struct {
	Input, Href, Origin, Pathname, Search, Hash string
	Failure                                     bool
}

// valid reports that the input is an http or https URL.
func (c urlTest) valid() bool {
	return !c.Failure && (strings.HasPrefix(c.Href, "http:") || strings.HasPrefix(c.Href, "https:"))
}

func urlTests(t testing.TB) []urlTest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "urltestdata_http.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []urlTest
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 369 {
		t.Fatalf("%d cases: some are missing", len(all))
	}
	return all
}

// TestWebPlatform uses every http and https URL of the web platform tests as the only value of a ruleset. Its answer is the URL's href
// without user information, its query printed by URLSearchParams, and without an empty query or fragment. There are no deviations.
func TestWebPlatform(t *testing.T) {
	for _, c := range urlTests(t) {
		want, wanted := "", ErrInvalidDestination.Error()
		if c.valid() {
			query := appendParams(nil, parseParams(strings.TrimPrefix(c.Search, "?")))
			want, wanted = c.Origin+c.Pathname+string(query)+c.Hash, ""
		}
		got, failure := answer(t, Map{"key": ParseValue(c.Input)}, "https://go.example/key", Options{})
		if got != want || failure != wanted {
			t.Errorf("%q: got %q %q, want %q %q", c.Input, got, failure, want, wanted)
		}
	}
}

// TestWebPlatformRequests uses the same URLs as requests.
func TestWebPlatformRequests(t *testing.T) {
	for _, c := range urlTests(t) {
		r, err := ParseRequest(c.Input)
		if !c.valid() {
			if err == nil {
				t.Errorf("%q: accepted as %+v", c.Input, r)
			}
			continue
		}
		want := Request{Origin: c.Origin, Path: c.Pathname, Query: strings.TrimPrefix(c.Search, "?"), Fragment: strings.TrimPrefix(c.Hash, "#")}
		if err != nil || r != want {
			t.Errorf("%q: got %+v, %v; want %+v", c.Input, r, err, want)
		}
	}
}
