package feed

import (
	"errors"
	"fmt"

	"linkfold/projector/internal/source"
	"linkfold/projector/internal/target"
	"linkfold/schema/projection"
)

// ErrSpoiled means that the generation cannot be healed by reading events again: its bookkeeping and its values disagree, or it
// belongs to another life of the stream. Build a new generation.
var ErrSpoiled = errors.New("generation is spoiled")

// errGap means that a partition lost events that this feeder had seen in it.
var errGap = errors.New("partition lost events")

// callItems bounds one call of the apply function, which keeps the server from everything else for about two milliseconds then.
const callItems = 1000

// plan is what one session knows of the partitions, and what it has to tell them. It is the whole logic of feeding, without I/O:
// events go in (add), calls come out (calls), and the answers to them go back in (settle).
type plan struct {
	parts [projection.Partitions]partition
	seen  uint64 // every event up to here went through add
	items int    // waiting in all partitions
	bytes int
}

// partition is one partition as this session believes it to be.
type partition struct {
	pos     uint64 // applied up to here: the cursor, or the position in a sweep while goal is not 0
	goal    uint64
	waiting []item // in order of sequence
}

type item struct {
	seq uint64
	target.Item
}

// newPlan starts from cursors read from Redis. With a goal, the session is a sweep from the beginning to there; else every event
// after the lowest cursor will be added.
func newPlan(metas *target.Metas, goal uint64) *plan {
	p := &plan{}
	if goal == 0 {
		p.seen = metas.Lowest()
	}
	for i := range p.parts {
		p.parts[i] = partition{pos: metas[i].Cursor}
		if goal > metas[i].Cursor {
			p.parts[i] = partition{goal: goal}
		}
	}
	return p
}

// add takes the next event. Bad events have nothing to say, but are seen.
func (p *plan) add(e source.Event) {
	p.seen = max(p.seen, e.Seq)
	if e.Value == nil {
		return
	}
	part := &p.parts[e.Partition]
	if e.Seq <= part.pos {
		return
	}
	part.waiting = append(part.waiting, item{e.Seq, target.Item{Name: e.Name, Value: e.Value}})
	p.items++
	p.bytes += len(e.Value)
}

// calls takes the waiting events out. With all, partitions without any are told how far the stream was read, or, when there is
// nothing new to tell, asked whether they are still where they were.
func (p *plan) calls(all bool) []target.Call {
	var calls []target.Call
	for i := range p.parts {
		part := &p.parts[i]
		if len(part.waiting) > 0 || all {
			calls = part.appendCalls(calls, i, p.seen)
			part.waiting = part.waiting[:0]
		}
	}
	p.items, p.bytes = 0, 0
	return calls
}

// appendCalls cuts a partition's events into calls. Each position said to be reached has all its events in that call or before it.
func (part *partition) appendCalls(calls []target.Call, index int, seen uint64) []target.Call {
	prev, goal, rest := part.pos, part.goal, part.waiting
	if goal > 0 {
		n := 0
		for n < len(rest) && rest[n].seq <= goal {
			n++
		}
		calls = cut(calls, target.Call{Partition: index, Prev: prev, Last: min(max(seen, prev), goal), Goal: goal}, rest[:n])
		if seen <= goal {
			return calls
		}
		prev, rest = goal, rest[n:]
	}
	return cut(calls, target.Call{Partition: index, Prev: prev, Last: max(seen, prev)}, rest)
}

// cut appends whole as one call or, when there are too many items, as several that end at an item each.
func cut(calls []target.Call, whole target.Call, items []item) []target.Call {
	for len(items) > callItems {
		part := whole
		part.Last = items[callItems-1].seq
		part.Items = bare(items[:callItems])
		calls = append(calls, part)
		whole.Prev, items = part.Last, items[callItems:]
	}
	whole.Items = bare(items)
	return append(calls, whole)
}

func bare(items []item) []target.Item {
	b := make([]target.Item, len(items))
	for i, it := range items {
		b[i] = it.Item
	}
	return b
}

// settle learns from the answers to calls, and returns how many events they wrote. After an error the session's beliefs are wrong
// and it must end; the error wraps ErrSpoiled when even a new session would not help.
func (p *plan) settle(calls []target.Call, answers []target.Answer) (applied int, err error) {
	for i, a := range answers {
		c := calls[i]
		part := &p.parts[c.Partition]
		switch a.Status {
		case projection.StatusOK:
			applied += len(c.Items)
			fallthrough
		case projection.StatusOld:
			part.pos = a.Seq
			if part.goal > 0 && a.Seq >= part.goal {
				part.goal = 0
			}
		case projection.StatusGap:
			return applied, fmt.Errorf("partition %d is at %d, not at %d: %w", c.Partition, a.Seq, c.Prev, errGap)
		default:
			return applied, fmt.Errorf("partition %d answers %q: %w", c.Partition, a.Status, ErrSpoiled)
		}
	}
	return applied, nil
}

// lowest is the sequence up to which every partition is complete; 0 while any of them is being swept.
func (p *plan) lowest() uint64 {
	low := p.parts[0].pos
	for i := range p.parts {
		if p.parts[i].goal > 0 {
			return 0
		}
		low = min(low, p.parts[i].pos)
	}
	return low
}

// swept reports whether a sweep has read up to its goal and only has to say so.
func (p *plan) swept() bool {
	for i := range p.parts {
		if g := p.parts[i].goal; g > 0 {
			return p.seen >= g
		}
	}
	return false
}
