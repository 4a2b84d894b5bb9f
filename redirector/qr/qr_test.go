package qr

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkfold/deploy/devstack"
)

func encode(t *testing.T, text string, o Options) *Symbol {
	t.Helper()
	s, err := Encode(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rendered is the PNG of a symbol.
func rendered(t *testing.T, s *Symbol) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.PNG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read is what the decoder reads from a picture.
func read(t *testing.T, picture []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "symbol.png")
	if err := os.WriteFile(file, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	return devstack.ReadQR(t, file)
}

// enlarged repeats every pixel: zbar wants more than one per module.
func enlarged(t *testing.T, picture []byte, times int) []byte {
	t.Helper()
	p, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	b := p.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, b.Dx()*times, b.Dy()*times))
	for y := range b.Dy() {
		for x := range b.Dx() {
			draw.Draw(out, image.Rect(x*times, y*times, (x+1)*times, (y+1)*times), image.NewUniform(p.At(x, y)), image.Point{}, draw.Src)
		}
	}
	var buffer bytes.Buffer
	if err := png.Encode(&buffer, out); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		level   Level
		version int
	}{
		{"HTTP://0X1F.IE/H83IF", 0, 1}, {"HTTP://0X1F.IE/H83IF", M, 1}, {"http://0x1f.ie/H83if", M, 2}, {"HTTP://0X1F.IE/H83IFX", M, 2},
		{"HTTP://0X1F.IE/H83IF", L, 1}, {"HTTP://0X1F.IE/H83IF", Q, 2}, {"HTTP://0X1F.IE/H83IF", H, 2},
		{strings.Repeat("7", 34), M, 1}, {strings.Repeat("7", 35), M, 2}, {strings.Repeat("A", 20), M, 1}, {strings.Repeat("a", 14), M, 1},
		{strings.Repeat("a", 15), M, 2}, {strings.Repeat("a", 2953), L, 40}, {strings.Repeat("A", 4296), L, 40}, {strings.Repeat("7", 7089), L, 40},
		{strings.Repeat("a", 1273), H, 40}, {strings.Repeat("A", 2420), Q, 40}, {strings.Repeat("7", 5596), M, 40},
	} {
		s := encode(t, c.text, Options{Level: c.level})
		if want := 17 + 4*c.version; s.Version != c.version || len(s.Modules) != want || len(s.Modules[0]) != want || s.Level.String() != c.level.String() {
			t.Errorf("%.30s at %v: version %d, level %v, %d modules; want version %d", c.text, c.level, s.Version, s.Level, len(s.Modules), c.version)
		}
	}
}

// A decoder reads every version at every level, in each mode.
func TestAllVersionsAreRead(t *testing.T) {
	t.Parallel()
	for v := 1; v <= 40; v++ {
		if testing.Short() && v%8 != 1 {
			continue
		}
		for i, l := range levels {
			text := strings.Repeat([]string{"ab/C%3-x", "H83IF:$ ", "31415926"}[(v+i)%3], 1000)
			text = text[:longest(text, v, Level(l))]
			s := encode(t, text, Options{Level: Level(l), Module: 3})
			if s.Version != v {
				t.Errorf("version %d instead of %d at %c", s.Version, v, l)
			}
			if got := read(t, rendered(t, s)); got != text {
				t.Errorf("version %d at %c reads %.40q, want %.40q", v, l, got, text)
			}
		}
	}
}

// longest is how much of a text a version holds.
func longest(text string, version int, l Level) int {
	n := 0
	for low, high := 1, len(text); low <= high; {
		middle := (low + high) / 2
		if c, err := newCode(text[:middle]); err == nil && c.fits(version, l) {
			n, low = middle, middle+1
		} else {
			high = middle - 1
		}
	}
	if text[n-1] == ' ' {
		n-- // zbarimg's caller cannot tell spaces at the end.
	}
	return n
}

func TestPicturesAreRead(t *testing.T) {
	t.Parallel()
	const small, long = "HTTP://0X1F.IE/H83IF", "https://example.com/a/long/path?with=a&query=äöü#and-more"
	for name, o := range map[string]Options{
		"default": {}, "1 pixel": {Module: 1}, "2 pixels": {Module: 2}, "10 pixels": {Module: 10}, "least size": {Size: 63}, "size with a rest": {Size: 301},
		"colours": {Dark: "#103a6b", Light: "fe9"}, "least contrast": {Dark: "#00007f", Light: "#8f8f8f"}, "wide quiet zone": {Quiet: 20}, "narrow quiet zone": {Quiet: 1},
		"level H": {Level: H}, "level L, 1 pixel": {Level: L, Module: 1},
	} {
		for _, text := range []string{small, long, "1234567890", "ü€😀"} {
			s := encode(t, text, o)
			p := rendered(t, s)
			if c, err := png.DecodeConfig(bytes.NewReader(p)); err != nil || c.Width != s.Pixels || c.Height != s.Pixels || o.Size > 0 && c.Width != o.Size {
				t.Errorf("%s: %+v %v", name, c, err)
			}
			if s.module < 2 {
				p = enlarged(t, p, 3)
			}
			if got := read(t, p); got != text {
				t.Errorf("%s reads %q, want %q", name, got, text)
			}
		}
	}
	s := encode(t, small, Options{Quiet: NoQuiet, Module: 1})
	if s.Pixels != 21 {
		t.Errorf("%d pixels without quiet zone", s.Pixels)
	}
}

