package clickhouse

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed structure/*.sql
var structure embed.FS

// The ways in which a database can refuse to be migrated.
var (
	// ErrNewer: the database has steps that this code does not know. Run the newer code.
	ErrNewer = errors.New("database is newer than this program")
	// ErrChanged: a step that was applied has another text now. Applied steps are history; write a new one.
	ErrChanged = errors.New("applied migration was changed")
)

// step is one structure file: one statement that may be run again whenever it was interrupted.
type step struct {
	version  uint32
	name     string
	text     string // the template, before rendering
	checksum string // of text
}

// Migrate brings the database of conn up to this code and returns how many steps it ran; 0 when nothing was missing.
//
// ClickHouse has no transactions for definitions, so a step is marked dirty before it runs and clean after; a dirty step
// is simply run again, which every step allows (IF NOT EXISTS). For the same reason any number of callers may migrate at
// once, and it is safe to kill one at any point. The error wraps ErrNewer or ErrChanged when the database is not ours to
// touch; in that case nothing was done.
func Migrate(ctx context.Context, conn driver.Conn, o Options) (applied int, err error) {
	steps, err := loadSteps(structure)
	if err != nil {
		return 0, err
	}
	return migrate(ctx, conn, o, steps)
}

func migrate(ctx context.Context, conn driver.Conn, o Options, steps []step) (applied int, err error) {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
	if err := run(ctx, conn, o, "schema_migrations", migrationsTable); err != nil {
		return 0, err
	}
	clean, err := cleanSteps(ctx, conn)
	if err != nil {
		return 0, err
	}
	if err := check(clean, steps); err != nil {
		return 0, err
	}
	for _, s := range steps {
		if _, ok := clean[s.version]; ok {
			continue
		}
		if err := apply(ctx, conn, o, s); err != nil {
			return applied, err
		}
		applied++
	}
	return applied, nil
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS schema_migrations{{.OnCluster}}
(
    version UInt32 COMMENT 'Number of the structure step',
    name String COMMENT 'Name of the structure step',
    checksum String COMMENT 'SHA-256 of its template, hex',
    state Enum8('dirty' = 1, 'clean' = 2) COMMENT 'dirty: began to run; clean: has run',
    time DateTime64(6, 'UTC') COMMENT 'When this state was reached, clock of the program that migrates'
)
ENGINE = {{.Engine "MergeTree"}}
ORDER BY (version, time)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Log of the structure steps that were run'`

func apply(ctx context.Context, conn driver.Conn, o Options, s step) error {
	// A crash after this line leaves a dirty step, which the next run does again.
	if err := mark(ctx, conn, s, "dirty"); err != nil {
		return err
	}
	if err := run(ctx, conn, o, s.name, s.text); err != nil {
		return err
	}
	// A crash before this line does the same: the statement finds its work done.
	return mark(ctx, conn, s, "clean")
}

func run(ctx context.Context, conn driver.Conn, o Options, name, text string) error {
	sql, err := o.render(name, text)
	if err != nil {
		return err
	}
	if err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("apply migration %s: %w", name, err)
	}
	return nil
}

func mark(ctx context.Context, conn driver.Conn, s step, state string) error {
	err := conn.Exec(ctx, "INSERT INTO schema_migrations (version, name, checksum, state, time) VALUES (?, ?, ?, ?, fromUnixTimestamp64Micro(?, 'UTC'))",
		s.version, s.name, s.checksum, state, time.Now().UnixMicro())
	if err != nil {
		return fmt.Errorf("mark migration %s %s: %w", s.name, state, err)
	}
	return nil
}

// cleanSteps maps the steps that have run at least once to their checksum. A dirty mark beside a clean one is another
// runner's that was interrupted in a step which was complete already.
func cleanSteps(ctx context.Context, conn driver.Conn) (map[uint32]string, error) {
	rows, err := conn.Query(ctx, "SELECT version, argMax(checksum, time) FROM schema_migrations WHERE state = 'clean' GROUP BY version")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	defer rows.Close()
	clean := map[uint32]string{}
	for rows.Next() {
		var version uint32
		var sum string
		if err := rows.Scan(&version, &sum); err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		clean[version] = sum
	}
	return clean, rows.Err()
}

func check(clean map[uint32]string, steps []step) error {
	known := map[uint32]step{}
	for _, s := range steps {
		known[s.version] = s
	}
	for version, sum := range clean {
		s, ok := known[version]
		if !ok {
			return fmt.Errorf("migration %d is applied and unknown here: %w", version, ErrNewer)
		}
		if s.checksum != sum {
			return fmt.Errorf("migration %04d_%s: %w", version, s.name, ErrChanged)
		}
	}
	return nil
}

// fileName is NNNN_name.sql; numbers are contiguous from 1.
var fileName = regexp.MustCompile(`^(\d{4})_(\w+)\.sql$`)

func loadSteps(dir fs.FS) ([]step, error) {
	files, err := fs.Glob(dir, "structure/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []step
	for i, f := range files { // Glob sorts
		m := fileName.FindStringSubmatch(f[len("structure/"):])
		if m == nil {
			return nil, fmt.Errorf("migration file %q is not NNNN_name.sql", f)
		}
		version, _ := strconv.ParseUint(m[1], 10, 32)
		if version != uint64(i+1) {
			return nil, fmt.Errorf("migration file %q should have number %04d", f, i+1)
		}
		text, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		steps = append(steps, step{uint32(version), m[2], string(text), hex.EncodeToString(sum[:])})
	}
	return steps, nil
}
