package qr

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// pixels is a picture as text.
func pixels(t *testing.T, picture []byte) string {
	t.Helper()
	p, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			r, g, bl, a := p.At(x, y).RGBA()
			fmt.Fprint(&b, r>>8, " ", g>>8, " ", bl>>8, " ", a>>8, "\n")
		}
	}
	return b.String()
}

func symbols(t *testing.T, n int) (all []*Symbol, texts []string) {
	t.Helper()
	for i := range n {
		texts = append(texts, fmt.Sprintf("HTTPS://EXAMPLE.COM/%05d", i))
		all = append(all, encode(t, texts[i], Options{}))
	}
	return all, texts
}

// Every symbol of every page is read from the printed page.
func TestSheetsAreRead(t *testing.T) {
	t.Parallel()
	all, texts := symbols(t, 45)
	pages, err := Sheets(all, SheetOptions{Label: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 3 { // 20 on each: 4 beside each other, 5 rows of 52.5 mm
		t.Fatalf("%d pages", len(pages))
	}
	var got []string
	for _, p := range pages {
		wellFormed(t, p)
		got = append(got, strings.Split(read(t, rasterised(t, p, "--dpi-x", "200", "--dpi-y", "200")), "\n")...)
	}
	slices.Sort(got)
	if !slices.Equal(got, texts) {
		t.Errorf("%d symbols were read: %q", len(got), got)
	}
}

func TestSheetMeasures(t *testing.T) {
	t.Parallel()
	all, _ := symbols(t, 31)
	for _, c := range []struct {
		o     SheetOptions
		pages int
	}{{SheetOptions{}, 2}, {SheetOptions{Columns: 1}, 31}, {SheetOptions{Columns: 5}, 1}, {SheetOptions{Columns: 6, Label: true}, 1}} {
		pages, err := Sheets(all, c.o)
		if err != nil || len(pages) != c.pages {
			t.Errorf("%+v: %d pages, %v; want %d", c.o, len(pages), err, c.pages)
			continue
		}
		if !bytes.Contains(pages[0], []byte(`width="210mm" height="297mm" viewBox="0 0 210 297"`)) || bytes.Contains(pages[0], []byte("<text")) != c.o.Label {
			t.Errorf("%+v: %.200s", c.o, pages[0])
		}
	}
	long := []*Symbol{encode(t, strings.Repeat("long/", 200), Options{})}
	for _, c := range []struct {
		all  []*Symbol
		o    SheetOptions
		want string
	}{
		{all, SheetOptions{Columns: -1}, "give 1 to 40"}, {all, SheetOptions{Columns: 41}, "give 1 to 40"}, {nil, SheetOptions{}, "sheets of 0 symbols"},
		{make([]*Symbol, MaxSheet+1), SheetOptions{}, "give 1 to 10000"}, {all, SheetOptions{Columns: 20}, "give at most 15 columns"}, {long, SheetOptions{Columns: 6}, "give at most 5 columns"},
	} {
		if _, err := Sheets(c.all, c.o); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.o, err, c.want)
		}
	}
}
