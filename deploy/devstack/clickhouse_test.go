package devstack_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"linkfold/deploy/devstack"
)

// query asks over HTTP as the given user, with the address of the stack.
func query(t *testing.T, s *devstack.Stack, user *url.Userinfo, sql string) (int, string) {
	t.Helper()
	u, err := url.Parse(s.ClickHouseHTTP())
	if err != nil {
		t.Fatal(err)
	}
	if user != nil {
		u.User = user
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(u.String(), "text/plain", strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(body))
}

func TestClickHouseServesUTCAndTheDatabase(t *testing.T) {
	t.Setenv("TZ", "America/New_York") // of the machine
	s := devstack.ForTest(t, devstack.ClickHouse)
	for sql, want := range map[string]string{
		"SELECT timezone(), currentDatabase(), currentUser()":                             "UTC\tlinkfold\tlinkfold",
		"SELECT engine FROM system.databases WHERE name = 'linkfold'":                     "Atomic",
		"SELECT value FROM system.settings WHERE name = 'implicit_select'":                "0",
		"SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'": "4000000000",
	} {
		if code, got := query(t, s, nil, sql); code != 200 || got != want {
			t.Errorf("%s: %d %q, want %q", sql, code, got, want)
		}
	}
}

// Wrong passwords are refused and, over and over, do not end the server (the library without a terminal would).
func TestClickHouseRefusesStrangers(t *testing.T) {
	s := devstack.ForTest(t, devstack.ClickHouse)
	for _, c := range []struct {
		user *url.Userinfo
		sql  string
	}{
		{url.UserPassword("linkfold", "wrong"), "SELECT 1"},
		{url.UserPassword("nobody", ""), "SELECT 1"},
		{url.UserPassword("default", ""), "SHOW TABLES FROM system"},
		{url.UserPassword("default", ""), "CREATE DATABASE mine"},
		{url.UserPassword("default", ""), "SELECT * FROM file('/etc/passwd', 'LineAsString')"},
	} {
		for range 5 {
			if code, body := query(t, s, c.user, c.sql); code == 200 && body != "" {
				t.Fatalf("%v may %s: %s", c.user, c.sql, body)
			}
		}
	}
	wrong, err := url.Parse(s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	wrong.User = url.UserPassword("linkfold", "wrong")
	for range 20 {
		conn := clickHouseConn(t, wrong.String())
		if err := conn.Ping(t.Context()); err == nil {
			t.Fatal("a wrong password over tcp was accepted")
		}
		conn.Close()
	}
	if code, got := query(t, s, nil, "SELECT 1"); code != 200 || got != "1" {
		t.Errorf("afterwards: %d %s", code, got)
	}
}
