package cursor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrTaken is returned when somebody else has written the cursor: another ingester works on the stream.
var ErrTaken = errors.New("cursor was written by another ingester")

// timeout bounds one request to the bucket.
const timeout = 5 * time.Second

// Key is the key of a stream's cursor in the bucket stream.Cursors.
func Key(stream string) string { return "ingest." + stream }

// Store reads and writes one cursor.
type Store struct {
	kv  jetstream.KeyValue
	key string
}

// NewStore is the store of the cursor of the named stream.
func NewStore(kv jetstream.KeyValue, stream string) *Store { return &Store{kv: kv, key: Key(stream)} }

// Load reads the cursor and its revision; revision 0 means that there is none.
func (s *Store) Load(ctx context.Context) (state State, rev uint64, err error) {
	e, err := s.get(ctx)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return State{}, 0, nil
	}
	if err != nil {
		return State{}, 0, fmt.Errorf("read cursor: %w", err)
	}
	if err := json.Unmarshal(e.Value(), &state); err != nil {
		return State{}, 0, fmt.Errorf("read cursor: %w", err)
	}
	return state, e.Revision(), nil
}

// Save writes the state if the cursor still has the revision rev (0: if there is none), durably, and returns the new
// revision. The error wraps ErrTaken when it has another; any other error leaves open whether the state was written.
func (s *Store) Save(ctx context.Context, state State, rev uint64) (uint64, error) {
	value, err := json.Marshal(state)
	if err != nil {
		return 0, fmt.Errorf("encode cursor: %w", err)
	}
	next, err := s.put(ctx, value, rev)
	if err == nil {
		return next, nil
	}
	// The answer may have been lost, or be about a second copy of the request that the client sent by itself. The bucket
	// decides: states carry their owner and are written once each, so equal bytes are this very write.
	e, getErr := s.get(ctx)
	switch {
	case getErr == nil && bytes.Equal(e.Value(), value):
		return e.Revision(), nil
	case errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return 0, ErrTaken
	}
	return 0, fmt.Errorf("write cursor: %w", err)
}

func (s *Store) put(ctx context.Context, value []byte, rev uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if rev == 0 {
		return s.kv.Create(ctx, s.key, value)
	}
	return s.kv.Update(ctx, s.key, value, rev)
}

func (s *Store) get(ctx context.Context) (jetstream.KeyValueEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.kv.Get(ctx, s.key)
}
