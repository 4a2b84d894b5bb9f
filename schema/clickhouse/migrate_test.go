package clickhouse

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"linkfold/deploy/devstack"
)

var update = flag.Bool("update", false, "write golden files")

func open(t *testing.T, dsn string) driver.Conn {
	t.Helper()
	o, err := ch.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ch.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// dump is every definition of the database, in a form that does not depend on its name.
func dump(t *testing.T, conn driver.Conn) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT formatQuery(create_table_query), currentDatabase() FROM system.tables WHERE database = currentDatabase() ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var sql, db string
		if err := rows.Scan(&sql, &db); err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.ReplaceAll(sql, db+".", "") + ";\n\n")
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", file, diff)
	}
}

func steps(t *testing.T) []step {
	t.Helper()
	all, err := loadSteps(structure)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func mustMigrate(t *testing.T, conn driver.Conn, s []step, want int) {
	t.Helper()
	n, err := migrate(t.Context(), conn, Options{}, s)
	if err != nil || n != want {
		t.Fatalf("migrate ran %d steps, %v; want %d", n, err, want)
	}
}

func TestStructure(t *testing.T) {
	conn := open(t, devstack.ForTest(t, devstack.ClickHouse).Database(t))
	n, err := Migrate(t.Context(), conn, Options{})
	if err != nil || n != len(steps(t)) {
		t.Fatal(n, err)
	}
	golden(t, "structure.sql", dump(t, conn))
	mustMigrate(t, conn, steps(t), 0)
}

// TestEveryState starts where a runner can have stopped: after step k, and within step k+1, before or after its statement.
func TestEveryState(t *testing.T) {
	stack := devstack.ForTest(t, devstack.ClickHouse)
	want, err := os.ReadFile("structure.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := steps(t)
	for k, s := range all {
		conn := open(t, stack.Database(t))
		mustMigrate(t, conn, all[:k], k)
		if err := mark(t.Context(), conn, s, "dirty"); err != nil {
			t.Fatal(err)
		}
		if k%2 == 0 {
			if err := run(t.Context(), conn, Options{}, s.name, s.text); err != nil {
				t.Fatal(err)
			}
		}
		if k > 0 { // hits is there: rows of every former layout stay.
			if err := conn.Exec(t.Context(), "INSERT INTO hits (key, domain, stream_time, _seq, _until) VALUES ('kept', 'go', now(), 1, now() + 60)"); err != nil {
				t.Fatal(err)
			}
		}
		mustMigrate(t, conn, all, len(all)-k)
		var kept uint64
		if err := conn.QueryRow(t.Context(), "SELECT countIf(key = 'kept' AND hops = 0 AND empty(options) AND website = '') FROM hits").Scan(&kept); err != nil || (kept == 1) != (k > 0) {
			t.Errorf("from within %s: %d rows kept, %v", s.name, kept, err)
		}
		if diff := cmp.Diff(string(want), dump(t, conn)); diff != "" {
			t.Errorf("from within %s: %s", s.name, diff)
		}
		mustMigrate(t, conn, all, 0)
	}
}

func TestManyRunners(t *testing.T) {
	conn := open(t, devstack.ForTest(t, devstack.ClickHouse).Database(t))
	g, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		g.Go(func() error {
			_, err := Migrate(ctx, conn, Options{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	mustMigrate(t, conn, steps(t), 0)
	golden(t, "structure.sql", dump(t, conn))
}

func TestRefusals(t *testing.T) {
	conn := open(t, devstack.ForTest(t, devstack.ClickHouse).Database(t))
	all := steps(t)
	mustMigrate(t, conn, all, len(all))
	before := dump(t, conn)
	if _, err := migrate(t.Context(), conn, Options{}, all[:len(all)-1]); !errors.Is(err, ErrNewer) {
		t.Errorf("older program: %v", err)
	}
	all[2].checksum = "other"
	all = append(all, step{uint32(len(all) + 1), "never", "CREATE TABLE never (x Int8) ENGINE = Null", "sum"})
	if _, err := migrate(t.Context(), conn, Options{}, all); !errors.Is(err, ErrChanged) {
		t.Errorf("changed step: %v", err)
	}
	if diff := cmp.Diff(before, dump(t, conn)); diff != "" {
		t.Error(diff)
	}
}

func TestFailureLeavesStepDirty(t *testing.T) {
	conn := open(t, devstack.ForTest(t, devstack.ClickHouse).Database(t))
	bad := []step{{1, "bad", "CREATE NONSENSE", "sum"}}
	if _, err := migrate(t.Context(), conn, Options{}, bad); err == nil || !strings.Contains(err.Error(), "apply migration bad") {
		t.Error(err)
	}
	clean, err := cleanSteps(context.Background(), conn)
	if err != nil || len(clean) != 0 {
		t.Error(clean, err)
	}
}

func TestClusterRendering(t *testing.T) {
	var b strings.Builder
	for _, s := range steps(t) {
		sql, err := Options{Cluster: "main"}.render(s.name, s.text)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(sql + ";\n\n")
	}
	golden(t, "testdata/cluster.sql", b.String())
}
