package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrint(t *testing.T) {
	tb := &table{Title: "Title", Columns: []string{"what", "µs", "n"}, Notes: []string{"a note"}}
	tb.row("one", 1.5, 64)
	tb.row("another", 12345.6, 1)
	var b strings.Builder
	if err := tb.print(&b); err != nil {
		t.Fatal(err)
	}
	want := "\nTitle\n\n" +
		"  what         µs   n\n" +
		"  one        1.50  64\n" +
		"  another  12_346   1\n" +
		"  a note\n"
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

func TestShow(t *testing.T) {
	for _, c := range []struct {
		cell any
		want string
	}{
		{"text", "text"}, {7, "7"}, {1234567, "1_234_567"}, {-1234, "-1_234"}, {0.0, "0.00"}, {0.126, "0.13"}, {12.34, "12.3"}, {123.4, "123"},
		{999.6, "1000"}, {1234567.0, "1_234_567"}, {math.NaN(), "-"}, {math.Inf(1), "-"},
	} {
		if got := show(c.cell); got != c.want {
			t.Errorf("show(%v) = %q, want %q", c.cell, got, c.want)
		}
	}
}

func TestSaveNaN(t *testing.T) {
	tb := &table{Columns: []string{"a", "b"}}
	tb.row("x", math.NaN())
	path := filepath.Join(t.TempDir(), "r.json")
	if err := (&report{Tables: []*table{tb}}).save(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), "null") {
		t.Errorf("saved %s, %v; want a null", b, err)
	}
}
