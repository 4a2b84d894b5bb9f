// Package table prints answers for people: aligned columns, numbers to the right with thousands apart, and a bar where a picture says more.
package table

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"linkfold/dashboards/queries"
)

// maxCell is the widest a cell is printed, in characters.
const maxCell = 72

// barWidth is how long the longest bar is.
const barWidth = 40

// Print writes t with a bar for column bar (its name; "" for none).
func Print(w io.Writer, t queries.Table, bar string) error {
	cells := make([][]string, len(t.Rows))
	widths := make([]int, len(t.Columns))
	right := make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c)
	}
	for r, row := range t.Rows {
		cells[r] = make([]string, len(row))
		for i, v := range row {
			cells[r][i] = cell(v)
			right[i] = isNumber(v)
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[r][i]))
		}
	}
	bars := drawBars(t, bar)
	var b strings.Builder
	line(&b, t.Columns, widths, right, "")
	for r := range cells {
		line(&b, cells[r], widths, right, bars[r])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func line(b *strings.Builder, cells []string, widths []int, right []bool, bar string) {
	var l strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		l.WriteString("  ")
		if right[i] {
			l.WriteString(pad + c)
		} else {
			l.WriteString(c + pad)
		}
	}
	if bar != "" {
		l.WriteString("  " + bar)
	}
	b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
}

// drawBars is one bar per row, in eighths of a character.
func drawBars(t queries.Table, column string) []string {
	bars := make([]string, len(t.Rows))
	for i, c := range t.Columns {
		if c != column {
			continue
		}
		top := 0.0
		for _, row := range t.Rows {
			top = max(top, number(row[i]))
		}
		for r, row := range t.Rows {
			if top > 0 {
				bars[r] = draw(number(row[i]) / top)
			}
		}
	}
	return bars
}

func draw(share float64) string {
	eighths := int(share*barWidth*8 + 0.5)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s
}

func isNumber(v any) bool {
	switch reflect.ValueOf(v).Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32,
		reflect.Uint64, reflect.Float32, reflect.Float64:
		return true
	}
	return false
}

func number(v any) float64 {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.CanFloat():
		return r.Float()
	}
	return 0
}

func cell(v any) string {
	var s string
	switch x := v.(type) {
	case time.Time:
		s = x.UTC().Format(time.DateTime)
		if x.Nanosecond() != 0 { // All digits, so that a column of moments is aligned.
			s = x.UTC().Format("2006-01-02 15:04:05.000000")
		}
	case string:
		s = printable(x)
	default:
		if r := reflect.ValueOf(v); r.IsValid() && (r.CanInt() || r.CanUint()) {
			s = thousands(fmt.Sprint(v))
		} else if r.IsValid() && r.CanFloat() {
			s = strconv.FormatFloat(r.Float(), 'g', 6, 64)
		} else {
			s = printable(fmt.Sprint(v))
		}
	}
	if utf8.RuneCountInString(s) > maxCell {
		s = string([]rune(s)[:maxCell-1]) + "…"
	}
	return s
}

// printable shows control characters as they would be quoted: a cell may hold what a stranger sent, and a terminal obeys it.
func printable(s string) string {
	q := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
