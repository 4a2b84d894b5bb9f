package ingest

import (
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"linkfold/ingest/internal/failpoint"
	"linkfold/schema/stream"
)

// Config says what ingest connects to and how it works. The tags are for kong; Defaults gives the same defaults to
// programs that do not parse flags.
type Config struct {
	NATSURL         string        `name:"nats-url" env:"LINKFOLD_NATS_URL" default:"nats://127.0.0.1:4222" help:"NATS server: nats://user:password@host:port, several separated by commas."`
	NATSCredentials string        `name:"nats-credentials" env:"LINKFOLD_NATS_CREDENTIALS" help:"Credentials file for NATS; empty: what the URL says."`
	ClickHouseDSN   string        `name:"clickhouse-dsn" env:"LINKFOLD_CLICKHOUSE_DSN" default:"clickhouse://127.0.0.1:9000/linkfold" help:"ClickHouse, native protocol: clickhouse://user:password@host:port/database."`
	Cluster         string        `name:"clickhouse-cluster" env:"LINKFOLD_CLICKHOUSE_CLUSTER" help:"Name of a ClickHouse cluster: tables are then replicated and created on all of it. Empty: one server."`
	Streams         stream.Config `embed:"" prefix:"streams-"`

	BatchRows  int           `name:"batch-rows" env:"LINKFOLD_INGEST_BATCH_ROWS" default:"100000" help:"Most messages in one insert; memory is two batches per stream."`
	BatchBytes int           `name:"batch-bytes" env:"LINKFOLD_INGEST_BATCH_BYTES" default:"67108864" help:"Most payload bytes in one insert."`
	MaxDelay   time.Duration `name:"max-delay" env:"LINKFOLD_INGEST_MAX_DELAY" default:"100ms" help:"How long a message may wait for others before it is inserted."`

	Until        time.Duration `name:"until" env:"LINKFOLD_INGEST_UNTIL" default:"15s" help:"How long an insert may take to reach ClickHouse; after a crash, recovery of what was in flight takes up to this and the next two."`
	MaxExecution time.Duration `name:"max-execution" env:"LINKFOLD_INGEST_MAX_EXECUTION" default:"10s" help:"How long an insert may run in ClickHouse."`
	Grace        time.Duration `name:"grace" env:"LINKFOLD_INGEST_GRACE" default:"3s" help:"How far ClickHouse's clock may be set back without harm."`
	Takeover     time.Duration `name:"takeover" env:"LINKFOLD_INGEST_TAKEOVER" default:"5s" help:"How long a standby sees no progress before it takes a stream over."`

	Failpoint string `name:"failpoint" env:"LINKFOLD_FAILPOINT" hidden:"" help:"For tests: name=exit|stop|block[@n], several separated by commas."`
}

// Defaults is a Config with every default, to be changed where needed.
func Defaults() Config {
	return Config{
		NATSURL:       "nats://127.0.0.1:4222",
		ClickHouseDSN: "clickhouse://127.0.0.1:9000/linkfold",
		Streams:       stream.Config{Partitions: 1, HitsMaxAge: 720 * time.Hour, Replicas: 1},
		BatchRows:     100_000,
		BatchBytes:    64 << 20,
		MaxDelay:      100 * time.Millisecond,
		Until:         15 * time.Second,
		MaxExecution:  10 * time.Second,
		Grace:         3 * time.Second,
		Takeover:      5 * time.Second,
	}
}

// maxBatchRows keeps a batch in one block of the server, which splits at 1,048,449 rows.
const maxBatchRows = 500_000

// Validate names the setting that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.NATSURL == "":
		return fmt.Errorf("nats url is empty")
	case c.ClickHouseDSN == "":
		return fmt.Errorf("clickhouse dsn is empty")
	case c.BatchRows < 1 || c.BatchRows > maxBatchRows:
		return fmt.Errorf("batch rows %d: give 1 to %d", c.BatchRows, maxBatchRows)
	case c.BatchBytes < 1 || c.BatchBytes > 128<<20:
		return fmt.Errorf("batch bytes %d: give 1 to %d", c.BatchBytes, 128<<20)
	case c.MaxDelay < 0 || c.MaxDelay > time.Minute:
		return fmt.Errorf("max delay %v: give 0 to 1m", c.MaxDelay)
	case c.Until < time.Second || c.Until > time.Hour:
		return fmt.Errorf("until %v: give 1s to 1h", c.Until)
	case c.MaxExecution < time.Second || c.MaxExecution > time.Hour || c.MaxExecution%time.Second != 0:
		return fmt.Errorf("max execution %v: give whole seconds, 1s to 1h", c.MaxExecution)
	case c.Grace < time.Second:
		return fmt.Errorf("grace %v: give at least 1s, ClickHouse's clock is read in whole seconds", c.Grace)
	case c.Takeover < 100*time.Millisecond:
		return fmt.Errorf("takeover %v: give at least 100ms", c.Takeover)
	}
	if _, err := clickhouse.ParseDSN(c.ClickHouseDSN); err != nil {
		return fmt.Errorf("read clickhouse dsn: %w", err)
	}
	if _, err := failpoint.Parse(c.Failpoint); err != nil {
		return err
	}
	return c.Streams.Validate()
}
