package redirector

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 5, ""}, {"plain", 5, "plain"}, {"plainer", 5, "plain"}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"a\xff", 5, "a%FF"}, {"a\xff", 3, "a"},
		{"\xff\xfe", 6, "%FF%FE"}, {"\xc3(", 5, "%C3("}, {"\uFFFD", 3, "\uFFFD"}, {"a\x00b", 3, "a\x00b"},
	} {
		if got := text(c.in, c.limit); got != c.want {
			t.Errorf("text(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\xffé", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(0, limit)
		got := text(s, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("text(%q, %d) = %q", s, limit, got)
		}
	})
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/": 0, "/a/b%20c": 0, "/é": 0, "": 400, "a": 400, "*": 400, "/a\nb": 400, "/a\x7f": 400, "/a\x00": 400, "/\xff": 400,
		"/" + strings.Repeat("a", maxPath-1): 0, "/" + strings.Repeat("a", maxPath): 414,
	} {
		if got := checkPath(path); got != want {
			t.Errorf("checkPath(%.20q…) = %d, want %d", path, got, want)
		}
	}
}

func TestHostName(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"": "", "Example.COM": "example.com", "example.com:8080": "example.com", "example.com.": "example.com", "example.com.:80": "example.com",
		"127.0.0.1:80": "127.0.0.1", "[::1]": "::1", "[::1]:80": "::1", "[2001:DB8:0::1]": "2001:db8::1", "[::1": "", "[x]": "",
		"[fe80::1%zone]": "", ":80": "", strings.Repeat("a", 254): "", "[::1%" + strings.Repeat("z", 9000) + "]": "",
	} {
		if got := hostName(host); got != want {
			t.Errorf("hostName(%.40q) = %.40q, want %q", host, got, want)
		}
	}
}

func TestHitIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	before := ""
	for i := range 10_000 {
		id := newHitID(time.UnixMilli(1_700_000_000_000 + int64(i)))
		if len(id) != 16 || id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%x is no UUIDv7", id)
		}
		if string(id) <= before || seen[string(id)] {
			t.Fatalf("%x does not come after %x", id, before)
		}
		before = string(id)
		seen[before] = true
	}
}

func TestRetrySeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Millisecond: "1", time.Second: "1", 1001 * time.Millisecond: "2", time.Minute: "60"} {
		if got := retrySeconds(d); got != want {
			t.Errorf("retrySeconds(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestIsUpper(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/H83IF": true, "/H83if": false, "/123": false, "/%C3%A9": false, "/A%c3": true, "/": false} {
		if got := isUpper(path); got != want {
			t.Errorf("isUpper(%q) = %v", path, got)
		}
	}
}
