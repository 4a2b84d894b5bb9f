package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"linkfold/deploy/linkfold/internal/api"
	"linkfold/redirector/qr"
)

// sheet draws the pages of a list. The names of further pages have a number.
func (c *qrCmd) sheet(e *env, options qr.Options) error {
	in := e.in
	if c.Sheet != "-" {
		f, err := os.Open(c.Sheet)
		if err != nil {
			return fmt.Errorf("open list: %w", err)
		}
		defer f.Close()
		in = f
	}
	symbols, err := c.symbols(e, in, options)
	if err != nil {
		return err
	}
	pages, err := qr.Sheets(symbols, qr.SheetOptions{Columns: c.Columns, Label: c.Label})
	if err != nil {
		return err
	}
	names := []string{c.Out}
	stem := c.Out[:len(c.Out)-len(c.format())]
	for n := 2; n <= len(pages); n++ {
		names = append(names, fmt.Sprintf("%s-%d.svg", stem, n))
	}
	if err := c.write(e, names, pages); err != nil {
		return err
	}
	f := fields{out: c.told(e)}
	f.row("symbols", "%d", len(symbols))
	f.row("pages", "%d", len(pages))
	if c.Out != "-" {
		f.row("files", "%s", strings.Join(names, " "))
	}
	return f.err
}

// symbols are those of a list: of a link for a line of two words, else of the line as it is. Blank lines are left out.
func (c *qrCmd) symbols(e *env, in io.Reader, options qr.Options) (all []*qr.Symbol, err error) {
	var client *api.Client
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		if words := strings.Fields(text); len(words) == 2 {
			if text, err = c.linkText(e, &client, words[0], words[1]); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		s, err := qr.Encode(text, options)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if all = append(all, s); len(all) > qr.MaxSheet {
			break // Sheets says what is wrong with that.
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	return all, nil
}
