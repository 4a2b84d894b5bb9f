// Package qr makes QR symbols of links: as PNG, as SVG, and as sheets of many for printing.
//
// Most callers want Encode with the text of a link, which URL makes, and then SVG or PNG. The symbol is the smallest version that holds the
// text at the level: digits alone take 3.3 bits a character, the capitals, digits and signs of the alphanumeric mode 5.5, all else 8. That is why
// a domain whose generator is qr has the upper-case form of its URLs in symbols (DESIGN.md §9): HTTP://0X1F.IE/H83IF is version 1 at level M,
// and in lower case version 2.
//
// What could not be scanned is not drawn: colours without contrast, a logo that covers more than the level can lose, a picture with less than a
// pixel per module. Such a refusal wraps ErrRefused and says what would pass. Everything is bounded, so options may come from strangers.
package qr

import (
	"errors"
	"fmt"
	"image/color"
)

// ErrRefused is wrapped by errors about the text or the options; their text says what would pass.
var ErrRefused = errors.New("qr symbol refused")

// refusal is an error about what was asked for.
type refusal string

func (r refusal) Error() string   { return string(r) }
func (refusal) Is(err error) bool { return err == ErrRefused }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// Level is how much of a symbol may be lost: L about 7 %, M 15 %, Q 25 %, H 30 %. 0 stands for M.
type Level byte

// The levels of the standard.
const (
	L Level = 'L'
	M Level = 'M'
	Q Level = 'Q'
	H Level = 'H'
)

// levels from the weakest to the strongest.
const levels = "LMQH"

// String is the letter of the level.
func (l Level) String() string {
	if l == 0 {
		return "M"
	}
	return string(rune(l))
}

// NoQuiet as Options.Quiet leaves the quiet zone out, for pictures that are put on a light ground.
const NoQuiet = -1

// Bounds and defaults of options.
const (
	defaultQuiet  = 4
	maxQuiet      = 64 // modules
	defaultModule = 10 // pixels
	// MaxPixels is the longest side of a picture.
	MaxPixels = 4096
)

// Options say how a symbol looks. The zero value is level M, black on white, 10 pixels per module, and the quiet zone of the standard.
type Options struct {
	// Level is the least one; a logo may raise it. 0: M.
	Level Level
	// Quiet is the width of the light zone around the symbol, modules. 0: the four of the standard; NoQuiet: none.
	Quiet int
	// Module is the side of a module, pixels. 0: 10, unless Size is given.
	Module int
	// Size is the side of the picture with its quiet zone, pixels: modules are as many whole pixels as fit, and the rest is light around them.
	// It excludes Module.
	Size int
	// Dark and Light are colours, #rrggbb or #rgb, the number sign optional. Empty: black and white.
	Dark, Light string
	// Logo is a PNG for the middle, at most 1 MiB and 2048 pixels a side. It is drawn on a light square, in its own proportions.
	Logo []byte
	// LogoPercent is the side of the logo's square in percent of the symbol's. 0: 20 to 25, less in large symbols.
	LogoPercent int
}

// Symbol is a symbol and how it is to be drawn.
type Symbol struct {
	// Text is what a scanner reads.
	Text string
	// Version is 1 to 40; the side has 17 + 4 Version modules.
	Version int
	// Level is the one that is used.
	Level Level
	// Modules are the rows from the top; true is dark. Under a logo they are light.
	Modules [][]bool
	// Pixels is the side of the picture.
	Pixels int

	quiet       int // modules
	module      int // pixels
	offset      int // pixels from the edge to the first module
	dark, light color.NRGBA
	logo        *logo
}

// Encode makes the symbol of a text, which must be UTF-8. The error wraps ErrRefused.
func Encode(text string, o Options) (*Symbol, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Symbol{Text: text, quiet: o.quiet()}
	var err error
	if s.dark, s.light, err = colours(o.Dark, o.Light); err != nil {
		return nil, err
	}
	c, err := newCode(text)
	if err != nil {
		return nil, err
	}
	if len(o.Logo) > 0 {
		err = s.encodeWithLogo(c, o)
	} else {
		err = s.encode(c, o.Level)
	}
	if err != nil {
		return nil, err
	}
	if err := s.scale(o); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Symbol) encode(c code, level Level) error {
	version, err := c.version(level)
	if err != nil {
		return err
	}
	return s.fill(c, version, level)
}

// fill sets what is drawn.
func (s *Symbol) fill(c code, version int, level Level) (err error) {
	s.Version, s.Level = version, level
	if level == 0 {
		s.Level = M
	}
	s.Modules, err = c.modules(version, level)
	return err
}

func (o Options) quiet() int {
	switch o.Quiet {
	case 0:
		return defaultQuiet
	case NoQuiet:
		return 0
	}
	return o.Quiet
}

func (o Options) check() error {
	if _, err := ParseLevel(o.Level.String()); err != nil {
		return err
	}
	switch {
	case o.Quiet < NoQuiet || o.Quiet > maxQuiet:
		return refuse("quiet zone of %d modules: give 0 to %d, 4 is the standard's", o.Quiet, maxQuiet)
	case o.Module < 0 || o.Module > MaxPixels:
		return refuse("module of %d pixels: give 1 to %d", o.Module, MaxPixels)
	case o.Size < 0 || o.Size > MaxPixels:
		return refuse("size of %d pixels: give at most %d, or an SVG, which can be scaled", o.Size, MaxPixels)
	case o.Size > 0 && o.Module > 0:
		return refuse("size and pixels per module are both given: give one of them")
	case o.LogoPercent < 0 || o.LogoPercent > 100:
		return refuse("logo of %d percent of the symbol's side: give 1 to 100", o.LogoPercent)
	case o.LogoPercent > 0 && len(o.Logo) == 0:
		return refuse("a size of the logo is given, and no logo: give both or none")
	}
	return nil
}

// ParseLevel reads a level, in either case.
func ParseLevel(s string) (Level, error) {
	if len(s) == 1 {
		for _, l := range levels {
			if rune(s[0])&^0x20 == l {
				return Level(l), nil
			}
		}
	}
	return 0, refuse("level %.20q: give L, M, Q or H", s)
}

// scale finds how many pixels a module gets.
func (s *Symbol) scale(o Options) error {
	n := len(s.Modules) + 2*s.quiet
	s.module, s.Pixels = o.Module, o.Size
	if s.module == 0 {
		s.module = defaultModule
	}
	switch {
	case o.Size == 0 && n*s.module > MaxPixels:
		return refuse("%d modules of %d pixels make a side of %d pixels: give at most %d pixels per module, or an SVG, which can be scaled", n, s.module, n*s.module, MaxPixels/n)
	case o.Size == 0:
		s.Pixels = n * s.module
	case o.Size < n:
		return refuse("size of %d pixels is less than a pixel for each of the %d modules (%d and a quiet zone of %d on both sides): give at least %d", o.Size, n, len(s.Modules), s.quiet, n)
	default:
		s.module = o.Size / n
	}
	s.offset = (s.Pixels-n*s.module)/2 + s.quiet*s.module
	return nil
}
