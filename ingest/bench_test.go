package ingest_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"linkfold/deploy/devstack"
	"linkfold/ingest"
	"linkfold/ingest/enrich"
	"linkfold/schema/clickhouse"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

const benchRows = 400_000

func benchHit(i int) *linkfoldv1.Hit {
	h := testHit(i)
	h.Key = fmt.Sprintf("key%d", i%5000)
	h.Destination, h.Host, h.Path = "https://example.com/some/page?utm_source=qr", "0x1f.ie", "/"+h.Key
	h.UserAgent = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/" + strconv.Itoa(i%40)
	h.Referrer, h.AcceptLanguage = "https://www.example.net/page/"+strconv.Itoa(i%100), "de-DE,de;q=0.9,en;q=0.8"
	h.Person = &linkfoldv1.Person{ClientIp: []byte{10, byte(i >> 16), byte(i >> 8), byte(i)}, CookieId: "c" + strconv.Itoa(i%20000)}
	h.VisitorDay, h.LatencyUs = uint64(i)*7919, 40
	return h
}

// publishBatches publishes hits in atomic batches of 1,000: one fsync each.
func (e *env) publishBatches(n int) {
	e.t.Helper()
	for from := 0; from < n; from += 1000 {
		for i := range 1000 {
			m := nats.NewMsg(stream.HitSubject(0))
			m.Data = encode(e.t, benchHit(from+i))
			m.Header.Set("Nats-Batch-Id", "b"+strconv.Itoa(from))
			m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
			if i == 999 {
				m.Header.Set("Nats-Batch-Commit", "1")
			}
			if i == 0 || i == 999 {
				_, err := e.js.Conn().RequestMsg(m, 5*time.Second)
				must(e.t, err)
				continue
			}
			must(e.t, e.js.Conn().PublishMsg(m))
		}
	}
}

// BenchmarkIngest stores what is in the stream already.
func BenchmarkIngest(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		e := newEnv(b, devstack.ForTest(b, devstack.ClickHouse))
		e.cfg.Until, e.cfg.MaxExecution, e.cfg.MaxDelay = 15*time.Second, 10*time.Second, 100*time.Millisecond
		_, err := clickhouse.Migrate(b.Context(), e.conn, clickhouse.Options{})
		must(b, err)
		e.publishBatches(benchRows)
		b.StartTimer()
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- ingest.Run(ctx, e.cfg, ingest.Deps{Log: testLog(b)}) }()
		e.caughtUp()
		b.StopTimer()
		cancel()
		must(b, <-done)
		b.StartTimer()
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkRawInsert inserts the same rows, made beforehand, in the same blocks, one after the other.
func BenchmarkRawInsert(b *testing.B) {
	e := newEnv(b, devstack.ForTest(b, devstack.ClickHouse))
	_, err := clickhouse.Migrate(b.Context(), e.conn, clickhouse.Options{})
	must(b, err)
	blocks := make([]clickhouse.HitRows, benchRows/e.cfg.BatchRows)
	var en clickhouse.Enrichment
	for i := range benchRows {
		h := benchHit(i)
		enrich.Apply(h, &en)
		blocks[i/e.cfg.BatchRows].Append(uint64(i+1), time.Now().UTC(), h, &en)
	}
	n := uint32(0)
	for b.Loop() {
		for i := range blocks {
			a := clickhouse.Attempt{Number: n, Until: time.Now().Add(time.Minute), MaxExecution: 10 * time.Second}
			a.Range = clickhouse.Range{Stream: "HITS_0", Gen: "g", First: uint64(i), Last: uint64(i)}
			must(b, clickhouse.Insert(b.Context(), e.conn, &blocks[i], a))
			n++
		}
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
