package ingest_test

import (
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"linkfold/ingest"
)

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*ingest.Config){
		"no nats":       func(c *ingest.Config) { c.NATSURL = "" },
		"no clickhouse": func(c *ingest.Config) { c.ClickHouseDSN = "" },
		"bad dsn":       func(c *ingest.Config) { c.ClickHouseDSN = "nonsense://%" },
		"rows":          func(c *ingest.Config) { c.BatchRows = 0 },
		"rows above":    func(c *ingest.Config) { c.BatchRows = 2_000_000 },
		"bytes":         func(c *ingest.Config) { c.BatchBytes = -1 },
		"delay":         func(c *ingest.Config) { c.MaxDelay = -time.Second },
		"until":         func(c *ingest.Config) { c.Until = 0 },
		"half a second": func(c *ingest.Config) { c.MaxExecution = 1500 * time.Millisecond },
		"grace":         func(c *ingest.Config) { c.Grace = 0 },
		"takeover":      func(c *ingest.Config) { c.Takeover = 0 },
		"failpoint":     func(c *ingest.Config) { c.Failpoint = "a=explode" },
		"no partitions": func(c *ingest.Config) { c.Streams.Partitions = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := ingest.Defaults()
			must(t, c.Validate())
			change(&c)
			if err := ingest.Run(t.Context(), c, ingest.Deps{Log: testLog(t)}); err == nil {
				t.Error("accepted")
			}
		})
	}
}

// TestDefaults: the defaults for programs and those of the flags are the same.
func TestDefaults(t *testing.T) {
	var c ingest.Config
	p, err := kong.New(&c)
	must(t, err)
	_, err = p.Parse(nil)
	must(t, err)
	if diff := cmp.Diff(ingest.Defaults(), c); diff != "" {
		t.Error(diff)
	}
}
