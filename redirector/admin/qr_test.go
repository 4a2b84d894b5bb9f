package admin

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkfold/deploy/devstack"
)

func (e *env) readPNG(b []byte) string {
	e.t.Helper()
	file := filepath.Join(e.t.TempDir(), "symbol.png")
	must(e.t, os.WriteFile(file, b, 0o600))
	return devstack.ReadQR(e.t, file)
}

func TestQRSymbols(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.want(200, "PUT", "/v1/domains/0x1f.ie", `{"generator":"qr"}`)
	for _, l := range []string{
		`{"key":"H83if","destination":"https://example.com/"}`, `{"domain":"0x1f.ie","key":"h83if","destination":"https://example.com/"}`,
		`{"key":"a/ö","destination":"https://example.com/"}`, `{"key":"off","inactive":true,"destination":"https://example.com/"}`,
	} {
		e.want(201, "POST", "/v1/links", l)
	}
	for _, c := range []struct{ path, text, about string }{
		{"go/H83if/qr.png", "https://go/H83if", "version=2; level=M; modules=25"},
		{"go/off/qr.png?scheme=http", "http://go/off", "version=1; level=M; modules=21"},
		{"go/a%2F%C3%B6/qr.png", "https://go/a/%C3%B6", "version=2; level=M; modules=25"},
		{"0x1f.ie/h83if/qr.png?scheme=http&module=3", "HTTP://0X1F.IE/H83IF", "version=1; level=M; modules=21"},
		{"0x1f.ie/h83if/qr.png", "HTTPS://0X1F.IE/H83IF", "version=2; level=M; modules=25"},
		{"0x1f.ie/h83if/qr.png?base=http%3A%2F%2Flocalhost%3A8080%2F&level=l", "HTTP://LOCALHOST:8080/H83IF", "version=2; level=L; modules=25"},
		{"go/H83if/qr.png?base=https%3A%2F%2Fexample.com%2Fin%2Ffront&level=H&dark=%23123&light=ffee99&size=300&quiet=2", "https://example.com/in/front/H83if", "version=4; level=H; modules=33"},
	} {
		r := e.want(200, "GET", "/v1/links/"+c.path, "")
		if got := r.Header().Get("Linkfold-QR"); got != c.about || r.Header().Get("Content-Type") != "image/png" {
			t.Errorf("%s: %v, want %s", c.path, r.Header(), c.about)
		}
		if got := e.readPNG(r.Body.Bytes()); got != c.text {
			t.Errorf("%s reads %q, want %q", c.path, got, c.text)
		}
	}
	e.symbolFormats()
	e.symbolRefusals()
}

func (e *env) symbolFormats() {
	e.t.Helper()
	r := e.want(200, "GET", "/v1/links/go/H83if/qr.svg?quiet=0&module=1", "")
	if !strings.HasPrefix(r.Body.String(), "<svg ") || r.Header().Get("Content-Type") != "image/svg+xml" || !strings.Contains(r.Body.String(), `viewBox="0 0 25 25"`) {
		e.t.Errorf("%v %s", r.Header(), r.Body)
	}
	tag := r.Header().Get("ETag")
	if again := e.want(304, "GET", "/v1/links/go/H83if/qr.svg?quiet=0&module=1", "", "If-None-Match", tag); again.Body.Len() != 0 || again.Header().Get("ETag") != tag {
		e.t.Errorf("%v %q", again.Header(), again.Body)
	}
	e.want(200, "GET", "/v1/links/go/H83if/qr.svg?quiet=1&module=1", "", "If-None-Match", tag)
	r = e.want(200, "GET", "/v1/links/go/H83if/qr.png?size=100", "")
	if c, err := png.DecodeConfig(bytes.NewReader(r.Body.Bytes())); err != nil || c.Width != 100 || c.Height != 100 {
		e.t.Errorf("%+v %v", c, err)
	}
	var s Symbol
	r = e.want(200, "GET", "/v1/links/0x1f.ie/h83if/qr?scheme=http", "")
	if err := json.Unmarshal(r.Body.Bytes(), &s); err != nil || s != (Symbol{"HTTP://0X1F.IE/H83IF", 1, "M", 21, 290}) {
		e.t.Errorf("%+v %v", s, err)
	}
	r = e.want(200, "GET", "/openapi.json", "")
	for _, want := range []string{"/v1/links/{domain}/{key}/qr.svg", "/v1/links/{domain}/{key}/qr.png", `"image/png"`, `"image/svg+xml"`, "Linkfold-QR"} {
		if !strings.Contains(r.Body.String(), want) {
			e.t.Errorf("the OpenAPI document lacks %s", want)
		}
	}
}

func (e *env) symbolRefusals() {
	e.t.Helper()
	e.want(201, "POST", "/v1/links", `{"key":"gone","destination":"https://example.com/"}`)
	e.want(200, "DELETE", "/v1/links/go/gone", "")
	e.want(404, "GET", "/v1/links/go/gone/qr.svg", "")
	for query, want := range map[string]string{
		"size=10": "give at least", "size=100000": "at most", "module=100000": "give", "size=100&module=3": "one of them", "dark=red": "hexadecimal",
		"dark=fff&light=000": "inverted", "dark=999": "contrast", "level=Z": "expected value to be one of", "quiet=1000": "64", "scheme=ftp": "http or https",
		"base=ftp%3A%2F%2Fx": "http or https URL", "base=http%3A%2F%2Fx&scheme=http": "one of them",
	} {
		r := e.want(422, "GET", "/v1/links/go/H83if/qr.png?"+query, "")
		if !strings.Contains(r.Body.String(), want) || r.Header().Get("Content-Type") != "application/problem+json" {
			e.t.Errorf("%s: %v %s; want %q", query, r.Header(), r.Body, want)
		}
	}
	e.want(404, "GET", "/v1/links/go/never/qr.png", "")
	e.want(404, "GET", "/v1/links/go/never/qr", "")
}
