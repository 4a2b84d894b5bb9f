package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"linkfold/deploy/linkfold/internal/api"
	"linkfold/redirector/admin"
	"linkfold/redirector/qr"
)

// qrCmd draws QR symbols. Only for symbols of links a server is asked: for what the symbol says.
type qrCmd struct {
	Domain string `arg:"" optional:"" help:"Domain of the link."`
	Key    string `arg:"" optional:"" help:"Key of the link."`
	Text   string `env:"-" placeholder:"TEXT" help:"Draw a symbol of this text instead; no server is needed."`
	Out    string `env:"-" required:"" placeholder:"FILE" help:"Where to: a name that ends with .svg or .png, or - for SVG on standard output."`
	Force  bool   `env:"-" help:"Write over files that exist."`

	Level       string `env:"-" default:"M" help:"How much of the symbol may be lost: L 7 percent, M 15, Q 25, H 30; a logo may raise it."`
	Size        int    `env:"-" placeholder:"PIXELS" help:"Side of the picture with its quiet zone."`
	Module      int    `env:"-" placeholder:"PIXELS" help:"Side of a module; 10 unless --size is given."`
	Quiet       int    `env:"-" default:"4" placeholder:"MODULES" help:"Width of the quiet zone."`
	Dark        string `env:"-" placeholder:"COLOUR" help:"Colour of dark modules, #rrggbb; default: black."`
	Light       string `env:"-" placeholder:"COLOUR" help:"Colour of all else; default: white."`
	Logo        string `env:"-" placeholder:"FILE" type:"path" help:"PNG for the middle."`
	LogoPercent int    `env:"-" placeholder:"N" help:"Side of the logo in percent of the symbol's; default: about 20."`
	Scheme      string `env:"-" placeholder:"SCHEME" help:"Of links: http or https; default: https."`
	Base        string `env:"-" placeholder:"URL" help:"In front of keys, for links that are reached elsewhere than at their domain: http://localhost:8080."`

	Sheet   string `env:"-" placeholder:"LIST" help:"Draw A4 pages for printing, of a list with a text or DOMAIN KEY in each line; - for standard input."`
	Columns int    `env:"-" default:"4" help:"Symbols beside each other on a page."`
	Label   bool   `env:"-" help:"Write the texts below their symbols."`
	api.Flags
}

// Validate implements the check of service.Parse.
func (c *qrCmd) Validate() error {
	ways := 0
	for _, given := range []bool{c.Text != "", c.Sheet != "", c.Domain != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1 || c.Domain != "" && c.Key == "":
		return errors.New("give a domain and a key, or --text, or --sheet")
	case c.Quiet < 0:
		return fmt.Errorf("--quiet %d: give 0 to 64", c.Quiet)
	case c.Sheet != "" && (c.Size != 0 || c.Module != 0):
		return errors.New("--size and --module are for pictures: on a page --columns says how large symbols are")
	case c.Out != "-" && c.Sheet != "" && c.format() != ".svg":
		return fmt.Errorf("--out %s: pages are SVG, give a name that ends with .svg", c.Out)
	case c.Out != "-" && c.format() != ".svg" && c.format() != ".png":
		return fmt.Errorf("--out %s: give a name that ends with .svg or .png", c.Out)
	}
	return nil
}

func (c *qrCmd) format() string { return strings.ToLower(filepath.Ext(c.Out)) }

// Run implements the command. What is said about a symbol goes to standard output, or to the screen when the symbol goes there.
func (c *qrCmd) Run(e *env) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	if c.Sheet != "" {
		return c.sheet(e, options)
	}
	text := c.Text
	if text == "" {
		if text, err = c.linkText(e, new(*api.Client), c.Domain, c.Key); err != nil {
			return err
		}
	}
	s, err := qr.Encode(text, options)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if c.format() == ".png" {
		err = s.PNG(&b)
	} else {
		err = s.SVG(&b)
	}
	if err != nil {
		return err
	}
	if err := c.write(e, []string{c.Out}, [][]byte{b.Bytes()}); err != nil {
		return err
	}
	f := fields{out: c.told(e)}
	f.row("text", "%s", s.Text)
	f.row("version", "%d", s.Version)
	f.row("level", "%v", s.Level)
	f.row("modules", "%d x %d", len(s.Modules), len(s.Modules))
	f.row("pixels", "%d x %d", s.Pixels, s.Pixels)
	return f.err
}

// told is where to say what was drawn.
func (c *qrCmd) told(e *env) io.Writer {
	if c.Out == "-" {
		return e.screen
	}
	return e.out
}

func (c *qrCmd) options() (qr.Options, error) {
	level, err := qr.ParseLevel(c.Level)
	if err != nil {
		return qr.Options{}, err
	}
	o := qr.Options{Level: level, Quiet: c.Quiet, Module: c.Module, Size: c.Size, Dark: c.Dark, Light: c.Light, LogoPercent: c.LogoPercent}
	if o.Quiet == 0 {
		o.Quiet = qr.NoQuiet
	}
	if c.Logo != "" {
		o.Logo, err = readAtMost(c.Logo, qr.MaxLogo)
	}
	return o, err
}

// readAtMost reads a file and one byte more than allowed, so that what refuses long ones sees it.
func readAtMost(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(b) == 0 {
		return nil, fmt.Errorf("%s is empty", file)
	}
	return b, nil
}

// linkText asks the API what the symbol of a link says. The client is opened with the first question.
func (c *qrCmd) linkText(e *env, client **api.Client, domain, key string) (string, error) {
	if *client == nil {
		opened, err := api.Open(c.Flags)
		if err != nil {
			return "", err
		}
		*client = opened
	}
	// The level and all else do not matter for the text, but a text must fit: it fits best at L.
	query := url.Values{"level": {"L"}}
	for name, value := range map[string]string{"scheme": c.Scheme, "base": c.Base} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var s admin.Symbol
	path := "/v1/links/" + url.PathEscape(domain) + "/" + url.PathEscape(key) + "/qr?" + query.Encode()
	if err := (*client).Do(e.ctx, http.MethodGet, path, nil, &s); err != nil {
		return "", err
	}
	return s.URL, nil
}

// write writes all files or, when one of them exists, none. To standard output it writes one.
func (c *qrCmd) write(e *env, names []string, contents [][]byte) error {
	if c.Out == "-" {
		if len(contents) > 1 {
			return fmt.Errorf("the list needs %d pages, and standard output takes one: give --out FILE.svg, or more --columns", len(contents))
		}
		_, err := e.out.Write(contents[0])
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !c.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
		for _, name := range names {
			if _, err := os.Lstat(name); err == nil {
				return fmt.Errorf("%s exists: give another name, or --force to write over it", name)
			}
		}
	}
	for i, name := range names {
		f, err := os.OpenFile(name, flags, 0o644)
		if err != nil {
			return fmt.Errorf("create file: %w", err)
		}
		_, err = f.Write(contents[i])
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
