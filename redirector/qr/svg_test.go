package qr

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func drawn(t *testing.T, s *Symbol) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.SVG(&b); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
	return b.Bytes()
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && !strings.Contains(" svg title rect g path image text ", " "+e.Name.Local+" ") {
			t.Errorf("element %s", e.Name.Local)
		}
	}
}

// rasterised is a drawing as a PNG, if a program for that is here.
func rasterised(t *testing.T, svg []byte, args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath("rsvg-convert")
	if err != nil {
		t.Skip("rsvg-convert is missing; the paths are compared in any case")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = bytes.NewReader(svg)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The rectangles of the path are the matrix.
func TestPathIsTheMatrix(t *testing.T) {
	t.Parallel()
	run := regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1H(\d+)z`)
	for _, o := range []Options{{}, {Level: H, Quiet: 9, Module: 3}, {Size: 777}, {Logo: picture(t, 30, 30)}} {
		s := encode(t, "https://example.com/H83if", o)
		svg := drawn(t, s)
		got := make([][]bool, len(s.Modules))
		for y := range got {
			got[y] = make([]bool, len(s.Modules))
		}
		for _, m := range run.FindAllSubmatch(svg, -1) {
			var n [4]int
			for i := range n {
				n[i], _ = strconv.Atoi(string(m[i+1]))
			}
			for x := n[0]; x < n[0]+n[2]; x++ {
				got[n[1]][x] = true
			}
			if n[3] != n[0] {
				t.Errorf("%s is no rectangle", m[0])
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(s.Modules) {
			t.Errorf("%+v: the path is not the matrix", o)
		}
	}
}

func TestDrawingsAreRead(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Module: 3}, {Size: 301}, {Dark: "#103a6b", Light: "#ffee99"}, {Logo: picture(t, 600, 500)}} {
		for _, text := range []string{"HTTP://0X1F.IE/H83IF", "https://example.com/?a=1&b=<\"'>", "ü€😀"} {
			if got := read(t, rasterised(t, drawn(t, encode(t, text, o)))); got != text {
				t.Errorf("%+v reads %q, want %q", o, got, text)
			}
		}
	}
}

// Drawings and pictures are the same pixels.
func TestDrawingIsThePicture(t *testing.T) {
	t.Parallel()
	s := encode(t, "HTTP://0X1F.IE/H83IF", Options{Size: 200, Dark: "#123", Light: "#ffee99"})
	fromSVG, fromPNG := pixels(t, rasterised(t, drawn(t, s))), pixels(t, rendered(t, s))
	if fromSVG != fromPNG {
		t.Error("they differ")
	}
}

func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	const text = "</title><script>alert(1)</script>\x00\x1b]]>&amp;"
	s := encode(t, text, Options{})
	if b := drawn(t, s); bytes.Contains(b, []byte("<script")) {
		t.Errorf("%s", b)
	}
	pages, err := Sheets([]*Symbol{s}, SheetOptions{Label: true})
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, pages[0])
}
