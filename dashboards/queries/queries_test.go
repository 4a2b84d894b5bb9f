package queries_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"linkfold/dashboards/queries"
	"linkfold/deploy/devstack"
	schema "linkfold/schema/clickhouse"
)

func TestMain(m *testing.M) { devstack.TestMain(m) }

// Every query runs on the real schema with its defaults; what the answers say is checked where there is data, in deploy/linkfold.
func TestEveryQueryRuns(t *testing.T) {
	t.Parallel()
	stack := devstack.ForTest(t, devstack.ClickHouse)
	opts, err := clickhouse.ParseDSN(stack.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := schema.Migrate(t.Context(), conn, schema.Options{}); err != nil {
		t.Fatal(err)
	}
	all, err := queries.All()
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	for _, q := range all {
		if table, err := q.Run(t.Context(), conn, nil); err != nil || len(table.Columns) == 0 {
			t.Errorf("%s: %v", q.Name, err)
		}
	}
	if _, err := all[0].Run(t.Context(), conn, map[string]string{"nonsense": "1"}); err == nil {
		t.Error("an unknown parameter was taken")
	}
	for _, write := range []string{"DROP TABLE hits", "TRUNCATE TABLE hits", "CREATE TABLE x (a Int8) ENGINE = Memory", "INSERT INTO hits (key) VALUES ('x')"} {
		if _, err := queries.Ask(t.Context(), conn, write, nil); err == nil || !strings.Contains(err.Error(), "readonly") {
			t.Errorf("%s: %v, want a refusal", write, err)
		}
	}
	if _, err := queries.Get("nonsense"); !errors.Is(err, queries.ErrUnknown) {
		t.Error(err)
	}
}

// What operators look for is found among what they do not.
func TestSuspiciousThingsAreListed(t *testing.T) {
	t.Parallel()
	stack := devstack.ForTest(t, devstack.ClickHouse)
	opts, err := clickhouse.ParseDSN(stack.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := schema.Migrate(t.Context(), conn, schema.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, insert := range []string{
		// Twelve links of different hosts are led to one; two more go elsewhere, and one stays on its host.
		`INSERT INTO link_events (type, stream_time, actor, previous_revision, domain, key, destination, _seq, _until)
			SELECT 'LinkCreated', now() - 60, 'ann', 0, 'go', toString(number), concat('https://h', toString(number), '.example/'), number + 1, now() + 600 FROM numbers(15)`,
		`INSERT INTO link_events (type, stream_time, actor, previous_revision, domain, key, destination, _seq, _until)
			SELECT if(number % 2, 'LinkRetargeted', 'LinkCreated'), now() - 1, 'mallory', number + 1, 'go', toString(number),
				multiIf(number < 12, 'https://evil.example/x', number < 14, 'https://fine.example/', 'https://h14.example/other'), number + 101, now() + 600 FROM numbers(15)`,
		`INSERT INTO hits (outcome, domain, host, client_ip, time, stream_time, _seq, _until)
			SELECT if(number < 20, 'unknown_domain', 'rate_limited'), '', 'Scan.example', toIPv6('::ffff:192.0.2.9'), now(), now(), number, now() + 600 FROM numbers(25)`,
		`INSERT INTO hits (outcome, domain, host, client_ip, time, stream_time, _seq, _until) VALUES ('unknown_domain', '', 'typo.example', toIPv6('2001:db8::1'), now(), now(), 90, now() + 600)`,
		`INSERT INTO hits (outcome, domain, key, hops, chain_keys, detail, time, stream_time, _seq, _until) VALUES
			('redirected', 'go', 'a', 2, ['b', 'c'], '', now(), now(), 91, now() + 600), ('unresolvable', 'go', 'z', 255, [], 'too many internal redirects', now(), now(), 92, now() + 600),
			('redirected', 'go', 'plain', 0, [], '', now(), now(), 93, now() + 600)`,
	} {
		if err := conn.Exec(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"mass_retargets":       "mallory|evil.example|12|12|go/0 go/1 go/10",
		"unknown_hosts":        "scan.example|25|5|1,typo.example|1|0|1",
		"unknown_host_clients": "192.0.2.9|25|5|1",
		"redirect_chains":      "go/z|255|1|1|too many internal redirects|z,go/a|2|1|0||a > b > c",
	} {
		q, err := queries.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		table, err := q.Run(t.Context(), conn, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		var rows []string
		for _, row := range table.Rows {
			var cells []string
			for i, cell := range row {
				if c := table.Columns[i]; c != "hour" && c != "first" && c != "last" {
					cells = append(cells, fmt.Sprint(cell))
				}
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
		if got := strings.Join(rows, ","); got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
}
