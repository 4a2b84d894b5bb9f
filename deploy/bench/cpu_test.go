package main

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const tail = " S 1 1 1 0 -1 4194304 1 0 0 0 120 34 0 0 20 0 1 0 5 6 7"
	for _, c := range []struct {
		name, stat string
		want       time.Duration
		bad        bool
	}{
		{"plain", "12 (linkfold)" + tail, 1540 * time.Millisecond, false},
		{"a name with everything", "12 (a) b (c)" + tail, 1540 * time.Millisecond, false},
		{"cut short", "12 (linkfold) S 1", 0, true},
		{"no number", "12 (x) S 1 1 1 0 -1 4194304 1 0 0 0 a b 0", 0, true},
		{"empty", "", 0, true},
	} {
		got, err := parseStat([]byte(c.stat))
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

func TestCPUTime(t *testing.T) {
	before, err := readCPU(map[string]int{"self": os.Getpid()})
	if err != nil {
		t.Skip("no /proc:", err)
	}
	for begun := time.Now(); time.Since(begun) < 100*time.Millisecond; {
	}
	after, err := readCPU(map[string]int{"self": os.Getpid()})
	if err != nil || after.since(before).sum() < 0 {
		t.Errorf("used %v, %v", after.since(before), err)
	}
}

func TestValue(t *testing.T) {
	const text = "processor\t: 0\nmodel name\t: Some: CPU\nmodel name\t: Other\n"
	if got := value(text, "model name", "none"); got != "Some: CPU" {
		t.Errorf("value = %q", got)
	}
	if got := value(text, "missing", "none"); got != "none" {
		t.Errorf("value = %q", got)
	}
}
