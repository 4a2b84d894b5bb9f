package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkfold/projector"
	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// setGroup is how many SETs share a round trip.
const setGroup = 1000

// projecting is the projector benchmark under way.
type projecting struct {
	*world
	applied, built, raw samples
	version             int // of all links
}

// benchProjector measures a projector that catches up with an event for every link, and a rebuild of all links with its proof,
// beside SETs of the same values.
func benchProjector(ctx context.Context, b *bench) (tables []*table, err error) {
	w, err := b.newWorld(ctx, "projector", false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	p := &projecting{world: w, applied: samples{}, built: samples{}, raw: samples{}}
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	for round := range b.Rounds {
		b.say("projector: round %d of %d", round+1, b.Rounds)
		if err := p.round(ctx); err != nil {
			return nil, err
		}
	}
	return []*table{p.table()}, p.check(ctx)
}

// begin gives the projection cursors, so that what comes later is applied event by event and not swept.
func (p *projecting) begin(ctx context.Context) error {
	if _, err := p.publish(ctx, 1); err != nil {
		return err
	}
	stop, err := p.projector(ctx)
	if err != nil {
		return err
	}
	return errors.Join(p.reach(ctx), stop())
}

func (p *projecting) round(ctx context.Context) error {
	values, err := p.publish(ctx, p.b.Links)
	if err != nil {
		return err
	}
	if err := p.set(ctx, values); err != nil {
		return err
	}
	begun := time.Now()
	stop, err := p.projector(ctx)
	if err != nil {
		return err
	}
	if err := p.reach(ctx); err != nil {
		return errors.Join(err, stop())
	}
	p.applied.add("rate", rate(p.b.Links, time.Since(begun)))
	return errors.Join(p.rebuild(ctx), stop())
}

// publish gives n links a new destination each and returns the values that the projection will have.
func (p *projecting) publish(ctx context.Context, n int) (values map[string][]byte, err error) {
	p.version++
	out, values := &publisher{nc: p.js.Conn()}, make(map[string][]byte, n)
	for i := range n {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ev := &linkfoldv1.Event{
			Type: linkfoldv1.EventType_EVENT_TYPE_LINK_RETARGETED, TimeUs: time.Now().UnixMicro(), CommandId: uuid.NewString(), Actor: "bench",
			State: &linkfoldv1.Event_Link{Link: &linkfoldv1.Link{
				Domain: domain, Key: fmt.Sprintf("k%07d", i), CreatedUs: 1_700_000_000_000_000,
				Destination: fmt.Sprintf("https://example.com/some/longer/path/%d?version=%d&utm_source=bench", i, p.version),
			}},
		}
		m, err := event.Message(ev)
		if err != nil {
			return nil, err
		}
		a := stream.LinkAggregate(domain, ev.GetLink().GetKey())
		if values["raw:"+projection.Name(a)], err = projection.Value(a, 1, ev); err != nil {
			return nil, err
		}
		if err := out.add(m); err != nil {
			return nil, err
		}
	}
	return values, out.finish()
}

// set writes the values with pipelined SETs, and removes them again.
func (p *projecting) set(ctx context.Context, values map[string][]byte) error {
	begun := time.Now()
	pipe := p.rdb.Pipeline()
	for name, v := range values {
		pipe.Set(ctx, name, v, 0)
		if pipe.Len() == setGroup {
			if _, err := pipe.Exec(ctx); err != nil {
				return fmt.Errorf("set values: %w", err)
			}
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("set values: %w", err)
	}
	p.raw.add("rate", rate(len(values), time.Since(begun)))
	for name := range values {
		pipe.Unlink(ctx, name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("remove values: %w", err)
	}
	return nil
}

// reach waits until every partition of the active generation is at the stream's end.
func (p *projecting) reach(ctx context.Context) error {
	s, err := p.js.Stream(ctx, stream.Links)
	if err != nil {
		return fmt.Errorf("ask stream: %w", err)
	}
	last := s.CachedInfo().State.LastSeq
	err = poll(ctx, 2*time.Minute, 5*time.Millisecond, func(ctx context.Context) (bool, error) {
		low, err := p.lowest(ctx)
		return low >= last, err
	})
	if err != nil {
		return fmt.Errorf("wait for projector: %w", err)
	}
	return nil
}

// lowest is the lowest cursor of the active generation, 0 while there is none.
func (p *projecting) lowest(ctx context.Context) (uint64, error) {
	gen, err := projection.Active(ctx, p.rdb)
	if errors.Is(err, projection.ErrNoGenerations) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	low := ^uint64(0)
	for part := range projection.Partitions {
		fields, err := p.rdb.HMGet(ctx, projection.MetaKey(gen, part), projection.MetaFields()...).Result()
		if err != nil {
			return 0, fmt.Errorf("read cursor: %w", err)
		}
		m, err := projection.ParseMeta(fields)
		if err != nil || m.Cursor == 0 {
			return 0, err
		}
		low = min(low, m.Cursor)
	}
	return low, nil
}

// rebuild measures to the point where the new generation is built and proved equal to the log; the switch then waits for projectors.
func (p *projecting) rebuild(ctx context.Context) error {
	begun := time.Now()
	var elapsed time.Duration
	_, err := projector.Rebuild(ctx, p.projectorDeps(), 0, func(pr projector.Progress) {
		if pr.Stage == "switch" && elapsed == 0 {
			elapsed = time.Since(begun)
		}
	})
	if err != nil {
		return err
	}
	p.built.add("rate", rate(p.b.Links, elapsed))
	return nil
}

// check wants Redis to equal the log.
func (p *projecting) check(ctx context.Context) error {
	r, err := projector.Verify(ctx, p.projectorDeps())
	if err != nil {
		return err
	}
	if !r.Clean() {
		return fmt.Errorf("redis differs from the log: %v: %w", r.Counts, errAnswer)
	}
	return nil
}

func (p *projecting) table() *table {
	t := &table{
		Title:   fmt.Sprintf("Projector with %s links, beside pipelined SETs of the same values", show(p.b.Links)),
		Columns: []string{"what", "ratio", "per second"},
		Notes: []string{
			"apply: a projector from its start until Redis has every event, in order, with cursors and checksums",
			"rebuild: all links read from the log into a new generation, and the log read again to prove that they are equal",
		},
	}
	for _, c := range []struct {
		name string
		s    samples
	}{{"raw SETs", p.raw}, {"apply events", p.applied}, {"rebuild links", p.built}} {
		t.row(c.name, ratio(c.s["rate"], p.raw["rate"]), c.s.median("rate"))
	}
	return t
}
