// Package target is the Redis side of the projection: cursors, the apply function, and removing whole generations. It works
// against one server and against a cluster.
package target

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"linkfold/schema/projection"
)

// ErrFunction means that the server does not know the apply function: call Load.
var ErrFunction = errors.New("projection function is not loaded")

// Item is one value to apply.
type Item struct {
	Name  string
	Value []byte
}

// Call is one call of the apply function; see projection.ApplyFunction.
type Call struct {
	Partition        int
	Prev, Last, Goal uint64
	Items            []Item
}

// Answer is what the apply function returned.
type Answer struct {
	Status string
	Seq    uint64
}

// Metas are the partitions of a generation.
type Metas [projection.Partitions]projection.Meta

// Lowest is the lowest cursor.
func (m *Metas) Lowest() uint64 {
	low := m[0].Cursor
	for _, p := range m {
		low = min(low, p.Cursor)
	}
	return low
}

// Target is one generation in Redis.
type Target struct {
	Redis      redis.UniversalClient
	Generation uint64
}

// Metas reads what every partition says of itself; each is consistent in itself, not with the others.
func (t Target) Metas(ctx context.Context) (*Metas, error) {
	pipe := t.Redis.Pipeline()
	var cmds [projection.Partitions]*redis.SliceCmd
	for p := range cmds {
		cmds[p] = pipe.HMGet(ctx, projection.MetaKey(t.Generation, p), projection.MetaFields()...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read cursors: %w", err)
	}
	m := &Metas{}
	for p, cmd := range cmds {
		var err error
		if m[p], err = projection.ParseMeta(cmd.Val()); err != nil {
			return nil, fmt.Errorf("read cursor of partition %d: %w", p, err)
		}
	}
	return m, nil
}

// Apply makes the calls, those of one partition in the given order, in one round trip per server. After an error some of them may
// have been done. The error wraps ErrFunction when that is the reason.
func (t Target) Apply(ctx context.Context, life string, calls []Call) ([]Answer, error) {
	pipe := t.Redis.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		keys, args := t.arguments(life, c)
		cmds[i] = pipe.FCall(ctx, projection.ApplyFunction, keys, args...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if strings.Contains(err.Error(), "Function not found") {
			return nil, ErrFunction
		}
		return nil, fmt.Errorf("apply events: %w", err)
	}
	answers := make([]Answer, len(calls))
	for i, cmd := range cmds {
		var err error
		if answers[i], err = parseAnswer(cmd.Val()); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func (t Target) arguments(life string, c Call) ([]string, []any) {
	keys := make([]string, 1, 1+len(c.Items))
	args := make([]any, 4, 4+len(c.Items))
	keys[0] = projection.MetaKey(t.Generation, c.Partition)
	args[0], args[1], args[2], args[3] = life, c.Prev, c.Last, c.Goal
	prefix := strings.TrimSuffix(keys[0], "m") // saves formatting the same numbers for every key
	for _, it := range c.Items {
		keys = append(keys, prefix+it.Name)
		args = append(args, it.Value)
	}
	return keys, args
}

func parseAnswer(v any) (Answer, error) {
	fields, ok := v.([]any)
	if !ok || len(fields) != 2 {
		return Answer{}, fmt.Errorf("apply events: unexpected answer %v", v)
	}
	status, ok1 := fields[0].(string)
	seq, ok2 := fields[1].(int64)
	if !ok1 || !ok2 || seq < 0 {
		return Answer{}, fmt.Errorf("apply events: unexpected answer %v", v)
	}
	return Answer{Status: status, Seq: uint64(seq)}, nil
}

// Load loads the apply function on every master. Repeating it is harmless.
func Load(ctx context.Context, rdb redis.UniversalClient) error {
	err := eachMaster(ctx, rdb, func(ctx context.Context, c redis.UniversalClient) error {
		return c.FunctionLoadReplace(ctx, projection.Function).Err()
	})
	if err != nil {
		return fmt.Errorf("load projection function: %w", err)
	}
	return nil
}

// Mirror makes the copy of the active generation in Redis say gen.
func Mirror(ctx context.Context, rdb redis.UniversalClient, gen uint64) error {
	have, err := projection.Active(ctx, rdb)
	if err != nil && !errors.Is(err, projection.ErrNoGenerations) {
		return err
	}
	if have == gen {
		return nil
	}
	if err := rdb.Set(ctx, projection.ActiveKey, strconv.FormatUint(gen, 10), 0).Err(); err != nil {
		return fmt.Errorf("write active generation: %w", err)
	}
	return nil
}

func eachMaster(ctx context.Context, rdb redis.UniversalClient, do func(context.Context, redis.UniversalClient) error) error {
	if c, ok := rdb.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, n *redis.Client) error { return do(ctx, n) })
	}
	return do(ctx, rdb)
}
