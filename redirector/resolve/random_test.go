package resolve

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Pieces of random rulesets and requests: plain ones, so that keys are found, and every kind that has once been handled wrongly somewhere.
var (
	someSegments = strings.Split("a b c é b\x20c b%20c %2F .. . %2e%2E (p) x^y | {q} 😀 a\\b \\.. %C3%A9 `<>\" ' \t %zz a;b=1 ~", " ")
	someQueries  = []string{"", "?", "?a=1", "?a=1&a=2&b", "?é=ü", "?x=%F0%9F%98&%41=1", "?&&=v&=", "?a+b=c%20d", "?~*-._'\"=<>", "?r=/x?y=1", "?%"}
	someHashes   = []string{"", "", "#", "#f", "#é x", "#?q", "#a#b", "#\"<>`{}"}
	someOrigins  = []string{"https://one.example", "http://two.example:80", "https://u:p@three.example:8443", "http:\\\\five.example",
		"https://bücher.example", "https://[::1]:99", "http://0x7f.1", "http://a b", "httpx://q", "http"}
	someNonsense = []string{"", "//e.example", "/\\e", "ftp://x/", "HTTP://x", "x", " /a", "/"}
)

type random struct{ *rand.Rand }

func (r random) pick(list []string) string { return list[r.IntN(len(list))] }

func (r random) path(longest int) string {
	path := ""
	for range 1 + r.IntN(longest) {
		list := someSegments
		if r.IntN(3) > 0 {
			list = someSegments[:3]
		}
		path += "/" + r.pick(list)
	}
	return path
}

func (r random) value() string {
	path := r.path(4)
	switch r.IntN(20) {
	case 0:
		return r.pick(someNonsense)
	case 1, 2, 3, 4, 5, 6, 7:
		return r.pick(someOrigins) + path + r.pick(someQueries) + r.pick(someHashes)
	}
	return path + r.pick(someQueries) + r.pick(someHashes)
}

// TestRandomRulesets compares Resolve with the draft's pseudocode and checks the properties, the same cases each time.
func TestRandomRulesets(t *testing.T) {
	r := random{rand.New(rand.NewPCG(3, 255))}
	matched := 0
	for range 20_000 {
		parsed, plain := Map{}, map[string]string{}
		request := "https://go.example"
		for range 1 + r.IntN(6) {
			key, value := r.path(3)[1:], r.value()
			parsed[key], plain[key] = ParseValue(value), value
			if r.IntN(4) == 0 {
				request = "https://go.example/" + key
			}
		}
		if r.IntN(2) == 0 {
			request += r.path(2)
		}
		request += r.pick(someQueries) + r.pick(someHashes)
		got, failure := answer(t, parsed, request, Options{})
		want, wanted := referenceResolve(plain, request)
		if got != want || failure != wanted {
			t.Errorf("%q %q\ngot  %q %q\nwant %q %q", plain, request, got, failure, want, wanted)
		}
		if !strings.HasPrefix(got, "https://go.example/") {
			matched++
		}
		checkProperties(t, parsed, request)
	}
	if matched < 5_000 {
		t.Errorf("only %d requests came to anything: these cases test little", matched)
	}
}
