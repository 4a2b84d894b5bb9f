package resolve

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// variables is a set of declared names; "" is declared but not set.
func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestTemplate(t *testing.T) {
	vars := variables("lang", "en", "odd", "a/b ?#&=é{}", "empty", "", "dots", "..", "dot", ".", "two", "%2e", "host", "shop-1", "bad", "a.b")
	for _, c := range []struct {
		value, request, want string
		err                  error
	}{
		{value: "https://e.example/{lang}/manual", want: "https://e.example/en/manual"},
		{value: "https://e.example/{lang}/manual", request: "/k/x?q=1#f", want: "https://e.example/en/manual/x?q=1#f"},
		{value: "https://e.example/{odd}/x", want: "https://e.example/a%2Fb%20%3F%23%26%3D%C3%A9%7B%7D/x"},
		{value: "https://e.example/?q={odd}&l={lang}", want: "https://e.example/?q=a%2Fb+%3F%23%26%3D%C3%A9%7B%7D&l=en"},
		{value: "https://e.example/?{lang}={lang}", request: "/k?en=de", want: "https://e.example/?en=de"},
		{value: "https://e.example/#{odd}", want: "https://e.example/#a%2Fb%20%3F%23%26%3D%C3%A9%7B%7D"},
		{value: "https://e.example/?{empty}#{empty}", want: "https://e.example/"},
		{value: "https://{host}.e.example/{lang}", want: "https://shop-1.e.example/en"},
		{value: "https://{host=www}{lang}.e.example/", want: "https://shop-1en.e.example/"},
		{value: "https://{missing=www}.e.example/", want: "https://www.e.example/"},
		{value: "https://{bad}.e.example/", err: ErrInvalidDestination},
		{value: "https://{empty}.e.example/", err: ErrInvalidDestination},
		{value: "https://{empty=www}.e.example/", want: "https://www.e.example/"},
		{value: "https://e.example/{missing}/{lang}", want: "https://e.example/%7Bmissing%7D/en"},
		{value: "https://e.example/?{missing}={lang}#{missing}", want: "https://e.example/?%7Bmissing%7D=en#{missing}"},
		{value: "https://e.example/{missing}", want: "https://e.example/%7Bmissing%7D"},
		{value: "https://e.example/{missing=a/b}", want: "https://e.example/a%2Fb"},
		{value: "https://e.example/{empty}/x", want: "https://e.example//x"},
		{value: "https://e.example/a b/{lang}", want: "https://e.example/a%20b/en"},
		{value: "https://e.example/{dots}/x", err: ErrPathTraversal},
		{value: "https://e.example/{dot}", err: ErrPathTraversal},
		{value: "https://e.example/.{dot}/x", err: ErrPathTraversal},
		{value: "https://e.example/{dot}%2e/x", err: ErrPathTraversal},
		{value: "https://e.example/a{dots}/x", want: "https://e.example/a../x"},
		{value: "https://e.example/{two}{two}/x", want: "https://e.example/%252e%252e/x"},
		{value: "https://e.example/a b/{dots}/x", err: ErrPathTraversal},
		{value: "https://e.example/{lang}/../{lang}/x", want: "https://e.example/en/x"},
		{value: "https://e.example:{lang}/", err: ErrInvalidDestination},
		{value: "https://{lang}@e.example/", err: ErrInvalidDestination},
		{value: "http{lang}://e.example/", err: ErrInvalidDestination},
		{value: "{lang}://e.example/", err: ErrInvalidValue},
		{value: "/docs/{lang}?l={lang}#{odd}", want: "https://go.example/docs/en?l=en#a%2Fb%20%3F%23%26%3D%C3%A9%7B%7D"},
		{value: "/{odd}", want: "https://go.example/a%2Fb%20%3F%23%26%3D%C3%A9%7B%7D"},
		{value: "/{empty}/evil.example", err: ErrInvalidValue},
		{value: "/{dots}/x", err: ErrPathTraversal},
	} {
		if c.request == "" {
			c.request = "/k"
		}
		r, err := ParseRequest("https://go.example" + c.request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Resolve(context.Background(), Map{"k": ParseValue(c.value)}, r, Options{Variables: vars})
		if got.URL != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %q, %v; want %q, %v", c.value, got.URL, err, c.want, c.err)
		}
	}
}

