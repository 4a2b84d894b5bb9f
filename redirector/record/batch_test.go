package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
)

// batchOf holds hits from..to-1.
func batchOf(id string, from, to int) *batch {
	b := &batch{id: id, parts: 1, released: make(chan struct{})}
	for i := from; i < to; i++ {
		data, err := proto.Marshal(hit(i))
		if err != nil {
			panic(err)
		}
		b.add(data)
	}
	return b
}

func message(subject string, h nats.Header, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject, Header: h, Data: data}
}

func TestBatchRoundTrip(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, batchHits} {
		b := batchOf("id-1", 0, n)
		b.attempted = n == 2
		got, err := decodeBatch(b.encode())
		must(t, err)
		if got.id != b.id || got.attempted != b.attempted || got.len() != n || !bytes.Equal(got.data, b.data) {
			t.Errorf("%d hits: got %d of %s", n, got.len(), got.id)
		}
	}
}

func TestJoins(t *testing.T) {
	t.Parallel()
	attempted := func(b *batch) *batch { b.attempted = true; return b }
	inherited := func(b *batch) *batch { b.inherited = true; return attempted(b) }
	for name, c := range map[string]struct {
		a, b *batch
		want bool
	}{
		"fresh and small":        {batchOf("1", 0, 3), batchOf("2", 3, 5), true},
		"fresh and large":        {batchOf("1", 0, 200), batchOf("2", 200, 500), true},
		"more than a batch":      {batchOf("1", 0, 200), batchOf("2", 200, 501), false},
		"sent as single hits":    {attempted(batchOf("1", 0, 8)), attempted(batchOf("2", 8, 9)), false},
		"sent under its id":      {attempted(batchOf("1", 0, 9)), attempted(batchOf("2", 9, 10)), false},
		"next sent under its id": {attempted(batchOf("1", 0, 1)), attempted(batchOf("2", 1, 10)), false},
		"one of them attempted":  {attempted(batchOf("1", 0, 1)), batchOf("2", 1, 2), false},
		"one of them inherited":  {inherited(batchOf("1", 0, 1)), attempted(batchOf("2", 1, 2)), false},
	} {
		if got := c.a.joins(c.b); got != c.want {
			t.Errorf("%s: joins = %v", name, got)
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	f.Add(batchOf("id-1", 0, 3).encode())
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Add([]byte{0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBatch(data)
		if err != nil {
			return
		}
		if b.len() > batchHits {
			t.Errorf("%d hits", b.len())
		}
		again, err := decodeBatch(b.encode())
		if err != nil || again.len() != b.len() || !bytes.Equal(again.data, b.data) {
			t.Errorf("does not survive a round trip: %v", err)
		}
	})
}

func FuzzReadRecord(f *testing.F) {
	f.Add(encodeRecord(batchOf("id-1", 0, 3)), int64(0))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0}, int64(0))
	f.Add([]byte{255, 255, 255, 255, 0}, int64(0))
	path := filepath.Join(f.TempDir(), "segment")
	f.Fuzz(func(t *testing.T, data []byte, offset int64) {
		must(t, os.WriteFile(path, data, 0o600))
		file, err := os.Open(path)
		must(t, err)
		defer file.Close()
		b, n, err := readRecord(file, max(0, offset))
		if n < 0 || n > recordHeader+maxRecord || err == nil && (b == nil || n == 0) {
			t.Errorf("readRecord = %v, %d, %v", b, n, err)
		}
	})
}
