package projection_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"linkfold/deploy/devstack"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// partition drives partition 0 of generation 1 on a real server. The function does not care which keys belong to which partition,
// so the tests use any names.
type partition struct {
	t   *testing.T
	rdb *redis.Client
}

func newPartition(t *testing.T) *partition {
	t.Helper()
	stack := devstack.ForTest(t, devstack.Redis)
	o, err := redis.ParseURL(stack.RedisURL())
	if err != nil {
		t.Fatal(err)
	}
	p := &partition{t: t, rdb: redis.NewClient(o)}
	t.Cleanup(func() { p.rdb.Close() })
	if err := p.rdb.FunctionLoadReplace(t.Context(), projection.Function).Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

var meta = projection.MetaKey(1, 0)

func (p *partition) clear() {
	p.t.Helper()
	if err := p.rdb.FlushAll(p.t.Context()).Err(); err != nil {
		p.t.Fatal(err)
	}
}

// ev is one event: the value of key at seq.
type ev struct {
	key string
	seq uint64
}

func (p *partition) value(e ev, deleted bool) []byte {
	p.t.Helper()
	a := stream.LinkAggregate("go", e.key)
	v, err := projection.Value(a, e.seq, &linkfoldv1.Event{State: &linkfoldv1.Event_Link{
		Link: &linkfoldv1.Link{Domain: "go", Key: e.key, Deleted: deleted, Destination: fmt.Sprint("https://example.com/", e.seq)}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// apply calls the function and returns its answer as "STATUS n".
func (p *partition) apply(life string, prev, last, goal uint64, events ...ev) string {
	p.t.Helper()
	keys, args := []string{meta}, []any{life, prev, last, goal}
	for _, e := range events {
		keys = append(keys, "{lf:1:0}:l:go/"+e.key)
		args = append(args, p.value(e, e.seq%5 == 0))
	}
	v, err := p.rdb.FCall(p.t.Context(), projection.ApplyFunction, keys, args...).Slice()
	if err != nil {
		return "error"
	}
	return fmt.Sprintf("%v %v", v...)
}

func (p *partition) meta() projection.Meta {
	p.t.Helper()
	m, err := projection.ParseMeta(p.rdb.HMGet(p.t.Context(), meta, projection.MetaFields()...).Val())
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

// holds compares the partition with what a fold of the events would hold: keys, sequences, n and sum.
func (p *partition) holds(want map[string]uint64) {
	p.t.Helper()
	got, sum := map[string]uint64{}, uint64(0)
	for _, k := range p.rdb.Keys(p.t.Context(), "{lf:1:0}:l:*").Val() {
		raw, err := p.rdb.Get(p.t.Context(), k).Bytes()
		if err != nil {
			p.t.Fatal(err)
		}
		name, _ := projection.NameOf(k)
		seq, term, state, err := projection.Split(raw)
		if err != nil || projection.Checksum(name, seq, state) != term {
			p.t.Errorf("value of %s is malformed: %v", k, err)
		}
		got[name[len("l:go/"):]] = seq
		sum = projection.AddChecksum(sum, term)
	}
	if !reflect.DeepEqual(got, want) {
		p.t.Errorf("keys %v, want %v", got, want)
	}
	if m := p.meta(); m.Count != uint64(len(want)) || m.Checksum != sum {
		p.t.Errorf("n, sum = %d, %x; content has %d, %x", m.Count, m.Checksum, len(want), sum)
	}
}

type step struct {
	prev, last, goal uint64
	events           []ev
	want             string
}

func TestApplyFunction(t *testing.T) {
	t.Parallel()
	p := newPartition(t)
	for _, c := range []struct {
		name  string
		steps []step
		want  map[string]uint64
		cur   uint64
	}{
		{"in order", []step{
			{0, 2, 0, []ev{{"a", 1}, {"b", 2}}, "OK 2"},
			{2, 7, 0, []ev{{"a", 5}}, "OK 7"},
		}, map[string]uint64{"a": 5, "b": 2}, 7},
		{"gap is refused", []step{
			{0, 2, 0, []ev{{"a", 1}}, "OK 2"},
			{3, 4, 0, []ev{{"b", 4}}, "GAP 2"},
		}, map[string]uint64{"a": 1}, 2},
		{"gap of an empty partition", []step{{9, 9, 0, nil, "GAP 0"}}, map[string]uint64{}, 0},
		{"old is no write", []step{
			{0, 5, 0, []ev{{"a", 5}}, "OK 5"},
			{0, 3, 0, []ev{{"a", 3}, {"b", 2}}, "OLD 5"},
			{5, 5, 0, nil, "OLD 5"},
		}, map[string]uint64{"a": 5}, 5},
		{"overlap", []step{
			{0, 3, 0, []ev{{"a", 1}, {"b", 3}}, "OK 3"},
			{1, 6, 0, []ev{{"b", 3}, {"a", 4}, {"c", 6}}, "OK 6"},
		}, map[string]uint64{"a": 4, "b": 3, "c": 6}, 6},
		{"one key twice in a batch, either order", []step{
			{0, 4, 0, []ev{{"a", 1}, {"a", 4}}, "OK 4"},
			{4, 9, 0, []ev{{"a", 9}, {"b", 8}, {"b", 7}, {"a", 6}}, "OK 9"},
		}, map[string]uint64{"a": 9, "b": 8}, 9},
		{"tombstone stays", []step{
			{0, 5, 0, []ev{{"a", 1}, {"a", 5}}, "OK 5"},
			{5, 6, 0, []ev{{"b", 6}}, "OK 6"},
		}, map[string]uint64{"a": 5, "b": 6}, 6},
		{"idle advance", []step{
			{0, 2, 0, []ev{{"a", 2}}, "OK 2"},
			{2, 100, 0, nil, "OK 100"},
		}, map[string]uint64{"a": 2}, 100},
		{"sweep hides its cursor until the goal", []step{
			{0, 4, 9, []ev{{"a", 4}}, "OK 4"},
			{4, 8, 9, []ev{{"b", 8}}, "OK 8"},
			{4, 7, 9, nil, "OLD 8"},
		}, map[string]uint64{"a": 4, "b": 8}, 0},
		{"sweep completes", []step{
			{0, 4, 9, []ev{{"a", 4}}, "OK 4"},
			{4, 9, 9, []ev{{"b", 8}}, "OK 9"},
			{9, 10, 0, []ev{{"c", 10}}, "OK 10"},
			{4, 9, 9, []ev{{"b", 8}}, "OLD 10"},
		}, map[string]uint64{"a": 4, "b": 8, "c": 10}, 10},
		{"sweep gap", []step{
			{0, 4, 9, []ev{{"a", 4}}, "OK 4"},
			{5, 9, 9, []ev{{"b", 8}}, "GAP 0"},
			{0, 10, 9, nil, "error"},
		}, map[string]uint64{"a": 4}, 0},
		{"sweeps with other goals do not mix", []step{
			{0, 4, 9, []ev{{"a", 4}}, "OK 4"},
			{0, 3, 12, []ev{{"b", 2}}, "OK 3"},
			{3, 12, 12, []ev{{"a", 11}, {"c", 12}}, "OK 12"},
			{4, 9, 9, []ev{{"d", 9}}, "OLD 12"},
		}, map[string]uint64{"a": 11, "b": 2, "c": 12}, 12},
		{"plain after a sweep that ended ahead", []step{
			{0, 3, 0, []ev{{"a", 3}}, "OK 3"},
			{0, 8, 9, []ev{{"a", 7}}, "OK 8"},
			{3, 5, 0, []ev{{"a", 4}, {"b", 5}}, "OK 5"},
		}, map[string]uint64{"a": 7, "b": 5}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &partition{t: t, rdb: p.rdb}
			p.clear()
			for i, s := range c.steps {
				if got := p.apply("life", s.prev, s.last, s.goal, s.events...); got != s.want {
					t.Errorf("step %d: %s, want %s", i, got, s.want)
				}
			}
			p.holds(c.want)
			if m := p.meta(); m.Cursor != c.cur {
				t.Errorf("cursor %d, want %d", m.Cursor, c.cur)
			}
		})
	}
}

func TestApplyFunctionRefusesOtherLives(t *testing.T) {
	t.Parallel()
	p := newPartition(t)
	if got := p.apply("one", 0, 3, 0, ev{"a", 3}); got != "OK 3" {
		t.Fatal(got)
	}
	for _, goal := range []uint64{0, 9} {
		if got := p.apply("two", 0, 9, goal, ev{"b", 9}); got != "ALIEN 3" {
			t.Errorf("other life with goal %d: %s", goal, got)
		}
	}
	p.holds(map[string]uint64{"a": 3})
}

// The meta key lost or restored without its values must not lead to counts and checksums that lie.
func TestApplyFunctionSeesTornPartitions(t *testing.T) {
	t.Parallel()
	p := newPartition(t)
	old := func() string {
		d, err := p.rdb.Dump(t.Context(), meta).Result()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	p.apply("life", 0, 3, 0, ev{"a", 3})
	saved := old()
	p.apply("life", 3, 6, 0, ev{"a", 6})
	if err := p.rdb.RestoreReplace(t.Context(), meta, 0, saved).Err(); err != nil {
		t.Fatal(err)
	}
	if got := p.apply("life", 3, 7, 0, ev{"b", 7}, ev{"a", 6}); got != "TORN 3" {
		t.Errorf("restored meta: %s", got)
	}
	if n := p.rdb.Exists(t.Context(), "{lf:1:0}:l:go/b").Val(); n != 0 {
		t.Error("a refused batch has written something")
	}
	if err := p.rdb.Del(t.Context(), meta).Err(); err != nil {
		t.Fatal(err)
	}
	for _, goal := range []uint64{0, 9} {
		if got := p.apply("life", 0, 9, goal, ev{"a", 6}); got != "TORN 0" {
			t.Errorf("lost meta with goal %d: %s", goal, got)
		}
	}
}

// Any order of overlapping true batches, with losses of everything between them, ends as the fold.
func TestApplyFunctionAnyOrder(t *testing.T) {
	t.Parallel()
	p := newPartition(t)
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	history := make([]ev, 60)
	want := map[string]uint64{}
	for i := range history {
		history[i] = ev{fmt.Sprint("k", rnd.IntN(12)), uint64(i + 1)}
		want[history[i].key] = uint64(i + 1)
	}
	for p.meta().Cursor < uint64(len(history)) {
		if rnd.IntN(80) == 0 {
			p.clear()
		}
		first := rnd.IntN(len(history))
		last := first + 1 + rnd.IntN(len(history)-first)
		batch := append([]ev(nil), history[first:last]...)
		rnd.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		p.apply("life", uint64(first), uint64(last), 0, batch...)
	}
	p.holds(want)
}
