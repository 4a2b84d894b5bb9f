package admin

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestToken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "admin.token")
	tokens := make([]string, 16)
	var wg sync.WaitGroup
	for i := range tokens { // Several start at once: all read one token.
		wg.Go(func() {
			var err error
			if tokens[i], err = LoadToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, tok := range tokens {
		if tok != tokens[0] || len(tok) < 32 {
			t.Errorf("token %q, first was %q", tok, tokens[0])
		}
	}
	st, err := os.Stat(path)
	must(t, err)
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	left, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
}

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		want    string
	}{
		"group can read":  {strings.Repeat("x", 40), 0o640, "can be read by others"},
		"others can read": {strings.Repeat("x", 40), 0o604, "can be read by others"},
		"short":           {"secret\n", 0o600, "has 6 characters"},
		"empty":           {"", 0o600, "has 0 characters"},
	} {
		path := filepath.Join(t.TempDir(), "token")
		must(t, os.WriteFile(path, []byte(c.content), 0o600))
		must(t, os.Chmod(path, c.mode))
		if got, err := LoadToken(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: LoadToken = %q, %v; want %q", name, got, err, c.want)
		}
	}
	if _, err := LoadToken(t.TempDir()); err == nil {
		t.Error("a directory is no token")
	}
}
