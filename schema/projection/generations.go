package projection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

// ErrNoGenerations means that no projector has ever run here.
var ErrNoGenerations = errors.New("no generation of the projection is active")

// Generations is the JSON value of ActiveEntry: which generation redirectors read, and which others projectors still feed.
type Generations struct {
	Active uint64 `json:"active"`
	// Previous is fed until PreviousUntilUnix (seconds), for an instant rollback; 0 means none.
	Previous          uint64 `json:"previous,omitempty"`
	PreviousUntilUnix int64  `json:"previous_until,omitempty"`
	// Next is the first generation number never used.
	Next uint64 `json:"next"`
}

// FirstGenerations is what the entry holds before any rebuild.
func FirstGenerations() Generations { return Generations{Active: 1, Next: 2} }

// ParseGenerations decodes and checks the entry; the error wraps ErrValue.
func ParseGenerations(value []byte) (Generations, error) {
	var g Generations
	if err := json.Unmarshal(value, &g); err != nil {
		return g, fmt.Errorf("decode generations: %v: %w", err, ErrValue)
	}
	if g.Active == 0 || g.Active >= g.Next || g.Previous >= g.Next || g.Previous == g.Active {
		return g, fmt.Errorf("generations %s make no sense: %w", value, ErrValue)
	}
	return g, nil
}

// Encode is the inverse of ParseGenerations.
func (g Generations) Encode() []byte {
	b, err := json.Marshal(g)
	if err != nil {
		return nil // Numbers always encode.
	}
	return b
}

// Fed reports whether projectors feed generation gen at the given moment.
func (g Generations) Fed(gen uint64, now time.Time) bool {
	return gen == g.Active || gen != 0 && gen == g.Previous && now.Unix() < g.PreviousUntilUnix
}

// ReadGenerations reads the entry from the stream.Projection bucket, with its revision for a compare-and-set. The error wraps
// ErrNoGenerations when there is none.
func ReadGenerations(ctx context.Context, kv jetstream.KeyValue) (Generations, uint64, error) {
	e, err := kv.Get(ctx, ActiveEntry)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Generations{}, 0, ErrNoGenerations
	}
	if err != nil {
		return Generations{}, 0, fmt.Errorf("read generations: %w", err)
	}
	g, err := ParseGenerations(e.Value())
	return g, e.Revision(), err
}

// Active reads the copy of the active generation that projectors keep in Redis. The bucket decides; this is for when NATS cannot
// be asked. The error wraps ErrNoGenerations when there is none.
func Active(ctx context.Context, rdb redis.Cmdable) (uint64, error) {
	gen, err := rdb.Get(ctx, ActiveKey).Uint64()
	if errors.Is(err, redis.Nil) || err == nil && gen == 0 {
		return 0, ErrNoGenerations
	}
	if err != nil {
		return 0, fmt.Errorf("read active generation: %w", err)
	}
	return gen, nil
}
