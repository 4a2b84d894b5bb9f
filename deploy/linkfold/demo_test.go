package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linkfold/deploy/devstack"
)

func TestMain(m *testing.M) { devstack.TestMain(m) }

// raw is a line of the sample file as it stands, read without the code under test.
type raw struct {
	G, U, A, R string
	T          int64
}

// count counts lines by a property.
type counted struct {
	name string
	n    int
}

func count(lines []raw, by func(raw) string, top int) []counted {
	m := map[string]int{}
	for _, l := range lines {
		m[by(l)]++
	}
	var out []counted
	for name, n := range m {
		out = append(out, counted{name, n})
	}
	slices.SortFunc(out, func(a, b counted) int { return cmp.Or(b.n-a.n, strings.Compare(a.name, b.name)) })
	return out[:min(top, len(out))]
}

func readSample(t *testing.T) []raw {
	b, err := os.ReadFile(filepath.Join("internal", "sample", "usagov.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []raw
	for line := range bytes.Lines(b) {
		var r raw
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.G != "" {
			out = append(out, r)
		}
	}
	return out
}

// Every number that the demo prints equals what is counted in the file itself.
func TestDemoPrintsWhatIsInTheFile(t *testing.T) {
	needServers(t)
	var out, screen bytes.Buffer
	if code := run([]string{"demo", "--once", "--json", "--listen", "127.0.0.1:0", "--admin", "localhost:0"}, &out, &screen); code != 0 {
		t.Fatalf("exit code %d\n%s", code, screen.String())
	}
	var report map[string][]map[string]any
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	lines := readSample(t)
	if len(lines) != 3440 {
		t.Fatalf("%d clicks in the file, want 3440", len(lines))
	}
	ledger := report["ledger"][0]
	for column, want := range map[string]float64{"accepted": 3440, "stored": 3440, "quarantined": 0, "pending": 0, "dropped": 0} {
		if ledger[column] != want {
			t.Errorf("ledger: %s = %v, want %v", column, ledger[column], want)
		}
	}
	compare(t, report, "top_links", "link", count(lines, func(r raw) string { return "1.usa.gov/" + r.G }, 10))
	compare(t, report, "referrer_hosts", "host", count(lines, referrerHost, 10))
	compare(t, report, "agents", "agent", count(lines, func(r raw) string { return strings.Split(r.A, " ")[0] }, 10))
	minutes := count(lines, func(r raw) string { return time.Unix(r.T, 0).UTC().Truncate(time.Minute).Format(time.RFC3339) }, len(lines))
	slices.SortFunc(minutes, func(a, b counted) int { return strings.Compare(a.name, b.name) })
	compare(t, report, "replayed_per_minute", "minute", minutes)
	if got := report["top_links"][0]["link"]; got != "1.usa.gov/vNJS4H" {
		t.Errorf("top link %v", got)
	}
}

func referrerHost(r raw) string {
	if r.R == "direct" || r.R == "" {
		return "(none)"
	}
	u, err := url.Parse(r.R)
	if err != nil {
		return "unparsable " + r.R
	}
	return u.Hostname()
}

func compare(t *testing.T, report map[string][]map[string]any, query, column string, want []counted) {
	t.Helper()
	rows := report[query]
	if len(rows) != len(want) {
		t.Errorf("%s: %d rows, want %d", query, len(rows), len(want))
		return
	}
	for i, w := range want {
		if fmt.Sprint(rows[i][column]) != w.name || rows[i]["clicks"] != float64(w.n) {
			t.Errorf("%s row %d: %v %v, the file says %s %d", query, i, rows[i][column], rows[i]["clicks"], w.name, w.n)
		}
	}
}

// needServers skips, or fails in CI, when this machine lacks a server.
func needServers(t *testing.T) {
	t.Helper()
	devstack.ForTest(t, devstack.NATS, devstack.Redis, devstack.ClickHouse)
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 0, ""},
		{[]string{"--help"}, 0, ""},
		{[]string{"up", "--durability", "maybe"}, 2, "--durability"},
		{[]string{"up", "--nonsense"}, 2, "unknown flag --nonsense"},
		{[]string{"demo", "--once", "--data", t.TempDir()}, 1, "give --data a directory that does not"},
		{[]string{"demo", "--agents", "0"}, 1, "give 1 to 1000"},
		{[]string{"sql", "top_links", "--data", t.TempDir()}, 1, "is no data directory of linkfold"},
		{[]string{"sql", "nonsense"}, 1, "linkfold sql lists them"},
		{[]string{"sql", "top_links", "-e", "SELECT 1"}, 1, "not both"},
		{[]string{"devstack", "postgres"}, 2, "nats"},
	} {
		var out, screen bytes.Buffer
		if code := run(c.args, &out, &screen); code != c.code || !strings.Contains(screen.String(), c.want) {
			t.Errorf("linkfold %v: code %d, %q; want %d, %q", c.args, code, screen.String(), c.code, c.want)
		}
	}
}

func TestLedgerCheckFails(t *testing.T) {
	t.Parallel()
	good := map[string]any{"accepted": uint64(3), "stored": uint64(3), "quarantined": uint64(0), "pending": int64(0), "dropped": uint64(0), "copies": uint64(2), "inferred": uint64(0)}
	if err := checkLedger(good, 3); err != nil {
		t.Error(err)
	}
	for _, column := range []string{"accepted", "stored", "quarantined", "pending", "dropped", "inferred"} {
		bad := maps.Clone(good)
		bad[column] = uint64(1)
		if err := checkLedger(bad, 3); err == nil {
			t.Errorf("%s = 1 was not noticed", column)
		}
	}
}
