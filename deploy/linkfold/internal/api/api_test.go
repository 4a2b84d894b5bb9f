package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linkfold/deploy/linkfold/internal/allinone"
)

const token = "0123456789abcdef"

func tokenFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// serve starts a server with one answer and a client of it.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	c, err := Open(Flags{Admin: strings.TrimPrefix(s.URL, "http://"), TokenFile: tokenFile(t, token+"\n")})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDoSendsAndDecodes(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, none := r.Header["Linkfold-Reason"]
		_ = json.NewEncoder(w).Encode(map[string]any{
			"got": r.Method + " " + r.URL.EscapedPath() + " " + r.Header.Get("Authorization") + " " + r.Header.Get("If-Match") + " " + string(b), "reason": none,
		})
	})
	var out struct {
		Got    string
		Reason bool
	}
	err := c.Do(t.Context(), "PUT", "/v1/x/a%2Fb", map[string]int{"n": 1}, &out, Header{"If-Match", `"7"`}, Header{"Linkfold-Reason", ""})
	if want := `PUT /v1/x/a%2Fb Bearer ` + token + ` "7" {"n":1}`; err != nil || out.Got != want || out.Reason {
		t.Errorf("%v %+v; want %s", err, out, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		status   int
		body     string
		want     string
		revision uint64
	}{
		{"detail", 422, `{"title":"Unprocessable Entity","status":422,"detail":"rules: wrong"}`, "rules: wrong", 0},
		{"fields", 422, `{"detail":"validation failed","errors":[{"message":"expected number <= 255","location":"body.max_hops","value":256},{"message":"unexpected property","location":"body","value":{"x":1}}]}`,
			"validation failed\nmax_hops: expected number <= 255, not 256\nbody: unexpected property", 0},
		{"conflict", 409, `{"detail":"it has changed","current_revision":12}`, "it has changed", 12},
		{"precondition", 428, `{"detail":"send If-Match, now 12"}`, "now 12", 0},
		{"another server", 502, `<html>Bad Gateway`, "no answer of Linkfold's admin API", 0},
		{"redirect", 302, ``, "302 Found", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "http://elsewhere.example/")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			err := client.Do(t.Context(), "GET", "/", nil, nil)
			if !IsStatus(err, c.status) || IsStatus(err, 404) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v; want %q", err, c.want)
			}
			var p *Problem
			if !errors.As(err, &p) || p.CurrentRevision != c.revision {
				t.Errorf("%+v, want revision %d", p, c.revision)
			}
		})
	}
}

func TestWrongTokenAndNoServer(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if err := c.Do(t.Context(), "GET", "/", nil, nil); err == nil || !strings.Contains(err.Error(), "--token-file") {
		t.Error(err)
	}
	away, err := Open(Flags{Admin: "http://127.0.0.1:1/", TokenFile: tokenFile(t, token)})
	if err != nil {
		t.Fatal(err)
	}
	if err := away.Do(t.Context(), "GET", "/", nil, nil); err == nil || !strings.Contains(err.Error(), "is linkfold up running?") {
		t.Error(err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir, starting := t.TempDir(), t.TempDir()
	file := tokenFile(t, token)
	save := func(dir string, e allinone.Endpoints) {
		t.Helper()
		if err := e.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	save(dir, allinone.Endpoints{Admin: "http://127.0.0.1:8081", TokenFile: file})
	save(starting, allinone.Endpoints{})
	for _, c := range []struct {
		name  string
		flags Flags
		base  string
		want  string // in the error
	}{
		{"data directory", Flags{Data: dir}, "http://127.0.0.1:8081", ""},
		{"address of a listener", Flags{Data: dir, Admin: ":9"}, "http://localhost:9", ""},
		{"both", Flags{Data: "nowhere", Admin: "https://links.example/", TokenFile: file}, "https://links.example", ""},
		{"no directory", Flags{Data: filepath.Join(dir, "nowhere")}, "", "give --admin and --token-file"},
		{"not up yet", Flags{Data: starting}, "", "has not opened"},
		{"no token file", Flags{Data: dir, TokenFile: filepath.Join(dir, "nothing")}, "", "read token"},
		{"no token", Flags{Data: dir, TokenFile: tokenFile(t, "a\nb")}, "", "holds no token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, err := Open(c.flags)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v; want %q", err, c.want)
			}
			if err == nil && client.base != c.base {
				t.Errorf("base %s, want %s", client.base, c.base)
			}
		})
	}
}