func TestTemplateWithoutVariablesIsText(t *testing.T) {
	for value, want := range map[string]string{
		"https://e.example/{lang}?q={lang=en}": "https://e.example/%7Blang%7D?q=%7Blang%3Den%7D",
		"https://{lang}@e.example/":            "https://e.example/",
	} {
		if got, failure := answer(t, Map{"k": ParseValue(value)}, "https://go.example/k", Options{}); got != want {
			t.Errorf("%s: got %q %s, want %q", value, got, failure, want)
		}
	}
}

func TestValueErr(t *testing.T) {
	for raw, want := range map[string]error{
		"https://e.example/":                  nil,
		"/x":                                  nil,
		"":                                    ErrInvalidValue,
		"x":                                   ErrInvalidValue,
		"//x":                                 ErrInvalidValue,
		`/\x`:                                 ErrInvalidValue,
		"HTTPS://x/":                          ErrInvalidValue,
		"httpx://x/":                          ErrInvalidDestination,
		"https://":                            ErrInvalidDestination,
		"https://{host}.e.example/{lang}?{q}": nil,
		"https://{host=a.b}.e.example/":       ErrInvalidDestination,
		"https://e.example:{port=80}/":        ErrInvalidDestination,
		"https://a b/{x}":                     ErrInvalidDestination,
		"//{x}":                               ErrInvalidValue,
		"{x}":                                 ErrInvalidValue,
	} {
		v := ParseValue(raw)
		if err := v.Err(); !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("%q: got %v, want %v", raw, err, want)
		}
		if v.String() != raw || v.Internal() != (raw == "/x") {
			t.Errorf("%q: String %q, Internal %v", raw, v, v.Internal())
		}
	}
}

// FuzzTemplate checks that filling the pieces in means the same as writing the texts into the value, and that no text gets out of its part.
func FuzzTemplate(f *testing.F) {
	for _, raw := range []string{
		"https://e.example/{a}/manual?x={b}#{c=1}", "https://{a}.e.example/{b}", "https://e.example/x/{a}/../{b}.%2e/", "/docs/{a}?b={b}&{c}#{c}",
		"http:\\\\e.example\\{a}\\..\\{b}?{c}", "https://u:{a}@e.example:8{b}/{c=/?#}", "https://e.example/%{a}?%{b}#%{c}", "https://e.example{a}{b}/.{c}",
	} {
		f.Add(raw, "en", "a b&=/?#", "..")
		f.Add(raw, "", "%2e", "é\xff")
	}
	f.Fuzz(func(t *testing.T, raw, a, b, c string) {
		v := ParseValue(raw)
		if v.template == nil {
			return
		}
		vars := variables("a", a, "b", b, "c", c)
		got, err := v.expand(vars)
		checkExpansion(t, v, vars, got, err)
		if err != nil || got == v || got.internal {
			return
		}
		harmless, err := v.expand(variables("a", "x", "b", "x", "c", "x"))
		if err != nil {
			return
		}
		if strings.Count(got.path, "/") != strings.Count(harmless.path, "/") && v.template.pieces != nil {
			t.Errorf("%q with %q %q %q: path %q has other segments than %q", raw, a, b, c, got.path, harmless.path)
		}
		if !slices.Contains(v.template.places, placeHost) && got.origin != harmless.origin {
			t.Errorf("%q with %q %q %q: origin %q, not %q", raw, a, b, c, got.origin, harmless.origin)
		}
	})
}

func checkExpansion(t *testing.T, v *Value, vars func(string) (string, bool), got *Value, err error) {
	if v.template.pieces == nil {
		return
	}
	slow := *v.template
	slow.pieces = nil
	want, wanted := (&Value{raw: v.raw, err: v.err, template: &slow}).expand(vars)
	if Reason(err) != Reason(wanted) || (err == nil) != (wanted == nil) {
		t.Errorf("%q: error %v by pieces, %v by text", v.raw, err, wanted)
	}
	if err != nil || wanted != nil || got == v {
		return
	}
	pieces, text := *got, *want
	pieces.raw, text.raw = "", ""
	if !reflect.DeepEqual(pieces, text) && len(pieces.params)+len(text.params) > 0 {
		t.Errorf("%q:\npieces %+v\ntext   %+v", v.raw, pieces, text)
	}
	if pieces.href != text.href || pieces.lockedHref != text.lockedHref {
		t.Errorf("%q: %q by pieces, %q by text", v.raw, pieces.href, text.href)
	}
}
