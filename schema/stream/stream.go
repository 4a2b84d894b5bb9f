// Package stream defines Linkfold's JetStream assets: streams, subjects and key-value buckets (DESIGN.md §3).
//
// Every service calls Ensure for what it uses when it starts; the calls are idempotent, so no order of starting is needed.
// An asset that exists with another configuration is an error, never a silent change: streams hold the truth.
package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of streams. HITS has one stream per partition, see HitsName.
const (
	Links  = "LINKS"
	Ledger = "LEDGER"
)

// Names of key-value buckets.
const (
	// Cursors holds one ingest cursor per stream (PIPELINE.md 2.4).
	Cursors = "LF_CURSORS"
	// Projection holds which Redis generation is active (DESIGN.md §5).
	Projection = "LF_PROJECTION"
	// Salts holds the visitor salt of each day; a salt is gone two days after it was made (DESIGN.md §2).
	Salts = "LF_SALTS"
)

// Headers that Linkfold sets on messages beside those of JetStream and CloudEvents.
const (
	// HeaderResent marks a hit that may be in the stream already, under its first message id: ingest looks for its id before storing it.
	HeaderResent = "Lf-Resent"
)

// Config is what an installation may choose about its streams. All services must agree on it.
type Config struct {
	Partitions int           `help:"HITS streams; one ingest worker each." default:"1"`
	HitsMaxAge time.Duration `help:"How long hits stay in the stream after they are in ClickHouse." default:"720h"`
	Replicas   int           `help:"Copies of each stream in a NATS cluster (1, 3 or 5)." default:"1"`
}

// Validate names the setting that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.Partitions < 1 || c.Partitions > 64:
		return fmt.Errorf("partitions %d: give 1 to 64", c.Partitions)
	case c.HitsMaxAge < time.Hour:
		return fmt.Errorf("hits max age %v: give at least 1h, or ingest has no time to recover", c.HitsMaxAge)
	case c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5:
		return fmt.Errorf("replicas %d: give 1, 3 or 5", c.Replicas)
	}
	return nil
}

// HitsName is the name of the stream of partition p.
func HitsName(p int) string { return "HITS_" + strconv.Itoa(p) }

// DuplicateWindow is how long the server remembers message ids: a copy that was held up on its way longer than the re-send that overtook
// it is refused. Two minutes outlast any connection that has been given up; an id costs the server about 115 bytes for as long.
const DuplicateWindow = 2 * time.Minute

// LinksConfig is the log of all mutations: no age limit, nothing deleted, ever.
func LinksConfig(c Config) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               Links,
		Description:        "Linkfold: every change of a link or a domain; the source of truth",
		Subjects:           []string{linkPrefix + "*.*", domainPrefix + "*"},
		Storage:            jetstream.FileStorage,
		Replicas:           c.Replicas,
		DenyDelete:         true,
		DenyPurge:          true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Duplicates:         DuplicateWindow,
	}
}

// HitsConfig is the log of hits of partition p. Messages leave by age only, so a range of sequences has no holes.
func HitsConfig(c Config, p int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               HitsName(p),
		Description:        "Linkfold: every request that reached a redirector",
		Subjects:           []string{HitSubject(p)},
		Storage:            jetstream.FileStorage,
		Replicas:           c.Replicas,
		MaxAge:             c.HitsMaxAge,
		DenyDelete:         true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Duplicates:         DuplicateWindow,
	}
}

// LedgerConfig is the log of the redirectors' totals.
func LedgerConfig(c Config) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        Ledger,
		Description: "Linkfold: what each redirector counted",
		Subjects:    []string{ledgerPrefix + "*"},
		Storage:     jetstream.FileStorage,
		Replicas:    c.Replicas,
		MaxAge:      c.HitsMaxAge,
		DenyDelete:  true,
		AllowDirect: true,
		Duplicates:  DuplicateWindow,
	}
}

// Ensure creates all streams and buckets that do not exist yet. It is safe to call from every service at once.
func Ensure(ctx context.Context, js jetstream.JetStream, c Config) error {
	configs := []jetstream.StreamConfig{LinksConfig(c), LedgerConfig(c)}
	for p := range c.Partitions {
		configs = append(configs, HitsConfig(c, p))
	}
	for _, sc := range configs {
		if err := ensureStream(ctx, js, sc); err != nil {
			return err
		}
	}
	for _, kc := range []jetstream.KeyValueConfig{
		{Bucket: Cursors, Description: "Linkfold: ingest cursors", Storage: jetstream.FileStorage, Replicas: c.Replicas},
		{Bucket: Projection, Description: "Linkfold: Redis generations", Storage: jetstream.FileStorage, Replicas: c.Replicas},
		{Bucket: Salts, Description: "Linkfold: visitor salts by day", Storage: jetstream.FileStorage, Replicas: c.Replicas, TTL: 48 * time.Hour},
	} {
		if err := ensureBucket(ctx, js, kc); err != nil {
			return err
		}
	}
	return nil
}

func ensureStream(ctx context.Context, js jetstream.JetStream, sc jetstream.StreamConfig) error {
	_, err := js.CreateStream(ctx, sc)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("stream %s exists with another configuration: start with the settings it was made with: %w", sc.Name, err)
	}
	if err != nil {
		return fmt.Errorf("create stream %s: %w", sc.Name, err)
	}
	return nil
}

func ensureBucket(ctx context.Context, js jetstream.JetStream, kc jetstream.KeyValueConfig) error {
	_, err := js.CreateKeyValue(ctx, kc)
	if errors.Is(err, jetstream.ErrBucketExists) {
		return fmt.Errorf("bucket %s exists with another configuration: %w", kc.Bucket, err)
	}
	if err != nil {
		return fmt.Errorf("create bucket %s: %w", kc.Bucket, err)
	}
	return nil
}

// Generation identifies one life of a stream: a stream that was deleted and made again starts at sequence 1, and every
// cursor or token that speaks of the old one must not be believed (PIPELINE.md 1.4).
func Generation(info *jetstream.StreamInfo) string {
	return strconv.FormatInt(info.Created.UnixNano(), 36)
}
