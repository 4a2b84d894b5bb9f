package table_test

import (
	"strings"
	"testing"
	"time"

	"linkfold/dashboards/queries"
	"linkfold/deploy/linkfold/internal/table"
)

func TestPrint(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := table.Print(&b, queries.Table{Columns: []string{"link", "clicks", "at"}, Rows: [][]any{
		{"a", uint64(1234567), time.Date(2012, 3, 16, 18, 40, 0, 0, time.UTC)},
		{"esc\x1b[31m é", int32(-1000), time.Time{}},
		{strings.Repeat("x", 100), 0.5, nil},
		{"b", 1, time.Date(2012, 3, 16, 18, 40, 0, 205360000, time.UTC)},
	}}, "clicks")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if strings.Contains(b.String(), "\x1b") {
		t.Error("a control character reached the terminal")
	}
	for i, want := range []string{"  link", "1,234,567  2012-03-16 18:40:00         ████", `esc\x1b[31m é`, "xxx…", "2012-03-16 18:40:00.205360"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
		}
	}
	if c := strings.Index(lines[1], "1,234,567") + len("1,234,567"); []rune(lines[2])[c-1] != '0' {
		t.Errorf("numbers are not aligned:\n%s", b.String())
	}
}
