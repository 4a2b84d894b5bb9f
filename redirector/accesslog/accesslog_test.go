package accesslog

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"linkfold/schema/linkfoldv1"
)

var at = time.Date(2012, 3, 16, 19, 40, 47, 999_000_000, time.FixedZone("", 3600))

func TestLine(t *testing.T) {
	t.Parallel()
	ip := netip.MustParseAddr("192.0.2.7")
	const ok = linkfoldv1.Outcome_OUTCOME_REDIRECTED
	for name, c := range map[string]struct {
		line Line
		want string
	}{
		"redirect": {Line{Client: ip, TrackingID: "t1", UserAgent: "Mozilla/5.0 (X; Y)", Path: "/H83if", Outcome: ok, URL: "http://example.com/?a=b"},
			"192.0.2.7 t1 Mozilla%2F5.0%20(X%3B%20Y) /H83if OK http://example.com/?a=b"},
		"nothing known":         {Line{}, "- - - - -"},
		"not found has no url":  {Line{Path: "/x", Outcome: linkfoldv1.Outcome_OUTCOME_NOT_FOUND, URL: "http://example.com"}, "- - - /x NF"},
		"redirect without url":  {Line{Path: "/x", Outcome: ok}, "- - - /x OK -"},
		"line break in path":    {Line{Path: "/a\r\nb"}, "- - - /a%0D%0Ab -"},
		"line break in agent":   {Line{UserAgent: "a\nb"}, "- - a%0Ab - -"},
		"space and quote":       {Line{Path: `/a b"c`, TrackingID: "a b"}, "- a%20b - /a%20b%22c -"},
		"other encodings":       {Line{Path: "/\xff\u2028é\x7f\x00"}, "- - - /%FF%E2%80%A8%C3%A9%7F%00 -"},
		"zone in address":       {Line{Client: netip.MustParseAddr("fe80::1%x OK\n")}, "fe80::1 - - - -"},
		"inactive":              {Line{Path: "/x", Outcome: linkfoldv1.Outcome_OUTCOME_INACTIVE}, "- - - /x IA"},
		"an outcome to come":    {Line{Path: "/x", Outcome: 99}, "- - - /x -"},
		"terminal escape":       {Line{Path: "/\x1b[2J"}, "- - - /%1B[2J -"},
		"already encoded stays": {Line{Path: "/%41%"}, "- - - /%41% -"},
	} {
		c.line.Time = at
		if got := string(c.line.Append(nil)); got != "20120316184047.9 "+c.want+"\n" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	for n, name := range linkfoldv1.Outcome_name {
		if c := Code(linkfoldv1.Outcome(n)); n != 0 && len(c) != 2 {
			t.Errorf("%s has code %q", name, c)
		}
	}
}

// Whatever a client sends is one line of six fields, or seven for a redirect.
func FuzzLine(f *testing.F) {
	f.Add("id", "agent", "/path", "http://example.com/", true, "eth0")
	f.Add("\n", "a b", " ", "\x00\r\n", true, "a b\nc")
	f.Add("", "", "", "", false, "")
	f.Fuzz(func(t *testing.T, id, agent, path, url string, redirected bool, zone string) {
		l := Line{Time: at, Client: netip.MustParseAddr("fe80::1").WithZone(zone), TrackingID: id, UserAgent: agent, Path: path, URL: url, Outcome: linkfoldv1.Outcome_OUTCOME_NOT_FOUND}
		fields := 6
		if redirected {
			l.Outcome, fields = linkfoldv1.Outcome_OUTCOME_REDIRECTED, 7
		}
		line := string(l.Append(nil))
		body, ended := strings.CutSuffix(line, "\n")
		if got := strings.Split(body, " "); !ended || len(got) != fields {
			t.Fatalf("%d fields: %q", len(got), line)
		}
		for i := range len(body) {
			if body[i] < ' ' || body[i] > '~' {
				t.Fatalf("byte %#x in %q", body[i], line)
			}
		}
	})
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.log")
	for range 2 { // The second time it is appended to.
		l, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx, func(err error) { t.Error(err) }) }()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for range 100 {
					l.Write(&Line{Time: at, Path: "/x"})
				}
			})
		}
		wg.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("20120316184047.9 - - - /x -\n", 2000); string(b) != want {
		t.Errorf("%d bytes, want %d", len(b), len(want))
	}
}

// failing fails while told to.
type failing struct {
	bytes.Buffer
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.Buffer.Write(p)
}

func TestErrorsDoNotStick(t *testing.T) {
	t.Parallel()
	w := &failing{err: errors.New("disk full")}
	l := New(w)
	l.Write(&Line{Time: at, Path: "/lost"})
	if err := l.Flush(); !errors.Is(err, w.err) {
		t.Errorf("Flush = %v", err)
	}
	w.err = nil
	l.Write(&Line{Time: at, Path: "/kept"})
	if err := l.Flush(); err != nil || w.String() != "20120316184047.9 - - - /kept -\n" {
		t.Errorf("Flush = %v, wrote %q", err, w.String())
	}
}

func TestNoLog(t *testing.T) {
	t.Parallel()
	l, err := Open("")
	if l != nil || err != nil {
		t.Errorf("Open = %v, %v", l, err)
	}
	l.Write(&Line{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx, nil); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a directory is no log")
	}
}
