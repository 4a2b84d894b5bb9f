package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"linkfold/projector/internal/source"
	"linkfold/projector/internal/target"
)

const (
	queueEvents  = 4096    // decoded events between reader and writer
	batchEvents  = 8192    // in one round trip to Redis
	batchBytes   = 4 << 20 // in one round trip to Redis
	redisTimeout = 10 * time.Second
	// tickEvery is how often all partitions are told how far the stream was read, and asked whether they lost anything.
	tickEvery = 250 * time.Millisecond
	// pollEvery is how often the stream is asked for its end and identity.
	pollEvery = time.Second
	// stalledPolls without any event, though the stream has more, are trouble. The server may take a second or two to find the last
	// events of millions of subjects.
	stalledPolls = 5
)

var (
	errDone        = errors.New("reached the end")
	errHidden      = errors.New("an unreadable event may hide an older one")
	errStalled     = errors.New("events have stopped coming")
	errOtherStream = errors.New("stream was made anew")
)

// session is one run from the cursors until something goes wrong.
type session struct {
	f      *Feeder
	to     target.Target
	reader *source.Reader
	plan   *plan
	sweep  bool
	events chan source.Event
	poll   chan source.Info

	polled uint64 // plan.seen at the last poll
	quiet  int    // polls since plan.seen changed
}

// session feeds until an error, which is nil only at Until.
func (f *Feeder) session(ctx context.Context) error {
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer s.reader.Close(ctx)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.read(gctx) })
	g.Go(func() error { return s.pollStream(gctx) })
	g.Go(func() error { return s.write(gctx) })
	if err := g.Wait(); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// open reads cursors, then asks the stream: in this order no cursor can be ahead of the stream's end, unless the stream is not
// the one that the cursors are from.
func (f *Feeder) open(ctx context.Context) (*session, error) {
	if f.Wanted != nil {
		if err := f.Wanted(ctx); err != nil {
			return nil, err
		}
	}
	octx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	s := &session{f: f, to: f.target(), events: make(chan source.Event, queueEvents), poll: make(chan source.Info)}
	metas, err := s.to.Metas(octx)
	if err != nil {
		return nil, err
	}
	info, err := source.Ask(octx, f.JS)
	if err != nil {
		return nil, err
	}
	if err := compare(metas, info); err != nil {
		return nil, err
	}
	low := metas.Lowest()
	s.sweep = low == 0 && !f.full
	if s.sweep {
		s.reader, err = source.OpenLatest(octx, f.JS)
	} else {
		s.reader, err = source.Open(octx, f.JS, low+1)
	}
	if err != nil {
		return nil, err
	}
	if s.reader.Info.Life != info.Life {
		s.reader.Close(ctx)
		return nil, errOtherStream
	}
	goal := uint64(0)
	if s.sweep {
		goal = s.reader.Info.Last
	}
	s.plan = newPlan(metas, goal)
	s.publish(s.reader.Info.Last)
	return s, nil
}

// compare finds partitions that belong to another stream: by its identity, or because they are ahead of it.
func compare(metas *target.Metas, info source.Info) error {
	for p, m := range metas {
		if m.Life != "" && m.Life != info.Life {
			return fmt.Errorf("partition %d is from another stream %s: %w", p, m.Life, ErrSpoiled)
		}
		if m.Cursor > info.Last {
			return fmt.Errorf("partition %d is at %d, the stream ends at %d: %w", p, m.Cursor, info.Last, ErrSpoiled)
		}
	}
	return nil
}

// read moves events from the stream to the queue.
func (s *session) read(ctx context.Context) error {
	for {
		e, err := s.reader.Next(ctx)
		if err != nil {
			return err
		}
		if e.Err != nil {
			s.f.Metrics.bad.Inc()
			s.f.Log.Error("event skipped", "seq", e.Seq, "generation", s.f.Generation, "err", e.Err)
			if s.sweep && e.Hides() && e.Seq <= s.reader.Info.Last {
				s.f.full = true
				return errHidden
			}
		}
		select {
		case s.events <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pollStream passes on what the stream says of itself. While NATS is away there is nothing to say: the reader notices.
func (s *session) pollStream(ctx context.Context) error {
	for sleep(ctx, pollEvery) {
		info, err := source.Ask(ctx, s.f.JS)
		if err != nil {
			continue
		}
		select {
		case s.poll <- info:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// write applies what is in the queue, at once when it is little and in large batches when it is much.
func (s *session) write(ctx context.Context) error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	if err := s.flush(ctx, true); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-s.events:
			s.add(e)
			s.drain()
			if err := s.flush(ctx, s.plan.swept() || s.atUntil()); err != nil {
				return err
			}
		case <-tick.C:
			if err := s.flush(ctx, true); err != nil {
				return err
			}
		case info := <-s.poll:
			if err := s.check(info); err != nil {
				return err
			}
		}
	}
}

// add takes an event, unless it is beyond the end that was asked for.
func (s *session) add(e source.Event) {
	if until := s.f.Until; until > 0 && e.Seq > until && !s.sweep {
		s.plan.seen = max(s.plan.seen, until)
		return
	}
	s.plan.add(e)
	s.f.keysLeft.Store(e.Pending)
}

// drain adds what else has arrived, up to one batch.
func (s *session) drain() {
	for s.plan.items < batchEvents && s.plan.bytes < batchBytes {
		select {
		case e := <-s.events:
			s.add(e)
		default:
			return
		}
	}
}

func (s *session) atUntil() bool { return s.f.Until > 0 && s.plan.seen >= s.f.Until }

// flush makes the calls that are due. A crash before, in or after it costs nothing: the cursors say what was done.
func (s *session) flush(ctx context.Context, all bool) error {
	calls := s.plan.calls(all)
	if len(calls) == 0 {
		return nil
	}
	rctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	begun := time.Now()
	answers, err := s.to.Apply(rctx, s.reader.Info.Life, calls)
	if errors.Is(err, target.ErrFunction) {
		// This Redis is new, or lost its functions with its data. The same calls again: if data was lost, they say so.
		if err = target.Load(rctx, s.f.Redis); err == nil {
			answers, err = s.to.Apply(rctx, s.reader.Info.Life, calls)
		}
	}
	if err != nil {
		return err
	}
	applied, err := s.plan.settle(calls, answers)
	s.f.Metrics.flushed(applied, time.Since(begun))
	s.f.keysDone.Add(uint64(applied))
	if err != nil {
		return err
	}
	s.publish(s.f.Status().Target)
	if s.f.Until > 0 && s.plan.lowest() >= s.f.Until {
		return errDone
	}
	return nil
}

// publish updates the status; live stays true once it was reached.
func (s *session) publish(end uint64) {
	old := s.f.Status()
	low := s.plan.lowest()
	end = max(end, s.plan.seen)
	s.f.status.Store(&Status{Cursor: low, Target: end, Live: old.Live || low >= s.reader.Info.Last})
}

// check compares what the stream says with what has arrived.
func (s *session) check(info source.Info) error {
	s.quiet++
	if s.plan.seen != s.polled || len(s.events) > 0 {
		s.polled, s.quiet = s.plan.seen, 0
	}
	switch {
	case info.Life != s.reader.Info.Life:
		return errOtherStream
	case s.quiet > 0 && info.Last < s.plan.seen:
		return fmt.Errorf("stream ends at %d, events were read up to %d: %w", info.Last, s.plan.seen, errOtherStream)
	case s.quiet >= stalledPolls && info.Last > s.plan.seen && !s.atUntil():
		return errStalled
	}
	s.publish(info.Last)
	return nil
}
