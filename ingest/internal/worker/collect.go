package worker

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"linkfold/ingest/internal/sink"
	"linkfold/ingest/internal/source"
)

// collector is step 3. It fills one batch while the worker stores the other, and hands it over when the worker is free
// and the batch is full or its first message has waited long enough: under load batches grow by themselves, when it is
// quiet a message waits MaxDelay at most. Nothing here is durable; a crash loses nothing but work.
type collector struct {
	w    *Worker
	gen  string
	in   chan source.Message
	out  chan *sink.Batch
	free chan *sink.Batch // the batches that nobody uses

	b      *sink.Batch
	next   uint64          // sequence that comes next
	carry  *source.Message // read, and not for this batch
	closed bool            // the batch takes no more
}

// inFlight is how many messages wait between the reader and the batch; it saves a switch of goroutines per message.
const inFlight = 1024

func newCollector(w *Worker, l *lease) *collector {
	c := &collector{
		w: w, gen: l.Gen, next: l.Done + 1,
		in: make(chan source.Message, inFlight), out: make(chan *sink.Batch), free: make(chan *sink.Batch, 2),
	}
	c.free <- sink.NewBatch(w.kind)
	c.free <- sink.NewBatch(w.kind)
	return c
}

// run collects until ctx ends or the stream cannot be read.
func (c *collector) run(ctx context.Context) error {
	c.w.Failpoints.Hit("ingest.collect.before")
	r, err := source.Open(ctx, c.w.JS, c.w.Stream, c.next)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(gctx, r.Close)
	defer stop()
	g.Go(func() error { return c.read(gctx, r) })
	g.Go(func() error { return c.collect(gctx) })
	return g.Wait()
}

func (c *collector) read(ctx context.Context, r *source.Reader) error {
	for {
		m, err := r.Next()
		if err != nil {
			return err
		}
		select {
		case c.in <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *collector) collect(ctx context.Context) error {
	linger := time.NewTimer(time.Hour)
	defer linger.Stop()
	if err := c.renew(ctx); err != nil {
		return err
	}
	for {
		in, out := c.in, c.out
		if c.closed {
			in = nil
		} else if wait := c.wait(); wait > 0 {
			out = nil
			linger.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-in:
			c.add(m)
			c.drain()
		case <-linger.C: // look again whether the batch is due
		case out <- c.b:
			c.w.Failpoints.Hit("ingest.collect.after")
			if err := c.renew(ctx); err != nil {
				return err
			}
		}
	}
}

// drain takes what has arrived, without the cost of a full select per message.
func (c *collector) drain() {
	for range inFlight {
		if c.closed {
			return
		}
		select {
		case m := <-c.in:
			c.add(m)
		default:
			return
		}
	}
}

// wait is how long the batch should still wait for messages; not positive when it is due.
func (c *collector) wait() time.Duration {
	if c.b.Len() == 0 {
		return time.Hour
	}
	return c.w.MaxDelay - time.Since(c.b.Opened)
}

// renew begins the next batch, with the message that did not fit the last one.
func (c *collector) renew(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case c.b = <-c.free:
	}
	c.b.Reset(c.w.Stream, c.gen, c.next)
	c.closed = false
	if m := c.carry; m != nil {
		c.carry = nil
		c.add(*m)
	}
	return nil
}

// add puts a message into the batch, or closes the batch and keeps the message for the next one.
func (c *collector) add(m source.Message) {
	switch {
	case m.Seq < c.next: // the reader began anew and repeats itself
		return
	case m.Seq > c.next && c.b.Len() == 0: // a hole: a batch of its own, before the message
		c.b.Gap, c.b.Range.Last = true, m.Seq-1
		c.next = m.Seq
		c.carry, c.closed = &m, true
		return
	case m.Seq > c.next || !c.b.Fits(m):
		c.carry, c.closed = &m, true
		return
	}
	c.b.Add(m)
	c.next++
	c.closed = c.b.Len() >= c.w.MaxRows || c.b.Bytes >= c.w.MaxBytes
}
