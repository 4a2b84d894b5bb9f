package feed

import (
	"errors"
	"fmt"
	"testing"

	"linkfold/projector/internal/source"
	"linkfold/projector/internal/target"
	"linkfold/schema/projection"
)

func metasAt(cursor uint64) *target.Metas {
	m := &target.Metas{}
	for i := range m {
		m[i].Cursor = cursor
	}
	return m
}

func at(p int, seq uint64) source.Event {
	return source.Event{Seq: seq, Partition: p, Name: fmt.Sprint("l:go/", seq), Value: []byte("0123456789abcdef")}
}

// brief writes calls as "partition:prev-last/goal+items".
func brief(calls []target.Call) string {
	s := ""
	for _, c := range calls {
		s += fmt.Sprintf("%d:%d-%d/%d+%d ", c.Partition, c.Prev, c.Last, c.Goal, len(c.Items))
	}
	return s
}

func TestPlanCalls(t *testing.T) {
	for _, c := range []struct {
		name   string
		cursor uint64
		goal   uint64
		events []source.Event
		want   string
	}{
		{"nothing", 5, 0, nil, ""},
		{"only partitions with events, up to what was read", 5, 0, []source.Event{at(3, 6), at(9, 7), at(3, 8)}, "3:5-8/0+2 9:5-8/0+1 "},
		{"known events are left out", 5, 0, []source.Event{at(3, 4), at(3, 5)}, ""},
		{"bad events are seen", 5, 0, []source.Event{at(3, 6), {Seq: 7, Err: errGap}}, "3:5-7/0+1 "},
		{"sweep below its goal", 0, 10, []source.Event{at(1, 4), at(1, 7)}, "1:0-7/10+2 "},
		{"sweep to its goal", 0, 10, []source.Event{at(1, 4), at(1, 10)}, "1:0-10/10+2 "},
		{"sweep beyond its goal goes on plainly", 0, 10, []source.Event{at(1, 4), at(1, 12)}, "1:0-10/10+1 1:10-12/0+1 "},
		{"partitions ahead of a sweep are not swept", 20, 10, []source.Event{at(1, 4), at(1, 25)}, "1:20-25/0+1 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlan(metasAt(c.cursor), c.goal)
			for _, e := range c.events {
				p.add(e)
			}
			if got := brief(p.calls(false)); got != c.want {
				t.Errorf("calls %q, want %q", got, c.want)
			}
			if p.items != 0 || p.bytes != 0 || brief(p.calls(false)) != "" {
				t.Error("events are still waiting after calls")
			}
			if all := p.calls(true); len(all) < projection.Partitions {
				t.Errorf("calls of all partitions are %d", len(all))
			}
		})
	}
}

func TestPlanCutsLargeBatches(t *testing.T) {
	p := newPlan(metasAt(0), 0)
	for seq := range uint64(2*callItems + 5) {
		p.add(at(7, seq+1))
	}
	p.add(source.Event{Seq: 9000})
	want := "7:0-1000/0+1000 7:1000-2000/0+1000 7:2000-9000/0+5 "
	if got := brief(p.calls(false)); got != want {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestPlanSettle(t *testing.T) {
	for _, c := range []struct {
		status string
		seq    uint64
		pos    uint64
		err    error
	}{
		{projection.StatusOK, 8, 8, nil},
		{projection.StatusOld, 30, 30, nil}, // another projector was faster
		{projection.StatusGap, 0, 0, errGap},
		{projection.StatusTorn, 3, 0, ErrSpoiled},
		{projection.StatusAlien, 3, 0, ErrSpoiled},
		{"news", 3, 0, ErrSpoiled},
	} {
		p := newPlan(metasAt(5), 0)
		p.add(at(2, 8))
		calls := p.calls(false)
		applied, err := p.settle(calls, []target.Answer{{Status: c.status, Seq: c.seq}})
		if !errors.Is(err, c.err) {
			t.Errorf("settle(%s) = %v, want %v", c.status, err, c.err)
		}
		if err == nil && p.parts[2].pos != c.pos {
			t.Errorf("settle(%s): position %d, want %d", c.status, p.parts[2].pos, c.pos)
		}
		if want := map[bool]int{true: 1}[c.status == projection.StatusOK]; applied != want {
			t.Errorf("settle(%s) applied %d, want %d", c.status, applied, want)
		}
	}
}

func TestPlanSweepCompletes(t *testing.T) {
	p := newPlan(metasAt(0), 10)
	p.add(at(2, 8))
	if p.swept() || p.lowest() != 0 {
		t.Error("a sweep in the middle counts as complete")
	}
	p.add(source.Event{Seq: 10})
	if !p.swept() {
		t.Error("a sweep that was read to its goal is not noticed")
	}
	calls := p.calls(true)
	answers := make([]target.Answer, len(calls))
	for i, c := range calls {
		answers[i] = target.Answer{Status: projection.StatusOK, Seq: c.Last}
	}
	if _, err := p.settle(calls, answers); err != nil || p.lowest() != 10 || p.swept() {
		t.Errorf("after the sweep: lowest %d, swept %v, %v", p.lowest(), p.swept(), err)
	}
}
