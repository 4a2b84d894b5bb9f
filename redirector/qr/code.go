package qr

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"rsc.io/qr/coding"
)

// code is a text in the mode that takes the fewest bits. One mode serves the whole text.
type code struct {
	text coding.Encoding
	unit string // of length
	size int    // units
	head int    // bits before the text in the largest symbols
	// A group of units takes bits.
	group, bits int
}

func newCode(text string) (code, error) {
	switch {
	case text == "":
		return code{}, refuse("text is empty: a symbol needs one character at least")
	case !utf8.ValidString(text):
		return code{}, refuse("text is not valid UTF-8, and scanners would guess what it means")
	case coding.Num(text).Check() == nil:
		return code{coding.Num(text), "digits", len(text), 4 + 14, 3, 10}, nil
	case coding.Alpha(text).Check() == nil:
		return code{coding.Alpha(text), "capitals, digits and signs", len(text), 4 + 13, 2, 11}, nil
	}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return code{unicode{coding.String(text)}, "bytes", len(text), declaration + 4 + 16, 1, 8}, nil
		}
	}
	return code{coding.String(text), "bytes", len(text), 4 + 16, 1, 8}, nil
}

// unicode is text with letters beyond ASCII. Scanners guess what such bytes mean, and guess wrong, unless the symbol declares them to be UTF-8: by
// extended channel interpretation 26.
type unicode struct{ coding.String }

// declaration is its length, bits.
const declaration = 4 + 8

// Bits implements coding.Encoding.
func (u unicode) Bits(v coding.Version) int { return declaration + u.String.Bits(v) }

// Encode implements coding.Encoding.
func (u unicode) Encode(b *coding.Bits, v coding.Version) {
	b.Write(0b0111, 4)
	b.Write(26, 8)
	u.String.Encode(b, v)
}

// level is the library's name for a level.
func (l Level) level() coding.Level { return coding.Level(strings.Index(levels, l.String())) }

// version is the smallest one that holds the text at a level.
func (c code) version(l Level) (int, error) {
	for v := coding.Version(coding.MinVersion); v <= coding.MaxVersion; v++ {
		if c.fits(int(v), l) {
			return int(v), nil
		}
	}
	advice := "give a shorter one"
	for _, weaker := range levels[:l.level()] {
		if c.fits(coding.MaxVersion, Level(weaker)) {
			advice = fmt.Sprintf("give a shorter one, or a weaker level, which is to be %c", weaker)
		}
	}
	return 0, refuse("text of %d %s does not fit a symbol at level %v, which holds %d: %s", c.size, c.unit, l, c.most(l), advice)
}

func (c code) fits(version int, l Level) bool {
	v := coding.Version(version)
	return c.text.Bits(v) <= v.DataBytes(l.level())*8
}

// most is how long a text of the same mode can be at a level, units.
func (c code) most(l Level) int {
	return (coding.Version(coding.MaxVersion).DataBytes(l.level())*8 - c.head) * c.group / c.bits
}

// modules are those of the symbol in the mask that scanners like best.
func (c code) modules(version int, l Level) ([][]bool, error) {
	var best [][]bool
	least := 0
	for mask := range coding.Mask(8) {
		plan, err := coding.NewPlan(coding.Version(version), l.level(), mask)
		if err != nil {
			return nil, fmt.Errorf("plan symbol: %w", err)
		}
		drawn, err := plan.Encode(c.text)
		if err != nil {
			return nil, fmt.Errorf("encode symbol: %w", err)
		}
		m := matrix(drawn)
		if p := penalty(m); best == nil || p < least {
			best, least = m, p
		}
	}
	return best, nil
}

func matrix(c *coding.Code) [][]bool {
	m := make([][]bool, c.Size)
	for y := range m {
		m[y] = make([]bool, c.Size)
		for x := range m[y] {
			m[y][x] = c.Black(x, y)
		}
	}
	return m
}
