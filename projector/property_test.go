package projector_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"linkfold/projector"
	"linkfold/projector/internal/source"
	"linkfold/projector/internal/target"
	"linkfold/schema/projection"
)

// chaos does random things to one world. Every choice comes from the seed, which is in the test's name.
type chaos struct {
	*world
	rnd   *rand.Rand
	dumps map[string]string // an older state of Redis
}

func (c *chaos) edit() {
	for range 1 + c.rnd.IntN(40) {
		key := fmt.Sprintf("k%d", c.rnd.IntN(60))
		if c.rnd.IntN(4) == 0 {
			key += "/sub"
		}
		c.publish(linkEvent("go", key, fmt.Sprintf("https://example.com/%d", c.rnd.IntN(1000)), c.rnd.IntN(6) == 0))
	}
}

func (c *chaos) keys() []string {
	keys, err := c.rdb.Keys(c.t.Context(), "{lf:*").Result()
	if err != nil {
		c.t.Fatal(err)
	}
	return keys
}

func (c *chaos) flush() {
	if err := c.rdb.FlushAll(c.t.Context()).Err(); err != nil {
		c.t.Fatal(err)
	}
}

// save remembers all keys; restore brings some or all of them back, which no server does by itself but an operator may.
func (c *chaos) save() {
	c.dumps = map[string]string{}
	for _, k := range c.keys() {
		if d, err := c.rdb.Dump(c.t.Context(), k).Result(); err == nil {
			c.dumps[k] = d
		}
	}
}

func (c *chaos) restore(share float64, flush bool) {
	if flush {
		c.flush()
	}
	pipe := c.rdb.TxPipeline()
	for k, d := range c.dumps {
		if c.rnd.Float64() < share {
			pipe.RestoreReplace(c.t.Context(), k, 0, d)
		}
	}
	if _, err := pipe.Exec(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// lose deletes a share of the keys that match.
func (c *chaos) lose(share float64, match func(name string) bool) {
	for _, k := range c.keys() {
		if _, _, name, ok := projection.ParseKey(k); ok && match(name) && c.rnd.Float64() < share {
			if err := c.rdb.Del(c.t.Context(), k).Err(); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// redeliver applies random overlapping, repeated and reordered batches of true events, as slow or confused projectors would.
func (c *chaos) redeliver() {
	ctx := c.t.Context()
	info, err := source.Ask(ctx, c.js)
	if err != nil || info.Last == 0 {
		return
	}
	to := target.Target{Redis: c.rdb, Generation: c.generations().Active}
	if err := target.Load(ctx, c.rdb); err != nil { // it may just have been lost
		c.t.Fatal(err)
	}
	for range 5 {
		first := 1 + c.rnd.Uint64N(info.Last)
		last := first + c.rnd.Uint64N(info.Last-first+1)
		calls := c.batch(ctx, first, last)
		c.rnd.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		if len(calls) == 0 {
			continue
		}
		if _, err := to.Apply(ctx, info.Life, calls); err != nil {
			c.t.Fatal(err)
		}
	}
}

// batch is what a projector that believes to be at first-1 would send for the events up to last.
func (c *chaos) batch(ctx context.Context, first, last uint64) []target.Call {
	byPartition := map[int]*target.Call{}
	for seq := first; seq <= last; seq++ {
		e, err := source.Get(ctx, c.js, seq)
		if err != nil {
			c.t.Fatal(err)
		}
		call := byPartition[e.Partition]
		if call == nil {
			call = &target.Call{Partition: e.Partition, Prev: first - 1, Last: last}
			byPartition[e.Partition] = call
		}
		call.Items = append(call.Items, target.Item{Name: e.Name, Value: e.Value})
	}
	var calls []target.Call
	for _, call := range byPartition {
		c.rnd.Shuffle(len(call.Items), func(i, j int) { call.Items[i], call.Items[j] = call.Items[j], call.Items[i] })
		calls = append(calls, *call)
	}
	return calls
}

// TestAnyHistoryHeals is the projector's promise: whatever was lost, restored or delivered, Redis ends up as the fold of the log, with
// counts and checksums of exactly that. Losses of values alone show in no cursor; they are found by the patrol, so it runs often.
func TestAnyHistoryHeals(t *testing.T) {
	t.Parallel()
	base := uint64(time.Now().UnixNano())
	for i := range uint64(4) {
		seed := base + i
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			c := &chaos{world: newWorld(t), rnd: rand.New(rand.NewPCG(seed, 1))}
			c.start(projector.Config{VerifyEvery: time.Second})
			if c.rnd.IntN(2) == 0 {
				c.start(projector.Config{VerifyEvery: time.Second})
			}
			c.edit()
			c.whole("start")
			c.save()
			for range 4 {
				c.misfortune()
				if c.rnd.IntN(2) == 0 {
					c.edit()
				}
			}
			c.edit()
			c.whole("end")
		})
	}
}

func (c *chaos) misfortune() {
	any := func(string) bool { return true }
	what := []struct {
		name string
		do   func()
	}{
		{"edits", c.edit},
		{"redelivery", c.redeliver},
		{"flush", c.flush},
		{"older state back", func() { c.restore(1, true) }},
		{"some older keys over newer ones", func() { c.restore(0.3, false) }},
		{"meta keys lost", func() { c.lose(0.5, func(n string) bool { return n == "m" }) }},
		{"values lost", func() { c.lose(0.2, func(n string) bool { return n != "m" }) }},
		{"anything lost", func() { c.lose(0.5, any) }},
		{"a new save", c.save},
		{"function lost", func() { c.rdb.FunctionFlush(c.t.Context()) }},
	}
	w := what[c.rnd.IntN(len(what))]
	c.t.Log(w.name)
	w.do()
	if c.rnd.IntN(3) == 0 {
		c.edit()
		c.whole("after " + w.name)
	}
}
