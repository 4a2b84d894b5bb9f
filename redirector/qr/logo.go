package qr

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"rsc.io/qr/coding"
)

// MaxLogo is the largest file of a logo, bytes.
const MaxLogo = 1 << 20

// Bounds of a logo's picture and of its square.
const (
	maxLogoSide  = 2048 // pixels
	minPlate     = 5    // modules: with less nobody sees what it is
	frame        = 9    // modules at the edges that hold finders, timing and format, which nothing may cover
	mostPercent  = 25
	goodPercent  = 20
	leastPercent = 10
	moreVersions = 7 // how much larger a symbol may get for its logo: from there on the middle is free of alignment patterns
)

// logo is a picture on a light square in the middle.
type logo struct {
	picture image.Image
	plate   int // side of the square, modules
}

// loadLogo decodes a PNG. Its head is looked at first: a small file can claim any size.
func loadLogo(b []byte) (image.Image, error) {
	if len(b) > MaxLogo {
		return nil, refuse("logo has %d bytes: give one of at most %d", len(b), MaxLogo)
	}
	head, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, refuse("logo is no PNG (%v): give one", err)
	}
	if head.Width > maxLogoSide || head.Height > maxLogoSide {
		return nil, refuse("logo has %d by %d pixels: give one of at most %d by %d", head.Width, head.Height, maxLogoSide, maxLogoSide)
	}
	picture, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, refuse("logo is a damaged PNG (%v): give another", err)
	}
	return picture, nil
}

// encodeWithLogo takes the weakest level that can lose what the logo covers, if need be in a larger symbol.
func (s *Symbol) encodeWithLogo(c code, o Options) error {
	picture, err := loadLogo(o.Logo)
	if err != nil {
		return err
	}
	if _, err := c.version(o.Level); err != nil {
		return err
	}
	percents, most := []int{goodPercent, leastPercent}, mostPercent
	if o.LogoPercent > 0 {
		percents, most = []int{o.LogoPercent}, o.LogoPercent
	}
	sizes := c.sizes(o.Level)
	best := 0
	for _, least := range percents {
		for _, size := range sizes {
			plan, err := coding.NewPlan(coding.Version(size.version), size.level.level(), 0)
			if err != nil {
				return fmt.Errorf("plan symbol: %w", err)
			}
			side := len(plan.Pixel)
			plate := largestPlate(plan, plateOf(side, most))
			if plate >= plateOf(side, least) {
				s.logo = &logo{picture, plate}
				return s.fillAround(c, size.version, size.level)
			}
			best = max(best, plate*100/side)
		}
	}
	return noRoom(percents[len(percents)-1], best)
}

// noRoom says why a logo cannot be drawn.
func noRoom(percent, best int) error {
	if best == 0 {
		return refuse("symbols that hold this text have an alignment pattern in the middle, without which they do not scan, so they can have no logo: give a shorter text or a weaker level")
	}
	return refuse("logo of %d percent of the symbol's side covers more than the symbol can lose and still scan: give one of at most %d percent, or a shorter text", percent, best)
}

// size is a symbol that holds a text.
type size struct {
	version int
	level   Level
}

// sizes are the symbols that may carry the logo, in order of preference.
func (c code) sizes(least Level) (all []size) {
	for _, l := range levels[strings.Index(levels, least.String()):] {
		v, err := c.version(Level(l))
		if err != nil {
			break // Stronger levels hold less.
		}
		all = append(all, size{v, Level(l)})
	}
	last := all[len(all)-1]
	for v := last.version + 1; v <= min(last.version+moreVersions, coding.MaxVersion); v++ {
		all = append(all, size{v, last.level})
	}
	return all
}

func (s *Symbol) fillAround(c code, version int, level Level) error {
	if err := s.fill(c, version, level); err != nil {
		return err
	}
	first := (len(s.Modules) - s.logo.plate) / 2
	for _, row := range s.Modules[first : first+s.logo.plate] {
		clear(row[first : first+s.logo.plate])
	}
	return nil
}

