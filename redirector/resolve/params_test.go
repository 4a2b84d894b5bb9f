package resolve

import (
	"strings"
	"testing"
)

// TestParams compares with what URLSearchParams print in JavaScript (Node.js 20).
func TestParams(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"", ""},
		{"a", "a="},
		{"a=", "a="},
		{"=a", "=a"},
		{"=", "="},
		{"&", ""},
		{"&&a=1&", "a=1"},
		{"a=1&a=2", "a=1&a=2"},
		{"a=b=c", "a=b%3Dc"},
		{"a+b=c+d", "a+b=c+d"},
		{"a%20b=%2B", "a+b=%2B"},
		{"a%2", "a%252="},
		{"a%", "a%25="},
		{"%zz=1", "%25zz=1"},
		{"%41=%61", "A=a"},
		{"~*-._!'()", "%7E*-._%21%27%28%29="},
		{"a;b=1;c", "a%3Bb=1%3Bc"},
		{"é=ü", "%C3%A9=%C3%BC"},
		{"😀=%F0%9F%98%80", "%F0%9F%98%80=%F0%9F%98%80"},
		{"x=%E4%F6", "x=%EF%BF%BD%EF%BF%BD"},
		{"x=%E2%82", "x=%EF%BF%BD"},
		{"x=%E2%82A", "x=%EF%BF%BDA"},
		{"x=%F0%9F%98", "x=%EF%BF%BD"},
		{"x=%F0%9F%98%C3", "x=%EF%BF%BD%EF%BF%BD"},
		{"x=%F0%80%80", "x=%EF%BF%BD%EF%BF%BD%EF%BF%BD"},
		{"x=%ED%A0%80", "x=%EF%BF%BD%EF%BF%BD%EF%BF%BD"},
		{"x=%F4%90%80%80", "x=%EF%BF%BD%EF%BF%BD%EF%BF%BD%EF%BF%BD"},
		{"x=%C0%AF", "x=%EF%BF%BD%EF%BF%BD"},
		{"x=%EF%BB%BFy", "x=%EF%BB%BFy"},
		{"x=%00", "x=%00"},
		{"a[]=1&a[]=2", "a%5B%5D=1&a%5B%5D=2"},
		{"x=%FF%41", "x=%EF%BF%BDA"},
		{"x=%E0%A0", "x=%EF%BF%BD"},
		{"x=%E0%9F%BF", "x=%EF%BF%BD%EF%BF%BD%EF%BF%BD"},
		{"x=%C3%28", "x=%EF%BF%BD%28"},
		{"a\tb=c\nd", "a%09b=c%0Ad"},
		{"x=%c3%a9", "x=%C3%A9"},
		{"x=<>\"`{}|\\^@:/?#", "x=%3C%3E%22%60%7B%7D%7C%5C%5E%40%3A%2F%3F%23"},
	} {
		if got := strings.TrimPrefix(string(appendParams(nil, parseParams(c.query))), "?"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.query, got, c.want)
		}
	}
}

// TestCombine compares with URLSearchParams.set called for the pairs of embedded and then of request.
func TestCombine(t *testing.T) {
	for _, c := range []struct{ own, embedded, request, want string }{
		{"a=1&b=2", "", "a=3", "a=3&b=2"},
		{"a=1&a=2&b=3", "", "a=9", "a=9&b=3"},
		{"a=1", "b=2&b=3", "c=4&c=5&b=6", "a=1&b=6&c=5"},
		{"", "x=1&x=2", "x=3", "x=3"},
		{"a=1&b=2&a=3", "a=x", "a=y&a=z&d", "a=z&b=2&d="},
		{"a=1", "", "", "a=1"},
		{"", "", "", ""},
		{"%61=1", "", "a=%20", "a=+"},
		{"=1", "", "=2", "=2"},
		{"z=1", "a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10", "j=x&z=y&k=11&a=0", "z=y&a=0&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=x&k=11"},
		{"a=1", "&&", "&", "a=1"},
	} {
		got := strings.TrimPrefix(string(appendCombined(nil, parseParams(c.own), parseParams(c.embedded), c.request)), "?")
		if got != c.want {
			t.Errorf("%q %q %q: got %q, want %q", c.own, c.embedded, c.request, got, c.want)
		}
	}
}

func FuzzParams(f *testing.F) {
	for _, v := range vectors(f) {
		if _, query, ok := strings.Cut(v.Request, "?"); ok {
			f.Add("a=1&a=2&title=Main", "x=1", query)
		}
	}
	f.Add("x=%F0%9F%98&=&a", "a=%C3&a=%28", "%zz&a+b=c%2")
	f.Fuzz(func(t *testing.T, own, embedded, request string) {
		list := parseParams(request)
		text := strings.TrimPrefix(string(appendParams(nil, list)), "?")
		if again := string(appendParams(nil, parseParams(text))); strings.TrimPrefix(again, "?") != text {
			t.Errorf("%q is printed as %q and then as %q", request, text, again)
		}
		for i := range len(text) {
			if c := text[i]; !formPlain[c] && !strings.ContainsRune("+%=&", rune(c)) {
				t.Errorf("%q: byte %q is not escaped", text, c)
			}
		}
		got := string(appendCombined(nil, parseParams(own), parseParams(embedded), request))
		if want := referenceCombine(own, "?"+embedded, request); got != want {
			t.Errorf("%q %q %q: got %q, want %q", own, embedded, request, got, want)
		}
	})
}
