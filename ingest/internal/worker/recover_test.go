package worker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"linkfold/schema/clickhouse"
)

func TestMissing(t *testing.T) {
	run := func(first, last uint64) clickhouse.Range {
		return clickhouse.Range{Stream: "s", Gen: "g", First: first, Last: last}
	}
	for _, c := range []struct {
		have []uint64
		want []clickhouse.Range
	}{
		{nil, []clickhouse.Range{run(5, 9)}},
		{[]uint64{5, 6, 7, 8, 9}, nil},
		{[]uint64{1, 4, 7, 12}, []clickhouse.Range{run(5, 6), run(8, 9)}},
		{[]uint64{5, 9}, []clickhouse.Range{run(6, 8)}},
		{[]uint64{8, 9}, []clickhouse.Range{run(5, 7)}},
	} {
		if diff := cmp.Diff(c.want, missing(run(5, 9), c.have)); diff != "" {
			t.Errorf("%v: %s", c.have, diff)
		}
	}
}

func TestContiguous(t *testing.T) {
	for _, c := range []struct {
		done uint64
		seqs []uint64
		want uint64
	}{
		{0, nil, 0}, {0, []uint64{1, 2, 3}, 3}, {0, []uint64{2, 3}, 0}, {5, []uint64{6, 8}, 6},
	} {
		if got := contiguous(c.done, c.seqs); got != c.want {
			t.Errorf("%d %v: %d, want %d", c.done, c.seqs, got, c.want)
		}
	}
}

func TestRestarted(t *testing.T) {
	now := time.Now()
	id := uuid.New()
	a := attempt{server: id, startedBy: now.Add(-time.Hour)}
	for name, c := range map[string]struct {
		a    attempt
		s    clickhouse.Server
		want bool
	}{
		"started again":    {a, clickhouse.Server{ID: id, Uptime: time.Second}, true},
		"same life":        {a, clickhouse.Server{ID: id, Uptime: time.Hour}, false},
		"rounding":         {a, clickhouse.Server{ID: id, Uptime: time.Hour - 2*time.Second}, false},
		"another server":   {a, clickhouse.Server{ID: uuid.New(), Uptime: time.Second}, false},
		"life never asked": {attempt{server: id}, clickhouse.Server{ID: id, Uptime: time.Second}, false},
	} {
		if got := c.a.restarted(c.s, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
