package main

import (
	"bytes"
	"strings"
	"testing"

	"linkfold/deploy/devstack"
	schema "linkfold/schema/clickhouse"
)

// Scanners and typing errors are listed from the rows of ClickHouse, within the hours and numbers that are asked for.
func TestUnknownHosts(t *testing.T) {
	t.Parallel()
	dsn := devstack.ForTest(t, devstack.ClickHouse).Database(t)
	conn, err := openClickHouse(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := schema.Migrate(t.Context(), conn, schema.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, insert := range []string{
		`INSERT INTO hits (outcome, domain, host, client_ip, time, stream_time, _seq, _until)
			SELECT if(number < 20, 'unknown_domain', 'rate_limited'), '', 'Scan.example', toIPv6('::ffff:192.0.2.9'), now(), now(), number, now() + 600 FROM numbers(25)`,
		`INSERT INTO hits (outcome, domain, host, client_ip, time, stream_time, _seq, _until) VALUES
			('unknown_domain', '', 'typo.example', toIPv6('2001:db8::1'), now(), now(), 90, now() + 600),
			('unknown_domain', '', 'old.example', toIPv6('2001:db8::2'), now(), now() - toIntervalHour(30), 91, now() + 600),
			('redirected', 'go', 'go', toIPv6('2001:db8::3'), now(), now(), 92, now() + 600)`,
	} {
		if err := conn.Exec(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args       string
		want, not  []string
		exactlyOut string
	}{
		{args: "", want: []string{"Hosts that are not here", "scan.example", "typo.example", "25"}, not: []string{"old.example"}},
		{args: "--hours 48", want: []string{"old.example"}},
		{args: "--limit 1", want: []string{"scan.example"}, not: []string{"typo.example"}},
		{args: "--json", want: []string{`"unknown_host":"scan.example"`, `"limited":5`}, not: []string{"Hosts that"}},
		{args: "--clients", want: []string{"192.0.2.9"}, not: []string{"2001:db8::1"}},
		{args: "--clients --least 1", want: []string{"192.0.2.9", "2001:db8::1"}, not: []string{"2001:db8::3"}},
		{args: "--clients --plain --least 1", exactlyOut: "192.0.2.9\n2001:db8::1\n"},
		{args: "--clients --plain --least 100", exactlyOut: ""},
	} {
		var out, screen bytes.Buffer
		args := append([]string{"hits", "unknown-hosts", "--clickhouse-dsn", dsn}, strings.Fields(c.args)...)
		if code := run(args, &out, &screen); code != 0 {
			t.Errorf("%q: exit code %d\n%s", c.args, code, screen.String())
		}
		if len(c.want) == 0 && out.String() != c.exactlyOut {
			t.Errorf("%q: %q, want %q", c.args, out.String(), c.exactlyOut)
		}
		contains(t, out.String(), c.want...)
		for _, not := range c.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%q: %s is in\n%s", c.args, not, out.String())
			}
		}
	}
}

func TestHitsUsageErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--plain": "give --clients, too", "--hours 0": "give at least 1", "--limit 0": "give at least 1", "--least -1": "", "--clients --plain --json": "can't be used together",
	} {
		var out, screen bytes.Buffer
		if code := run(append([]string{"hits", "unknown-hosts"}, strings.Fields(args)...), &out, &screen); code != 2 || !strings.Contains(screen.String(), want) {
			t.Errorf("%s: code %d, %q; want %q", args, code, screen.String(), want)
		}
	}
}
