package qr

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Measures of a sheet, millimetres: A4, upright.
const (
	pageWidth, pageHeight = 210.0, 297.0
	pageMargin            = 10.0
	cellGap               = 4.0
	labelHeight           = 5.0
	largestLetter         = 3.2
	smallestLetter        = 1.8
	letterWidth           = 0.6 // of a monospaced letter, of its height
	leastModule           = 0.25
)

// MaxSheet is how many symbols one call puts on sheets.
const MaxSheet = 10_000

// SheetOptions say how symbols are put on sheets.
type SheetOptions struct {
	// Columns is the number of symbols beside each other. 0: 4.
	Columns int
	// Label writes the text below its symbol.
	Label bool
}

// sheet is the grid of a page.
type sheet struct {
	SheetOptions
	cell, row float64 // millimetres
	rows      int
}

// Sheets draws the symbols on as many A4 pages as they need: SVG in millimetres, for printing at 100 %. Pixels per module do not count here. A
// symbol whose modules would be less than a quarter of a millimetre is refused. The error wraps ErrRefused.
func Sheets(symbols []*Symbol, o SheetOptions) ([][]byte, error) {
	if o.Columns == 0 {
		o.Columns = 4
	}
	switch {
	case o.Columns < 0 || o.Columns > 40:
		return nil, refuse("sheet of %d columns: give 1 to 40", o.Columns)
	case len(symbols) == 0 || len(symbols) > MaxSheet:
		return nil, refuse("sheets of %d symbols: give 1 to %d", len(symbols), MaxSheet)
	}
	g := sheet{SheetOptions: o, cell: (pageWidth - 2*pageMargin) / float64(o.Columns)}
	g.row = g.cell
	if o.Label {
		g.row += labelHeight
	}
	g.rows = max(1, int((pageHeight-2*pageMargin)/g.row))
	var pages [][]byte
	for each := g.rows * o.Columns; len(symbols) > 0; symbols = symbols[min(each, len(symbols)):] {
		page, err := g.page(symbols[:min(each, len(symbols))])
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

func (g *sheet) page(symbols []*Symbol) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%gmm" height="%gmm" viewBox="0 0 %g %g">`+"\n", pageWidth, pageHeight, pageWidth, pageHeight)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="#ffffff"/>`+"\n", pageWidth, pageHeight)
	for i, s := range symbols {
		x, y := pageMargin+float64(i%g.Columns)*g.cell, pageMargin+float64(i/g.Columns)*g.row
		if err := g.place(&b, s, x, y); err != nil {
			return nil, err
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// place draws one symbol with its quiet zone, and its label.
func (g *sheet) place(b *bytes.Buffer, s *Symbol, x, y float64) error {
	n := float64(len(s.Modules) + 2*s.quiet)
	side := g.cell - cellGap
	module := side / n
	if module < leastModule {
		most := int((pageWidth - 2*pageMargin) / (n*leastModule + cellGap))
		return refuse("modules of the symbol of %.60q would be %.2f mm wide in %d columns, and printers need %g: give at most %d columns, or a shorter text", s.Text, module, g.Columns, leastModule, most)
	}
	x, y = x+cellGap/2, y+cellGap/2
	fmt.Fprintf(b, `<rect x="%.3f" y="%.3f" width="%.3f" height="%.3f" fill="%s"/>`+"\n", x, y, side, side, hex(s.light))
	inset := float64(s.quiet) * module
	fmt.Fprintf(b, `<g transform="translate(%.3f %.3f) scale(%.5f)" shape-rendering="crispEdges">`+"\n", x+inset, y+inset, module)
	if err := s.group(b); err != nil {
		return err
	}
	b.WriteString("</g>\n")
	if g.Label {
		g.label(b, s.Text, x+side/2, y+side+largestLetter)
	}
	return nil
}

// label writes the text as large as it fits; what is too long even in the smallest letters loses its middle.
func (g *sheet) label(b *bytes.Buffer, text string, x, y float64) {
	width := g.cell - 1
	if most := max(3, int(width/(smallestLetter*letterWidth))); utf8.RuneCountInString(text) > most {
		runes := []rune(text)
		half := (most - 1) / 2
		text = string(runes[:half]) + "…" + string(runes[len(runes)-half:])
	}
	size := min(largestLetter, width/letterWidth/float64(utf8.RuneCountInString(text)))
	fmt.Fprintf(b, `<text x="%.3f" y="%.3f" font-family="monospace" font-size="%.2f" text-anchor="middle">`, x, y, size)
	escape(b, strings.Map(printable, text))
	b.WriteString("</text>\n")
}

func printable(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}
