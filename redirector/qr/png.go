package qr

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
)

// PNG writes the symbol as a picture of Pixels by Pixels. Without a logo it has two colours, one bit per pixel.
func (s *Symbol) PNG(w io.Writer) error {
	var picture image.Image = s.draw()
	if s.logo != nil {
		picture = s.drawLogo(picture)
	}
	if err := png.Encode(w, picture); err != nil {
		return fmt.Errorf("write png: %w", err)
	}
	return nil
}

func (s *Symbol) draw() *image.Paletted {
	p := image.NewPaletted(image.Rect(0, 0, s.Pixels, s.Pixels), color.Palette{s.light, s.dark})
	for y, row := range s.Modules {
		top := p.Pix[(s.offset+y*s.module)*p.Stride:]
		for x, dark := range row {
			if dark {
				fill(top[s.offset+x*s.module:][:s.module])
			}
		}
		for i := 1; i < s.module; i++ {
			copy(top[i*p.Stride:][:s.Pixels], top[:s.Pixels])
		}
	}
	return p
}

func fill(pixels []uint8) {
	for i := range pixels {
		pixels[i] = 1
	}
}

func (s *Symbol) drawLogo(ground image.Image) image.Image {
	p := image.NewNRGBA(ground.Bounds())
	draw.Draw(p, p.Bounds(), ground, image.Point{}, draw.Src)
	if box := s.box(s.offset, s.module); !box.Empty() {
		draw.Draw(p, box, scaled(s.logo.picture, box.Dx(), box.Dy()), image.Point{}, draw.Over)
	}
	return p
}
