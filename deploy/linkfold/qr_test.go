package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linkfold/deploy/devstack"
	"linkfold/deploy/linkfold/internal/api"
)

// drawQR runs "linkfold qr …" and wants an exit code.
func drawQR(t *testing.T, code int, args ...string) (out, screen string) {
	t.Helper()
	var o, s bytes.Buffer
	if got := run(append([]string{"qr"}, args...), &o, &s); got != code {
		t.Fatalf("qr %q: exit code %d, want %d\n%s%s", args, got, code, o.String(), s.String())
	}
	return o.String(), s.String()
}

func TestQROfText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, drawing, logo := filepath.Join(dir, "a.png"), filepath.Join(dir, "a.svg"), filepath.Join(dir, "logo.png")
	out, _ := drawQR(t, 0, "--text", "HTTP://0X1F.IE/H83IF", "--out", file)
	contains(t, out, "text               HTTP://0X1F.IE/H83IF", "version            1", "level              M", "modules            21 x 21", "pixels             290 x 290")
	if got := devstack.ReadQR(t, file); got != "HTTP://0X1F.IE/H83IF" {
		t.Errorf("it reads %q", got)
	}
	_, screen := drawQR(t, 1, "--text", "other", "--out", file)
	contains(t, screen, "exists", "--force")
	drawQR(t, 0, "--text", "other", "--out", file, "--force", "--size", "301", "--quiet", "0", "--dark", "#103a6b", "--light", "ffe")
	picture(t, logo)
	out, _ = drawQR(t, 0, "--text", "https://example.com/H83if", "--out", file, "--force", "--logo", logo, "--level", "l", "--logo-percent", "28")
	contains(t, out, "level              H")
	if got := devstack.ReadQR(t, file); got != "https://example.com/H83if" {
		t.Errorf("with a logo it reads %q", got)
	}
	drawQR(t, 0, "--text", "other", "--out", drawing, "--module", "3")
	b, err := os.ReadFile(drawing)
	out, screen = drawQR(t, 0, "--text", "other", "--out", "-", "--module", "3")
	if err != nil || out != string(b) || !strings.HasPrefix(out, "<svg ") {
		t.Errorf("%v; %s", err, out)
	}
	contains(t, screen, "version            1")
}

func picture(t *testing.T, file string) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestQRRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, text := filepath.Join(dir, "a.svg"), filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"--out", out}, "give a domain and a key, or --text, or --sheet"}, {2, []string{"go", "--out", out}, "give a domain and a key"},
		{2, []string{"go", "a", "--text", "x", "--out", out}, "give a domain and a key, or"}, {2, []string{"--text", "x"}, "--out"},
		{2, []string{"--text", "x", "--out", "a.gif"}, ".svg or .png"}, {2, []string{"--sheet", "-", "--out", "a.png"}, "pages are SVG"},
		{2, []string{"--sheet", "-", "--out", out, "--size", "9"}, "--columns"}, {2, []string{"--text", "x", "--out", out, "--quiet=-1"}, "--quiet"},
		{1, []string{"--text", "x", "--out", out, "--level", "Z"}, "give L, M, Q or H"}, {1, []string{"--text", "x", "--out", out, "--dark", "red"}, "hexadecimal"},
		{1, []string{"--text", "x", "--out", out, "--size", "3"}, "give at least 29"}, {1, []string{"--text", "x", "--out", out, "--logo", text}, "no PNG"},
		{1, []string{"--text", "x", "--out", out, "--logo", filepath.Join(dir, "nothing")}, "open file"},
		{1, []string{"go", "a", "--out", out, "--data", dir}, "find the admin API"}, {1, []string{"--sheet", filepath.Join(dir, "nothing"), "--out", out}, "open list"},
	} {
		_, screen := drawQR(t, c.code, c.args...)
		contains(t, screen, c.want)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused symbol was written")
	}
}

func TestQRSheets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list, out := filepath.Join(dir, "list"), filepath.Join(dir, "sheet.svg")
	var lines strings.Builder
	for i := range 25 {
		fmt.Fprintf(&lines, "HTTPS://EXAMPLE.COM/%d\n\n", i)
	}
	if err := os.WriteFile(list, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	_, screen := drawQR(t, 1, "--sheet", list, "--out", "-", "--label")
	contains(t, screen, "needs 2 pages")
	second := filepath.Join(dir, "sheet-2.svg")
	if err := os.WriteFile(second, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, screen = drawQR(t, 1, "--sheet", list, "--out", out, "--label")
	contains(t, screen, "sheet-2.svg exists")
	if _, err := os.Stat(out); err == nil {
		t.Error("the first page was written without the second")
	}
	said, _ := drawQR(t, 0, "--sheet", list, "--out", out, "--label", "--force")
	contains(t, said, "symbols            25", "pages              2", "sheet-2.svg")
	for file, n := range map[string]int{out: 20, second: 5} {
		b, err := os.ReadFile(file)
		if err != nil || bytes.Count(b, []byte("<path")) != n || bytes.Count(b, []byte("<text")) != n {
			t.Errorf("%s: %v, want %d symbols", file, err, n)
		}
	}
}

// The symbol of a link says what the API says, by the generator of its domain.
func TestQROfLinks(t *testing.T) {
	t.Parallel()
	in := startUp(t)
	client, err := api.Open(api.Flags{Data: in.dir})
	if err == nil {
		err = client.Do(t.Context(), http.MethodPut, "/v1/domains/qr.example", map[string]string{"generator": "qr"}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	in.command(0, "set", "plain.example", "--tracking", "hash")
	in.link("qr.example", "a/b")
	in.link("plain.example", "Ab1")
	dir := t.TempDir()
	for i, c := range []struct {
		args []string
		want string
	}{
		{[]string{"qr.example", "a/b"}, "HTTPS://QR.EXAMPLE/A/B"}, {[]string{"plain.example", "Ab1", "--scheme", "http"}, "http://plain.example/Ab1"},
		{[]string{"qr.example", "a/b", "--base", "http://" + in.Public}, "HTTP://" + in.Public + "/A/B"},
	} {
		file := filepath.Join(dir, fmt.Sprint(i, ".png"))
		drawQR(t, 0, append(c.args, "--out", file, "--data", in.dir)...)
		if got := devstack.ReadQR(t, file); got != c.want {
			t.Errorf("%q reads %q, want %q", c.args, got, c.want)
		}
	}
	_, screen := drawQR(t, 1, "qr.example", "never", "--out", "-", "--data", in.dir)
	contains(t, screen, "never")
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte("qr.example a/b\nplain text of three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := drawQR(t, 0, "--sheet", list, "--out", "-", "--label", "--data", in.dir)
	if texts := []string{">HTTPS://QR.EXAMPLE/A/B<", ">plain text of three<"}; slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(out, s) }) {
		t.Errorf("%.2000s", out)
	}
}
