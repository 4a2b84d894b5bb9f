// Package load is the people around a Linkfold: visitors who follow links at a steady rate and remember what they were told, and an author
// who changes links all the while and remembers what was promised.
package load

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Crowd is a number of visitors. Every request carries an id of its own as the query parameter id.
type Crowd struct {
	Host     string   // the domain that they ask for
	Targets  []string // public listeners, host:port; a visitor stays with one until it does not answer
	Visitors int

	ids atomic.Uint64

	mu     sync.Mutex
	record Record
}

// Record is what the visitors have seen.
type Record struct {
	Redirected map[uint64]string // destination by request id
	Statuses   map[int]int       // other answers than 302
	Errors     int               // requests without an answer
	LastError  error
	Requests   int
	Times      map[int64]int // redirects by Unix second
	Slipped    int           // requests that were due and not sent, because all visitors were waiting for answers
	Busy       time.Duration // for how long requests were sent
}

// Rate is redirects per second.
func (r Record) Rate() float64 {
	if r.Busy <= 0 {
		return 0
	}
	return float64(len(r.Redirected)) / r.Busy.Seconds()
}

// Run sends rate requests a second for keys drawn at random until ctx ends or n requests were sent; n 0 is no limit. It returns when
// the last answer is there.
func (c *Crowd) Run(ctx context.Context, keys []string, rate, n int) {
	begun := time.Now()
	due := make(chan struct{}, rate/2+1) // half a second's worth: then visitors give up coming
	var all sync.WaitGroup
	for i := range c.Visitors {
		all.Go(func() { c.visit(keys, i, due) })
	}
	slipped := pace(ctx, due, rate, n)
	close(due)
	all.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record.Slipped += slipped
	c.record.Busy += time.Since(begun)
}

// pace says rate times a second that a request is due, and returns how often nobody was free.
func pace(ctx context.Context, due chan<- struct{}, rate, n int) (slipped int) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	begun := time.Now()
	for sent := 0; n == 0 || sent < n; {
		select {
		case <-ctx.Done():
			return slipped
		case <-tick.C:
		}
		for want := int(time.Since(begun).Seconds() * float64(rate)); sent < want && (n == 0 || sent < n); sent++ {
			select {
			case due <- struct{}{}:
			default:
				slipped++
			}
		}
	}
	return slipped
}

// visit is one visitor. Like a browser before a load balancer it comes back with a new request, elsewhere, when nobody answers.
func (c *Crowd) visit(keys []string, i int, due <-chan struct{}) {
	mine := newRecord()
	fronts := make([]*visitor, len(c.Targets))
	for t, address := range c.Targets {
		fronts[t] = &visitor{address: address, host: c.Host}
		defer fronts[t].close()
	}
	for range due {
		for range 2 {
			id := c.ids.Add(1)
			status, location, err := fronts[i%len(fronts)].visit(fmt.Sprintf("/%s?id=%d", keys[rand.IntN(len(keys))], id))
			mine.note(id, status, location, err)
			if err == nil {
				break
			}
			i++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record.add(mine)
}

// Record is what was seen in all runs so far that have ended. It is the caller's own.
func (c *Crowd) Record() Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := newRecord()
	r.add(c.record)
	return r
}

func newRecord() Record {
	return Record{Redirected: map[uint64]string{}, Statuses: map[int]int{}, Times: map[int64]int{}}
}

func (r *Record) note(id uint64, status int, location string, err error) {
	r.Requests++
	switch {
	case err != nil:
		r.Errors++
		r.LastError = err
	case status == 302:
		r.Redirected[id] = location
		r.Times[time.Now().Unix()]++
	default:
		r.Statuses[status]++
	}
}

func (r *Record) add(o Record) {
	if r.Redirected == nil {
		*r = newRecord()
	}
	maps.Copy(r.Redirected, o.Redirected)
	for s, n := range o.Statuses {
		r.Statuses[s] += n
	}
	for s, n := range o.Times {
		r.Times[s] += n
	}
	if o.LastError != nil {
		r.LastError = o.LastError
	}
	r.Errors += o.Errors
	r.Requests += o.Requests
	r.Slipped += o.Slipped
	r.Busy += o.Busy
}
