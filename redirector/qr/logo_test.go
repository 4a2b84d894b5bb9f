package qr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
)

// picture is a PNG that looks as unlike a symbol's own modules as can be: noise, some of it transparent.
func picture(t *testing.T, w, h int) []byte {
	t.Helper()
	p := image.NewNRGBA(image.Rect(0, 0, w, h))
	random := rand.New(rand.NewPCG(1, 2))
	for y := range h {
		for x := range w {
			p.SetNRGBA(x, y, color.NRGBA{uint8(random.Uint32()), uint8(random.Uint32()), 0, uint8(random.Uint32N(2) * 255)})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLogosAreRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"A", "HTTP://0X1F.IE/H83IF", "https://example.com/H83if", strings.Repeat("https://example.com/", 10), strings.Repeat("x", 900), strings.Repeat("x", 1900)} {
		for _, l := range []Level{L, M, Q, H} {
			if c, err := newCode(text); err != nil || !c.fits(34, l) {
				continue
			}
			for name, logo := range map[string][]byte{"square": picture(t, 64, 64), "wide": picture(t, 300, 20), "dot": picture(t, 1, 1)} {
				s := encode(t, text, Options{Level: l, Logo: logo, Module: 4})
				if side := len(s.Modules); s.logo.plate < side/10 || s.logo.plate%2 != 1 {
					t.Errorf("logo of %d modules in %d", s.logo.plate, side)
				}
				if got := read(t, rendered(t, s)); got != text {
					t.Errorf("%s logo at %v (version %d, level %v, %d modules covered a side) reads %.30q, want %.30q", name, l, s.Version, s.Level, s.logo.plate, got, text)
				}
			}
		}
	}
}

// Beside the logo, there is room for dirt: a symbol is read with a spot on it as well.
func TestLogoLeavesAMargin(t *testing.T) {
	t.Parallel()
	const text = "https://example.com/H83if"
	s := encode(t, text, Options{Logo: picture(t, 64, 64)})
	for y := range 3 { // a codeword or two
		row := s.Modules[len(s.Modules)-3-y]
		for x := range 2 {
			row[len(row)-3-x] = !row[len(row)-3-x]
		}
	}
	if got := read(t, rendered(t, s)); got != text {
		t.Errorf("version %d, level %v reads %q", s.Version, s.Level, got)
	}
}

func TestLogoRaisesTheLevelOnlyAsNeeded(t *testing.T) {
	t.Parallel()
	const text = "https://example.com/H83if"
	plain, small := encode(t, text, Options{Level: L}), encode(t, text, Options{Level: L, Logo: picture(t, 9, 9)})
	large := encode(t, text, Options{Level: L, Logo: picture(t, 9, 9), LogoPercent: 28})
	if plain.Level != L || small.Level == L || large.Level != H || small.logo.plate >= large.logo.plate {
		t.Errorf("%v %v %v, %d and %d modules", plain.Level, small.Level, large.Level, small.logo.plate, large.logo.plate)
	}
	for _, percent := range []int{45, 60, 100} {
		_, err := Encode(text, Options{Logo: picture(t, 9, 9), LogoPercent: percent})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "covers more than the symbol can lose") || !strings.Contains(err.Error(), "at most ") {
			t.Errorf("%d percent: %v", percent, err)
		}
	}
}

// From version 35 on there is an alignment pattern in the middle.
func TestNoLogoInTheLargestSymbols(t *testing.T) {
	t.Parallel()
	_, err := Encode(strings.Repeat("x", 2900), Options{Level: L, Logo: picture(t, 9, 9)})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "alignment pattern in the middle") {
		t.Error(err)
	}
}

func TestHostileLogos(t *testing.T) {
	t.Parallel()
	bomb := picture(t, 2, 2)
	binary.BigEndian.PutUint32(bomb[16:], 60000) // the width and height that the head claims
	binary.BigEndian.PutUint32(bomb[20:], 60000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	good := picture(t, 30, 30)
	for name, c := range map[string]struct {
		logo []byte
		want string
	}{
		"text": {[]byte("no picture at all"), "is no PNG"}, "svg": {[]byte("<svg onload='x'/>"), "is no PNG"}, "bomb": {bomb, "60000 by 60000 pixels"},
		"large": {picture(t, 2049, 1), "2049 by 1 pixels"}, "torn": {good[:len(good)/2], "damaged PNG"}, "many bytes": {make([]byte, MaxLogo+1), "bytes"},
	} {
		_, err := Encode("https://example.com/", Options{Logo: c.logo})
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
