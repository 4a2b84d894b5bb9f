package clickhouse

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linkfold/schema/linkfoldv1"
)

func hitRows(seqs ...uint64) *HitRows {
	var rows HitRows
	for _, s := range seqs {
		h := fullHit()
		h.TimeUs += int64(s)
		rows.Append(s, streamTime, h, &Enrichment{})
	}
	return &rows
}

func TestVerify(t *testing.T) {
	conn := migrated(t)
	tables := []string{Hits, Quarantine}
	if err := Insert(t.Context(), conn, hitRows(1, 2, 4), testAttempt(1, 5)); err != nil {
		t.Fatal(err)
	}
	var aside QuarantineRows
	aside.Append(Quarantined{Seq: 3, StreamTime: streamTime})
	if err := Insert(t.Context(), conn, &aside, testAttempt(1, 5)); err != nil {
		t.Fatal(err)
	}
	twice := testAttempt(1, 5)
	twice.Number = 1
	if err := Insert(t.Context(), conn, hitRows(4), twice); err != nil {
		t.Fatal(err)
	}
	other := testAttempt(9, 9)
	other.Gen = "g2"
	if err := Insert(t.Context(), conn, hitRows(9), other); err != nil {
		t.Fatal(err)
	}
	r := Range{Stream: "HITS_0", Gen: "g1", First: 1, Last: 5}
	rows, distinct, err := Count(t.Context(), conn, tables, r)
	if err != nil || rows != 5 || distinct != 4 {
		t.Error(rows, distinct, err)
	}
	stored, err := Stored(t.Context(), conn, tables, r)
	if diff := cmp.Diff([]uint64{1, 2, 3, 4}, stored); err != nil || diff != "" {
		t.Error(err, diff)
	}
	r.Last = math.MaxInt64
	if top, err := Top(t.Context(), conn, tables, r); err != nil || top != 4 {
		t.Error(top, err)
	}
	r.Gen = "never"
	if top, err := Top(t.Context(), conn, tables, r); err != nil || top != 0 {
		t.Error(top, err)
	}
}

// TestFence: after Until the server refuses every row, and the token of the attempt makes a second sending nothing.
func TestFence(t *testing.T) {
	conn := migrated(t)
	s, err := AskServer(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	a := testAttempt(1, 2)
	a.Until = s.Now.Add(-time.Second)
	if err := Insert(t.Context(), conn, hitRows(1, 2), a); !errors.Is(err, ErrRefused) {
		t.Errorf("late insert: %v", err)
	}
	a.Until = s.Now.Add(time.Minute)
	for range 2 {
		if err := Insert(t.Context(), conn, hitRows(1, 2), a); err != nil {
			t.Fatal(err)
		}
	}
	rows, distinct, err := Count(t.Context(), conn, []string{Hits}, a.Range)
	if err != nil || rows != 2 || distinct != 2 {
		t.Error(rows, distinct, err)
	}
}

func TestInsertNotSent(t *testing.T) {
	conn := open(t, "clickhouse://127.0.0.1:1/none")
	if err := Insert(t.Context(), conn, hitRows(1), testAttempt(1, 1)); !errors.Is(err, ErrNotSent) {
		t.Error(err)
	}
	if err := Insert(t.Context(), conn, &HitRows{}, testAttempt(1, 1)); err != nil {
		t.Error("no rows:", err)
	}
}

func TestGaps(t *testing.T) {
	conn := migrated(t)
	gap := func(first, last uint64) Range { return Range{Stream: "HITS_0", Gen: "g1", First: first, Last: last} }
	for _, g := range []Range{gap(5, 9), gap(5, 12), gap(5, 12), gap(40, 50)} {
		if err := RecordGap(t.Context(), conn, g, GapTrimmed); err != nil {
			t.Fatal(err)
		}
	}
	got, err := KnownGaps(t.Context(), conn, gap(8, 45))
	if diff := cmp.Diff([]Range{gap(8, 12), gap(40, 45)}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestLedger: a redirector that ended, one that was killed after its last report, and one that never reported.
func TestLedger(t *testing.T) {
	conn := migrated(t)
	var totals TotalsRows
	us := hitTime.UnixMicro()
	totals.Append(1, streamTime, &linkfoldv1.Totals{Redirector: "ended", TimeUs: us, Accepted: 1})
	totals.Append(2, streamTime, &linkfoldv1.Totals{Redirector: "ended", TimeUs: us + 1, Accepted: 5, Acknowledged: 4, Dropped: 1, Final: true})
	totals.Append(3, streamTime, &linkfoldv1.Totals{Redirector: "killed", TimeUs: us, Accepted: 2, Dropped: 1, Buffered: 1})
	hits := &HitRows{}
	seq := uint64(10)
	for redirector, n := range map[string]int{"ended": 2, "killed": 3, "silent": 1} {
		for range n {
			h := fullHit()
			h.Redirector = redirector
			hits.Append(seq, streamTime, h, &Enrichment{})
			seq++
		}
	}
	var aside QuarantineRows
	aside.Append(Quarantined{Seq: 30, StreamTime: streamTime, Reason: ReasonUndecodable, Redirector: "ended"})
	aside.Append(Quarantined{Seq: 31, StreamTime: streamTime, Reason: ReasonDuplicate, Redirector: "ended"})
	for _, rows := range []Rows{&totals, hits, &aside} {
		if err := Insert(t.Context(), conn, rows, testAttempt(1, 31)); err != nil {
			t.Fatal(err)
		}
	}
	type line struct {
		Redirector                                                            string
		Accepted, Inferred, Stored, Quarantined, Duplicates, Dropped, Pending int64
	}
	var got []line
	rows, err := conn.Query(t.Context(), "SELECT redirector, toInt64(accepted), inferred, toInt64(stored), toInt64(quarantined), toInt64(duplicates), toInt64(dropped), pending FROM ledger ORDER BY redirector")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var l line
		if err := rows.Scan(&l.Redirector, &l.Accepted, &l.Inferred, &l.Stored, &l.Quarantined, &l.Duplicates, &l.Dropped, &l.Pending); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	want := []line{{"ended", 5, 0, 2, 1, 1, 1, 1}, {"killed", 4, 2, 3, 0, 0, 1, 0}, {"silent", 1, 1, 1, 0, 0, 0, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
