package qr

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"strconv"
)

// maxEmbedded is the side of a logo in an SVG, pixels: enough for print, and the file stays small.
const maxEmbedded = 512

// SVG writes the symbol as a drawing of Pixels by Pixels: one path for all dark modules, no scripts, nothing from elsewhere. The text is the title.
func (s *Symbol) SVG(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+"\n<title>", s.Pixels, s.Pixels, s.Pixels, s.Pixels)
	escape(&b, s.Text)
	fmt.Fprintf(&b, "</title>\n"+`<rect width="%d" height="%d" fill="%s"/>`+"\n", s.Pixels, s.Pixels, hex(s.light))
	fmt.Fprintf(&b, `<g transform="translate(%d %d) scale(%d)">`+"\n", s.offset, s.offset, s.module)
	if err := s.group(&b); err != nil {
		return err
	}
	b.WriteString("</g>\n</svg>\n")
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	return nil
}

// group writes what is drawn on the light ground, in units of modules from the first one.
func (s *Symbol) group(b *bytes.Buffer) error {
	fmt.Fprintf(b, `<path fill="%s" d="%s"/>`+"\n", hex(s.dark), s.path())
	if s.logo == nil {
		return nil
	}
	bounds := s.logo.picture.Bounds()
	w, h := bounds.Dx(), bounds.Dy()
	if longest := max(w, h); longest > maxEmbedded {
		w, h = max(1, w*maxEmbedded/longest), max(1, h*maxEmbedded/longest)
	}
	// It is written anew, so that nothing else that the file held gets out.
	var picture bytes.Buffer
	if err := png.Encode(&picture, scaled(s.logo.picture, w, h)); err != nil {
		return fmt.Errorf("embed logo: %w", err)
	}
	first := float64(len(s.Modules)-s.logo.plate)/2 + 0.5
	fmt.Fprintf(b, `<image x="%g" y="%g" width="%d" height="%d" href="data:image/png;base64,%s"/>`+"\n",
		first, first, s.logo.plate-1, s.logo.plate-1, base64.StdEncoding.EncodeToString(picture.Bytes()))
	return nil
}

// path is a rectangle for each run of dark modules in a row.
func (s *Symbol) path() []byte {
	var d []byte
	for y, row := range s.Modules {
		for x := 0; x < len(row); x++ {
			if !row[x] {
				continue
			}
			end := x
			for end < len(row) && row[end] {
				end++
			}
			d = append(d, 'M')
			d = strconv.AppendInt(d, int64(x), 10)
			d = append(d, ' ')
			d = strconv.AppendInt(d, int64(y), 10)
			d = append(d, 'h')
			d = strconv.AppendInt(d, int64(end-x), 10)
			d = append(d, "v1H"...)
			d = strconv.AppendInt(d, int64(x), 10)
			d = append(d, 'z')
			x = end
		}
	}
	return d
}

// escape writes text so that it is text and nothing else; what XML cannot hold becomes U+FFFD.
func escape(b *bytes.Buffer, text string) { _ = xml.EscapeText(b, []byte(text)) } // A buffer takes everything.
