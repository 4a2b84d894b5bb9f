package link_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
)

func TestNormalizeDestination(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"http://innerfunction.com/wp/whelans/?p=14", "http://innerfunction.com/wp/whelans/?p=14"},
		{"https://Example.COM:443/a b?q=é#f g", "https://example.com/a%20b?q=%C3%A9#f%20g"},
		{"http:foo", "http://foo/"},
		{"https://example.com/a\r\nSet-Cookie: x=1", "https://example.com/aSet-Cookie:%20x=1"},
		{"", ""}, {"x.com", ""}, {"ftp://x/", ""}, {"javascript:alert(1)", ""}, {"https://a b/", ""},
		{"https://x/\xff", ""}, {"https://x/" + strings.Repeat("a", link.MaxDestination), ""},
		{"https://x/" + strings.Repeat("é", 700), ""},
		{"HTTP://x/", ""}, {" https://x/", ""}, {"httpx://h", ""}, {"http+unix://s", ""}, {"http", ""}, {"https://", ""},
		{"/other", "/other"}, {"/", "/"}, {"/b c/é?u=é#a b", "/b%20c/%C3%A9?u=%C3%A9#a%20b"}, {"/b#", "/b#"}, {"/b?a=1#x?y", "/b?a=1#x?y"},
		{"//host", ""}, {`/\host`, ""}, {`/a\b`, ""}, {"/c?a=1?b=2", ""}, {"/c#a#b", ""}, {"/a/../b", ""}, {"/a/%2E%2e", ""}, {"/./a", ""}, {"/a\tb", ""},
		{"https://example.com/{language}/{version=1.0}/manual?l={language}#{x}", "https://example.com/{language}/{version=1.0}/manual?l={language}#{x}"},
		{"https://{language}.Example.com/{a b}", "https://{language}.example.com/%7Ba%20b%7D"}, {"/{language}/x y", "/{language}/x%20y"},
		{"https://u:{x}@example.com/", ""}, {"https://example.com:{port}/", ""}, {"{scheme}://example.com/", ""}, {"https://lfv0q.com/{a}", "https://lfv0q.com/{a}"},
	} {
		got, err := link.NormalizeDestination(c.in)
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, link.ErrInvalid) {
			t.Errorf("NormalizeDestination(%.60q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestNormalizeKey(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"H83if", "H83if"}, {"a/b/c", "a/b/c"}, {"docs/", "docs/"}, {"é", "%C3%A9"}, {"b c", "b%20c"}, {"v1.2", "v1.2"},
		{"a//b", "a//b"}, {"%41", "%41"}, {"x-/y", "x-/y"},
		{"", ""}, {"/a", ""}, {"-/metrics", ""}, {"a?b", ""}, {"a#b", ""}, {`a\b`, ""}, {"a/../b", ""}, {".", ""}, {"a/%2e%2e", ""},
		{"a\nb", ""}, {"\xff", ""}, {strings.Repeat("a", link.MaxKey+1), ""}, {strings.Repeat("a/", link.MaxSegments), ""}, {strings.Repeat("é", 100), ""},
	} {
		got, err := link.NormalizeKey(c.in)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("NormalizeKey(%.40q) = %q, %v; want %q", c.in, got, err, c.want)
			continue
		}
		if err == nil { // Whatever can be saved can be asked for.
			if path, ok := link.SerializePath("/" + got); !ok || path != "/"+got {
				t.Errorf("SerializePath(/%s) = %q, %v", got, path, ok)
			}
		}
	}
}

func TestSerializePath(t *testing.T) {
	for _, c := range []struct {
		path, want string
		ok         bool
	}{
		{"/", "/", true}, {"/abc", "/abc", true}, {"/a/b/", "/a/b/", true}, {"//x", "//x", true}, {"/a.html", "/a.html", true},
		{"/a..b", "/a..b", true}, {"/a/../b", "/b", true}, {"/./a", "/a", true}, {"/%2e%2e/a", "/a", true}, {"/é", "/%C3%A9", true}, {"/a%zz", "/a%zz", true},
		{"/%C3%A9", "/%C3%A9", true}, {"", "", false}, {"*", "", false}, {"abc", "", false},
	} {
		if got, ok := link.SerializePath(c.path); got != c.want || ok != c.ok {
			t.Errorf("SerializePath(%q) = %q, %v; want %q, %v", c.path, got, ok, c.want, c.ok)
		}
	}
}

