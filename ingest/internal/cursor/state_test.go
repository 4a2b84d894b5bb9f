package cursor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTransitions(t *testing.T) {
	at := time.Unix(1_767_225_600, 0)
	s := State{Gen: "g", Done: 10, Owner: "o"}
	pended := s.Pended(20, at)
	if diff := cmp.Diff(&Pend{First: 11, Last: 20, N: 10, Until: at.Unix(), Codec: CodecVersion}, pended.Pend); diff != "" || pended.Done != 10 {
		t.Error(diff, pended.Done)
	}
	retried := pended.Retried(8, at.Add(time.Minute))
	if diff := cmp.Diff(&Pend{First: 11, Last: 20, N: 8, Attempt: 1, Until: at.Unix() + 60, Codec: CodecVersion}, retried.Pend); diff != "" {
		t.Error(diff)
	}
	if pended.Pend.Attempt != 0 || s.Pend != nil {
		t.Error("a transition changed its origin")
	}
	if f := retried.Finished(); f.Done != 20 || f.Pend != nil || f.Gen != "g" {
		t.Errorf("finished: %+v", f)
	}
	if k := s.Skipped(15); k.Done != 15 || k.Pend != nil {
		t.Errorf("skipped: %+v", k)
	}
	if r := pended.Range("HITS_0"); r.First != 11 || r.Last != 20 || r.Gen != "g" || r.Len() != 10 {
		t.Errorf("range: %+v", r)
	}
	if !pended.Pend.UntilTime().Equal(at) {
		t.Error(pended.Pend.UntilTime())
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		n, rows, distinct uint64
		want              Verdict
	}{
		{10, 0, 0, Incomplete}, {10, 9, 9, Incomplete}, {10, 10, 9, Incomplete}, {10, 10, 10, Complete}, {10, 11, 10, Doubled}, {0, 0, 0, Complete},
	} {
		if got := (Pend{N: c.n}).Judge(c.rows, c.distinct); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestFormat: the names of the fields are a contract with cursors that exist.
func TestFormat(t *testing.T) {
	b, err := json.Marshal(State{Gen: "g", Done: 1, Owner: "o"}.Pended(2, time.Unix(9, 0)))
	const want = `{"gen":"g","done":1,"pend":{"first":2,"last":2,"n":1,"att":0,"until":9,"codec_version":1},"owner":"o"}`
	if diff := cmp.Diff(want, string(b)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
