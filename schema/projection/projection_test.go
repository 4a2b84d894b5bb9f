package projection_test

import (
	"errors"
	"testing"

	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// Partitions are part of Redis keys in running installations: these numbers must never change.
func TestPartitionIsFixed(t *testing.T) {
	for _, c := range []struct {
		a    stream.Aggregate
		want int
		key  string
	}{
		{stream.LinkAggregate("go", "abc"), 4, "{lf:7:4}:l:go/abc"},
		{stream.LinkAggregate("go", "abc/def"), 4, "{lf:7:4}:l:go/abc/def"},
		{stream.LinkAggregate("1.usa.gov", "vNJS4H"), 51, "{lf:7:51}:l:1.usa.gov/vNJS4H"},
		{stream.DomainAggregate("go"), 44, "{lf:7:44}:d:go"},
	} {
		if got := projection.Partition(c.a); got != c.want {
			t.Errorf("Partition(%v) = %d, want %d", c.a, got, c.want)
		}
		key := projection.Key(7, c.a)
		if key != c.key || key != projection.KeyOf(7, c.want, projection.Name(c.a)) {
			t.Errorf("Key(7, %v) = %q, want %q", c.a, key, c.key)
		}
		gen, p, name, ok := projection.ParseKey(key)
		if !ok || gen != 7 || p != c.want || name != projection.Name(c.a) {
			t.Errorf("ParseKey(%q) = %d, %d, %q, %v", key, gen, p, name, ok)
		}
	}
}

func TestParseKeyRefusesOthers(t *testing.T) {
	for _, k := range []string{"", "lf:active", "{lf:1}:m", "{lf:x:1}:m", "{lf:1:64}:m", "{lf:1:-1}:m", "{lf:1:2:m", "{other:1:2}:m"} {
		if _, _, _, ok := projection.ParseKey(k); ok {
			t.Errorf("ParseKey(%q) is ok", k)
		}
	}
}

func TestValueAndChecksum(t *testing.T) {
	a := stream.LinkAggregate("go", "a")
	ev := &linkfoldv1.Event{State: &linkfoldv1.Event_Link{Link: &linkfoldv1.Link{Domain: "go", Key: "a", Destination: "https://example.com/"}}}
	v, err := projection.Value(a, 42, ev)
	if err != nil {
		t.Fatal(err)
	}
	seq, sum, state, err := projection.Split(v)
	if err != nil || seq != 42 || sum != projection.Checksum(projection.Name(a), 42, state) || sum >= 1<<projection.ChecksumBits {
		t.Errorf("Split = %d, %x, %v", seq, sum, err)
	}
	if got := projection.AddChecksum(projection.AddChecksum(5, sum), -sum); got != 5 {
		t.Errorf("taking a term away again leaves %d, want 5", got)
	}
	if _, err := projection.Value(a, 1, &linkfoldv1.Event{}); !errors.Is(err, projection.ErrValue) {
		t.Errorf("Value without state = %v, want ErrValue", err)
	}
	if _, _, _, err := projection.Split(v[:15]); !errors.Is(err, projection.ErrValue) {
		t.Errorf("Split of 15 bytes = %v, want ErrValue", err)
	}
}

func TestParseMeta(t *testing.T) {
	m, err := projection.ParseMeta([]any{"x1", "5", "7", "2", "99"})
	if want := (projection.Meta{Life: "x1", Cursor: 5, Top: 7, Count: 2, Checksum: 99}); err != nil || m != want || m.Settled() {
		t.Errorf("ParseMeta = %+v, %v", m, err)
	}
	if m, err := projection.ParseMeta(make([]any, 5)); err != nil || m != (projection.Meta{}) || !m.Settled() {
		t.Errorf("ParseMeta of an absent partition = %+v, %v", m, err)
	}
	for _, bad := range [][]any{nil, {"x", "-1", nil, nil, nil}, {"x", "1e3", nil, nil, nil}} {
		if _, err := projection.ParseMeta(bad); !errors.Is(err, projection.ErrValue) {
			t.Errorf("ParseMeta(%v) = %v, want ErrValue", bad, err)
		}
	}
}

func TestParseGenerations(t *testing.T) {
	g := projection.Generations{Active: 3, Previous: 2, PreviousUntilUnix: 10, Next: 4}
	if got, err := projection.ParseGenerations(g.Encode()); err != nil || got != g {
		t.Errorf("ParseGenerations = %+v, %v", got, err)
	}
	for _, bad := range []string{``, `{}`, `{"active":2,"next":2}`, `{"active":1,"previous":1,"next":2}`, `{"active":-1,"next":2}`} {
		if _, err := projection.ParseGenerations([]byte(bad)); !errors.Is(err, projection.ErrValue) {
			t.Errorf("ParseGenerations(%s) = %v, want ErrValue", bad, err)
		}
	}
}