func TestNormalizeDomain(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Go.Example.COM.", "go.example.com"}, {"go", "go"}, {"bücher.example", "xn--bcher-kva.example"}, {"127.0.0.1", "127.0.0.1"}, {"[::1]", "::1"},
		{"1.usa.gov", "1.usa.gov"}, {"", ""}, {"a b", ""}, {"http://x", ""}, {"x:80", ""}, {"a/b", ""},
	} {
		if got, err := link.NormalizeDomain(c.in); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("NormalizeDomain(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestNormalizeChecksLabels(t *testing.T) {
	ok := &linkfoldv1.Link{Domain: "GO", Key: "k", Destination: "https://x", Title: "T", Tags: []string{"a"}}
	if err := link.Normalize(ok); err != nil || ok.Domain != "go" || ok.Destination != "https://x/" {
		t.Errorf("Normalize = %v, %v", ok, err)
	}
	for _, change := range []func(*linkfoldv1.Link){
		func(l *linkfoldv1.Link) { l.Title = "a\nb" },
		func(l *linkfoldv1.Link) { l.Title = strings.Repeat("x", link.MaxTitle+1) },
		func(l *linkfoldv1.Link) { l.Tags = []string{""} },
		func(l *linkfoldv1.Link) { l.Tags = make([]string, link.MaxTags+1) },
	} {
		l := proto.CloneOf(ok)
		change(l)
		if err := link.Normalize(l); !errors.Is(err, link.ErrInvalid) {
			t.Errorf("Normalize(%v) = %v, want ErrInvalid", l, err)
		}
	}
}

func TestChange(t *testing.T) {
	base := &linkfoldv1.Link{Domain: "go", Key: "k", Destination: "https://x/"}
	with := func(f func(*linkfoldv1.Link)) *linkfoldv1.Link { l := proto.CloneOf(base); f(l); return l }
	deleted := with(func(l *linkfoldv1.Link) { l.Deleted = true })
	inactive := with(func(l *linkfoldv1.Link) { l.Inactive = true })
	for _, c := range []struct {
		before, after *linkfoldv1.Link
		want          linkfoldv1.EventType
	}{
		{nil, base, linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED},
		{deleted, base, linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED},
		{base, deleted, linkfoldv1.EventType_EVENT_TYPE_LINK_DELETED},
		{base, inactive, linkfoldv1.EventType_EVENT_TYPE_LINK_DEACTIVATED},
		{inactive, base, linkfoldv1.EventType_EVENT_TYPE_LINK_REACTIVATED},
		{base, with(func(l *linkfoldv1.Link) { l.Destination = "https://y/"; l.Inactive = true }), linkfoldv1.EventType_EVENT_TYPE_LINK_RETARGETED},
		{base, with(func(l *linkfoldv1.Link) { l.Tags = []string{"t"} }), linkfoldv1.EventType_EVENT_TYPE_LINK_CHANGED},
		{base, with(func(l *linkfoldv1.Link) { l.LockQuery = true }), linkfoldv1.EventType_EVENT_TYPE_LINK_CHANGED},
		{base, base, linkfoldv1.EventType_EVENT_TYPE_UNSPECIFIED},
	} {
		if got := link.Change(c.before, c.after); got != c.want {
			t.Errorf("Change(%v, %v) = %v, want %v", c.before, c.after, got, c.want)
		}
	}
}

func TestFoldIsOrderIndependent(t *testing.T) {
	a, b := link.Fold[string]{}, link.Fold[string]{}
	one, two := &linkfoldv1.Event{CommandId: "1"}, &linkfoldv1.Event{CommandId: "2"}
	a.Apply("k", 1, one)
	a.Apply("k", 2, two)
	b.Apply("k", 2, two)
	b.Apply("k", 1, one)
	b.Apply("k", 2, two)
	if a["k"] != b["k"] || a["k"].Event != two || a["k"].Revision != 2 {
		t.Errorf("folds differ: %v, %v", a["k"], b["k"])
	}
}

func TestLowerPath(t *testing.T) {
	for path, want := range map[string]string{"/": "/", "/Foo/BAR": "/foo/bar", "/A%C3%A9B%2": "/a%C3%A9b%2", "/é": "/é"} {
		if got := link.LowerPath(path); got != want {
			t.Errorf("LowerPath(%q) = %q, want %q", path, got, want)
		}
	}
}
