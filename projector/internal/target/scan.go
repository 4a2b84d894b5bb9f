package target

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"linkfold/schema/projection"
)

// scanCount is how many keys one step of a scan looks at: about a millisecond of the server's time.
const scanCount = 1000

// Remove removes every key of the generations that keep refuses, and returns how many. What is written meanwhile may stay.
func Remove(ctx context.Context, rdb redis.UniversalClient, keep func(gen uint64) bool) (int, error) {
	removed := 0
	var mu sync.Mutex // a cluster's masters are scanned at the same time
	err := scan(ctx, rdb, "{lf:*", func(ctx context.Context, keys []string) error {
		pipe := rdb.Pipeline() // one command per key: they may live on different servers of a cluster
		n := 0
		for _, k := range keys {
			if gen, _, _, ok := projection.ParseKey(k); ok && !keep(gen) {
				pipe.Unlink(ctx, k)
				n++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		removed += n
		_, err := pipe.Exec(ctx)
		return err
	})
	if err != nil {
		return removed, fmt.Errorf("remove generations: %w", err)
	}
	return removed, nil
}

// Disown removes the generation's meta keys alone, so that nobody believes its values any longer.
func (t Target) Disown(ctx context.Context) error {
	pipe := t.Redis.Pipeline()
	for p := range projection.Partitions {
		pipe.Unlink(ctx, projection.MetaKey(t.Generation, p))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("disown generation %d: %w", t.Generation, err)
	}
	return nil
}

// Record is one stored value; Raw is nil when the key is absent.
type Record struct {
	Partition int
	Name      string
	Raw       []byte
}

// Each calls do for every value of the generation. A value that is there all the time is seen at least once. do is not called
// by two goroutines at once.
func (t Target) Each(ctx context.Context, do func(context.Context, Record) error) error {
	var mu sync.Mutex
	err := scan(ctx, t.Redis, projection.KeyPattern(t.Generation), func(ctx context.Context, keys []string) error {
		records := make([]Record, 0, len(keys))
		for _, k := range keys {
			if _, p, name, ok := projection.ParseKey(k); ok && name != "m" {
				records = append(records, Record{Partition: p, Name: name})
			}
		}
		if err := t.Fill(ctx, records); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range records {
			if r.Raw == nil {
				continue // removed since the scan saw it
			}
			if err := do(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read generation %d: %w", t.Generation, err)
	}
	return nil
}

// Fill reads the values of the named records.
func (t Target) Fill(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	pipe := t.Redis.Pipeline()
	cmds := make([]*redis.StringCmd, len(records))
	for i, r := range records {
		cmds[i] = pipe.Get(ctx, projection.KeyOf(t.Generation, r.Partition, r.Name))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("read values: %w", err)
	}
	for i, cmd := range cmds {
		raw, err := cmd.Bytes()
		switch {
		case errors.Is(err, redis.Nil):
			records[i].Raw = nil
		case err != nil:
			return fmt.Errorf("read values: %w", err)
		default:
			records[i].Raw = raw
		}
	}
	return nil
}

func scan(ctx context.Context, rdb redis.UniversalClient, pattern string, do func(context.Context, []string) error) error {
	return eachMaster(ctx, rdb, func(ctx context.Context, c redis.UniversalClient) error {
		var cursor uint64
		for {
			keys, next, err := c.Scan(ctx, cursor, pattern, scanCount).Result()
			if err != nil {
				return err
			}
			if len(keys) > 0 {
				if err := do(ctx, keys); err != nil {
					return err
				}
			}
			if next == 0 {
				return nil
			}
			cursor = next
		}
	})
}