// plateOf is the odd number of modules nearest to a share of the side: sides are odd, so the square is in the very middle.
func plateOf(side, percent int) int { return max(side*percent/100|1, minPlate) }

// largestPlate is the largest square in the middle, of at most so many modules, whose loss the symbol survives; 0 when there is none.
func largestPlate(p *coding.Plan, most int) int {
	side := len(p.Pixel)
	for plate := min(most, side-2*frame); plate >= minPlate; plate -= 2 {
		if survives(p, plate) {
			return plate
		}
	}
	return 0
}

// survives counts the codewords that the square touches, all of which it is taken to destroy, in each of the blocks, which are corrected one by
// one: half as many as a block has check codewords can be lost, and a third of that is kept for dirt and bad print. Alignment patterns must stay: a decoder that looks for one and finds a logo gives up.
func survives(p *coding.Plan, plate int) bool {
	first := (len(p.Pixel) - plate) / 2
	lost, seen := make([]int, p.Blocks), map[int]bool{}
	for _, row := range p.Pixel[first : first+plate] {
		for _, pixel := range row[first : first+plate] {
			if pixel.Role() == coding.Alignment {
				return false
			}
			word := int(pixel.Offset() / 8)
			if r := pixel.Role(); r != coding.Data && r != coding.Check || seen[word] {
				continue
			}
			seen[word] = true
			lost[blockOf(p, word)]++
		}
	}
	can := p.CheckBytes / p.Blocks / 2
	for _, n := range lost {
		if n*3 > can*2 {
			return false
		}
	}
	return true
}

// blockOf is the block of a codeword: data come first, and the last blocks have one more of them.
func blockOf(p *coding.Plan, word int) int {
	if word >= p.DataBytes {
		return (word - p.DataBytes) / (p.CheckBytes / p.Blocks)
	}
	each, longer := p.DataBytes/p.Blocks, p.DataBytes%p.Blocks
	short := (p.Blocks - longer) * each
	if word < short {
		return word / each
	}
	return p.Blocks - longer + (word-short)/(each+1)
}

// box is where the logo is drawn, in a picture whose modules have a side of module: as large as its proportions allow, half a module from the
// edges of its square.
func (s *Symbol) box(offset, module int) image.Rectangle {
	inner := s.logo.plate*module - module
	if inner < 1 {
		return image.Rectangle{}
	}
	b := s.logo.picture.Bounds()
	w, h := inner, inner
	if b.Dx() > b.Dy() {
		h = max(1, inner*b.Dy()/b.Dx())
	} else {
		w = max(1, inner*b.Dx()/b.Dy())
	}
	middle := offset + len(s.Modules)*module/2
	return image.Rect(0, 0, w, h).Add(image.Pt(middle-w/2, middle-h/2))
}

// scaled is the picture with other measures, each pixel the mean of those that it stands for.
func scaled(src image.Image, w, h int) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	b := src.Bounds()
	for y := range h {
		y0 := b.Min.Y + y*b.Dy()/h
		y1 := max(y0+1, b.Min.Y+(y+1)*b.Dy()/h)
		for x := range w {
			x0 := b.Min.X + x*b.Dx()/w
			x1 := max(x0+1, b.Min.X+(x+1)*b.Dx()/w)
			out.Set(x, y, mean(src, image.Rect(x0, y0, x1, y1)))
		}
	}
	return out
}

func mean(src image.Image, box image.Rectangle) color.RGBA64 {
	var r, g, b, a uint64
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			cr, cg, cb, ca := src.At(x, y).RGBA()
			r, g, b, a = r+uint64(cr), g+uint64(cg), b+uint64(cb), a+uint64(ca)
		}
	}
	n := uint64(box.Dx() * box.Dy())
	return color.RGBA64{R: uint16(r / n), G: uint16(g / n), B: uint16(b / n), A: uint16(a / n)}
}
