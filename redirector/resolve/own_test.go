package resolve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The cases of our own: their answers come from another implementation of URLs (see testdata/README.md).
func TestOwnCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "shortlink_own.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Ruleset json.RawMessage
			Cases   [][3]any
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, group := range file.Groups {
		rules := ruleset(t, string(group.Ruleset))
		for _, c := range group.Cases {
			tried++
			raw, want, hops := c[0].(string), c[1].(string), int(c[2].(float64))
			r, err := ParseRequest(raw)
			var result Result
			if err == nil {
				result, err = Resolve(t.Context(), rules, r, Options{})
			}
			got := result.URL
			if err != nil {
				got = Reason(err).Error()
			}
			if got != want || result.Hops != hops {
				t.Errorf("%s\n%q: %q after %d hops, want %q after %d", group.Ruleset, raw, got, result.Hops, want, hops)
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d cases: some are missing", tried)
	}
}
