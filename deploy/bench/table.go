package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"
)

// table is one result. Cells are strings, int or float64; a NaN is shown as a dash and is null in JSON.
type table struct {
	Title   string   `json:"title"`
	Notes   []string `json:"notes,omitempty"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

func (t *table) row(cells ...any) { t.Rows = append(t.Rows, cells) }

// print writes the table aligned: text to the left, numbers to the right.
func (t *table) print(w io.Writer) error {
	width := make([]int, len(t.Columns))
	lines := [][]string{t.Columns}
	for _, r := range t.Rows {
		line := make([]string, len(r))
		for i, c := range r {
			line[i] = show(c)
		}
		lines = append(lines, line)
	}
	for _, l := range lines {
		for i, c := range l {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	b.WriteString("\n" + t.Title + "\n\n")
	for _, l := range lines {
		b.WriteString(strings.TrimRight(t.line(l, width), " ") + "\n")
	}
	for _, n := range t.Notes {
		b.WriteString("  " + n + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) line(cells []string, width []int) string {
	var b strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
		if t.numeric(i) {
			c = pad + c
		} else {
			c += pad
		}
		b.WriteString("  " + c)
	}
	return b.String()
}

// numeric reports whether a column holds numbers.
func (t *table) numeric(column int) bool {
	if len(t.Rows) == 0 {
		return false
	}
	switch t.Rows[0][column].(type) {
	case int, float64:
		return true
	}
	return false
}

// show writes a number with three significant digits, and whole thousands in groups.
func show(cell any) string {
	if n, ok := cell.(int); ok {
		return grouped(int64(n))
	}
	v, ok := cell.(float64)
	switch a := math.Abs(v); {
	case !ok:
		return fmt.Sprint(cell)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case a >= 1000:
		return grouped(int64(math.Round(v)))
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// grouped is a whole number with an underscore between thousands: 12_345.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "_" + s[i:]
	}
	return s
}

// report is all results of a run.
type report struct {
	Machine string   `json:"machine"`
	Tables  []*table `json:"tables"`
}

// save writes the report as JSON.
func (r *report) save(path string) error {
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			for i, c := range row {
				if v, ok := c.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
					row[i] = nil
				}
			}
		}
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
