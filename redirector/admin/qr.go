package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"linkfold/redirector/qr"
	"linkfold/schema/linkfoldv1"
)

// SymbolLook is how a symbol is drawn, in the query. It is exported for huma, which skips other embedded structs.
type SymbolLook struct {
	Level  string `query:"level" enum:"L,M,Q,H,l,m,q,h" default:"M" doc:"How much may be lost: about 7, 15, 25, or 30 percent."`
	Size   int    `query:"size" minimum:"0" doc:"Side of the picture with its quiet zone, pixels; modules get as many whole pixels as fit. It excludes module."`
	Module int    `query:"module" minimum:"0" doc:"Side of a module, pixels; 10 unless size is given."`
	Quiet  int    `query:"quiet" minimum:"0" maximum:"64" default:"4" doc:"Width of the quiet zone, modules."`
	Dark   string `query:"dark" doc:"Colour of dark modules, #rrggbb; the number sign may be left out." example:"000000"`
	Light  string `query:"light" doc:"Colour of all else." example:"ffffff"`
	Scheme string `query:"scheme" doc:"https, which it is by default, or http."`
	Base   string `query:"base" doc:"URL in front of the key when links are reached elsewhere than at their domain. It excludes scheme." example:"http://localhost:8080"`
}

func (l SymbolLook) options() (qr.Options, error) {
	level, err := qr.ParseLevel(l.Level)
	o := qr.Options{Level: level, Quiet: l.Quiet, Module: l.Module, Size: l.Size, Dark: l.Dark, Light: l.Light}
	if o.Quiet == 0 {
		o.Quiet = qr.NoQuiet
	}
	return o, err
}

type symbolInput struct {
	LinkPath
	SymbolLook
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the picture that the client has: 304 if it is still the one."`
}

// symbolPicture is a picture, or 304 without one.
type symbolPicture struct {
	Status      int
	ContentType string `header:"Content-Type"`
	ETag        string `header:"ETag"`
	About       string `header:"Linkfold-QR" doc:"What was drawn: version=1; level=M; modules=21"`
	Body        []byte
}

// Symbol describes the symbol of a link.
type Symbol struct {
	URL     string `json:"url" doc:"What the symbol says: on domains whose generator is qr the upper-case form, which tells scans from clicks."`
	Version int    `json:"version" doc:"1 to 40."`
	Level   string `json:"level"`
	Modules int    `json:"modules" doc:"Side without quiet zone, modules."`
	Pixels  int    `json:"pixels" doc:"Side of the picture, pixels."`
}

type symbolOutput struct{ Body Symbol }

func (a *api) registerQR(h huma.API) {
	const path = "/v1/links/{domain}/{key}/qr"
	huma.Register(h, operation("link-qr", "GET", path, "Describe the QR symbol of a link", 200), a.describeSymbol)
	a.registerPicture(h, "link-qr-svg", path+".svg", "image/svg+xml", func(s *qr.Symbol, b *bytes.Buffer) error { return s.SVG(b) })
	a.registerPicture(h, "link-qr-png", path+".png", "image/png", func(s *qr.Symbol, b *bytes.Buffer) error { return s.PNG(b) })
}

// registerPicture tells huma what the answer is, which it cannot see from bytes.
func (a *api) registerPicture(h huma.API, id, path, contentType string, draw func(*qr.Symbol, *bytes.Buffer) error) {
	op := operation(id, "GET", path, "Draw the QR symbol of a link", 200)
	op.Responses = map[string]*huma.Response{
		"200": {Description: "The picture", Content: map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}},
		"304": {Description: "The client has the picture"},
	}
	huma.Register(h, op, func(ctx context.Context, in *symbolInput) (*symbolPicture, error) {
		out, err := a.draw(ctx, in, draw)
		if err != nil {
			return nil, a.symbolProblem(ctx, err)
		}
		out.ContentType = contentType
		return out, nil
	})
}

func (a *api) draw(ctx context.Context, in *symbolInput, draw func(*qr.Symbol, *bytes.Buffer) error) (*symbolPicture, error) {
	s, err := a.symbol(ctx, &in.LinkPath, in.SymbolLook)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := draw(s, &b); err != nil {
		return nil, err
	}
	out := &symbolPicture{
		Status: http.StatusOK, ETag: fmt.Sprintf(`"%x"`, sha256.Sum256(b.Bytes())),
		About: fmt.Sprintf("version=%d; level=%v; modules=%d", s.Version, s.Level, len(s.Modules)), Body: b.Bytes(),
	}
	if strings.Contains(in.IfNoneMatch, out.ETag) || strings.TrimSpace(in.IfNoneMatch) == "*" {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out, nil
}

func (a *api) describeSymbol(ctx context.Context, in *struct {
	LinkPath
	SymbolLook
}) (*symbolOutput, error) {
	s, err := a.symbol(ctx, &in.LinkPath, in.SymbolLook)
	if err != nil {
		return nil, a.symbolProblem(ctx, err)
	}
	return &symbolOutput{Symbol{URL: s.Text, Version: s.Version, Level: s.Level.String(), Modules: len(s.Modules), Pixels: s.Pixels}}, nil
}

// symbol makes the symbol of a link that exists; one that is switched off may be printed before it is switched on.
func (a *api) symbol(ctx context.Context, path *LinkPath, look SymbolLook) (*qr.Symbol, error) {
	now, err := a.current(ctx, path)
	if err != nil {
		return nil, err
	}
	l := now.Event.GetLink()
	home, err := a.home(ctx, l.GetDomain())
	if err != nil {
		return nil, err
	}
	upper := home.domain.GetGenerator() == linkfoldv1.Generator_GENERATOR_QR
	text, err := qr.URL(l.GetDomain(), l.GetKey(), qr.Address{Scheme: look.Scheme, Base: look.Base, Upper: upper})
	if err != nil {
		return nil, err
	}
	options, err := look.options()
	if err != nil {
		return nil, err
	}
	return qr.Encode(text, options)
}

func (a *api) symbolProblem(ctx context.Context, err error) error {
	if errors.Is(err, qr.ErrRefused) {
		return model(http.StatusUnprocessableEntity, err.Error())
	}
	return a.problem(ctx, err)
}
