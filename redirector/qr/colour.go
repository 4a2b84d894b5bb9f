package qr

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// minContrast is the least ratio of luminances (WCAG 2, 1 to 21). Cameras in poor light need what people need for reading large letters, and more.
const minContrast = 4

// colours reads both colours and refuses what cameras cannot tell apart.
func colours(dark, light string) (d, l color.NRGBA, err error) {
	if d, err = parseColour("dark", cmp.Or(dark, "#000000")); err != nil {
		return d, l, err
	}
	if l, err = parseColour("light", cmp.Or(light, "#ffffff")); err != nil {
		return d, l, err
	}
	under, over := luminance(d), luminance(l)
	ratio := (max(under, over) + 0.05) / (min(under, over) + 0.05)
	switch {
	case under > over:
		return d, l, refuse("the dark colour %s is lighter than the light one, %s: many scanners read no inverted symbols; give them the other way round", hex(d), hex(l))
	case ratio < minContrast:
		return d, l, refuse("the colours %s and %s have a contrast of %.1f: give a darker or a lighter one, so that it is %d at least", hex(d), hex(l), math.Floor(ratio*10)/10, minContrast)
	}
	return d, l, nil
}

// parseColour reads #rrggbb or #rgb, the number sign optional.
func parseColour(name, s string) (color.NRGBA, error) {
	digits := strings.TrimPrefix(s, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		return color.NRGBA{}, refuse("%s colour %.20q: give six hexadecimal digits, as in #1a2b3c", name, s)
	}
	return color.NRGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 255}, nil
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// luminance is the relative luminance of WCAG 2, 0 to 1.
func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		if f := float64(v) / 255; f > 0.04045 {
			return math.Pow((f+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}