// A size that is no multiple is light around the symbol, which stays in the middle.
func TestSizeIsCentred(t *testing.T) {
	t.Parallel()
	s := encode(t, "HTTP://0X1F.IE/H83IF", Options{Size: 100}) // 29 modules of 3 pixels, 13 left
	p, err := png.Decode(bytes.NewReader(rendered(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for y := range 100 {
		for x := range 100 {
			mx, my := (x-18)/3, (y-18)/3
			want := x >= 18 && y >= 18 && mx < 21 && my < 21 && s.Modules[my][mx]
			if got := color.GrayModel.Convert(p.At(x, y)).(color.Gray).Y == 0; got != want {
				t.Fatalf("pixel %d,%d is dark: %v, want %v", x, y, got, want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const text = "https://example.com/"
	for _, c := range []struct {
		text string
		o    Options
		want string
	}{
		{"", Options{}, "empty"}, {"a\xff", Options{}, "UTF-8"},
		{strings.Repeat("a", 2332), Options{}, "text of 2332 bytes does not fit a symbol at level M, which holds 2331: give a shorter one, or a weaker level, which is to be L"},
		{strings.Repeat("a", 2954), Options{Level: L}, "which holds 2953: give a shorter one"},
		{strings.Repeat("A", 4297), Options{Level: L}, "holds 4296"}, {strings.Repeat("7", 7090), Options{Level: L}, "holds 7089"},
		{strings.Repeat("7", 3058), Options{Level: H}, "holds 3057"}, {strings.Repeat("a", 10<<20), Options{}, "does not fit"},
		{text, Options{Level: 'X'}, "give L, M, Q or H"}, {text, Options{Quiet: -2}, "give 0 to 64"}, {text, Options{Quiet: 65}, "give 0 to 64"},
		{text, Options{Module: -1}, "give 1 to"}, {text, Options{Module: 1 << 40}, "give 1 to"}, {text, Options{Module: 1000}, "give at most 124 pixels per module"},
		{text, Options{Size: -5}, "at most 4096"}, {text, Options{Size: 4097}, "at most 4096"}, {text, Options{Size: 32}, "give at least 33"},
		{text, Options{Size: 100, Module: 2}, "one of them"}, {text, Options{Dark: "red"}, "hexadecimal"}, {text, Options{Dark: "ü"}, "hexadecimal"},
		{text, Options{Light: `"/><script>`}, "hexadecimal"}, {text, Options{Dark: "#fff", Light: "#000"}, "inverted"}, {text, Options{Dark: "#888"}, "contrast of 3.5"},
		{text, Options{Dark: "#000", Light: "#000"}, "contrast of 1.0"}, {text, Options{LogoPercent: 20}, "no logo"},
	} {
		_, err := Encode(c.text, c.o)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400 {
			t.Errorf("%.20q %+v: %v; want %q", c.text, c.o, err, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		domain, key string
		a           Address
		want        string
	}{
		{"example.com", "abcde", Address{Upper: true}, "HTTPS://EXAMPLE.COM/ABCDE"}, {"0x1f.ie", "h83if", Address{Scheme: "http", Upper: true}, "HTTP://0X1F.IE/H83IF"},
		{"0x1f.ie", "H83if", Address{}, "https://0x1f.ie/H83if"}, {"go", "a", Address{Base: "http://localhost:8080"}, "http://localhost:8080/a"},
		{"go", "a/%C3%B6", Address{Base: "https://Example.com/in/Front/"}, "https://Example.com/in/Front/a/%C3%B6"},
		{"go", "ab", Address{Base: "https://example.com/in/front", Upper: true}, "HTTPS://EXAMPLE.COM/in/front/AB"}, {"::1", "x", Address{}, "https://[::1]/x"},
	} {
		if got, err := URL(c.domain, c.key, c.a); err != nil || got != c.want {
			t.Errorf("%+v: %s %v; want %s", c, got, err, c.want)
		}
	}
	for _, a := range []Address{
		{Scheme: "ftp"}, {Base: "localhost:8080"}, {Base: "http://"}, {Base: "http://u:p@x"}, {Base: "http://x?"}, {Base: "http://x/#f"}, {Base: "http://x", Scheme: "http"}, {Base: "javascript:alert(1)"},
	} {
		if got, err := URL("go", "a", a); !errors.Is(err, ErrRefused) {
			t.Errorf("%+v: %s %v", a, got, err)
		}
	}
}
