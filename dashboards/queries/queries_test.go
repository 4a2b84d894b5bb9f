package queries_test

import (
	"errors"
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
