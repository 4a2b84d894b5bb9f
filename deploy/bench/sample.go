package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// publishGroup is how many messages share one atomic batch, the most that the server takes.
const publishGroup = 1000

// sampleHits are the clicks of linkfold's sample data as hits, without ids and times.
func (b *bench) sampleHits() ([]*linkfoldv1.Hit, error) {
	data, err := os.ReadFile(filepath.Join(b.root, "deploy", "linkfold", "internal", "sample", "usagov.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("read sample clicks: %w", err)
	}
	var hits []*linkfoldv1.Hit
	for line := range bytes.Lines(data) {
		var c struct{ G, U, A, R, AL, H string }
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("read sample clicks: %w", err)
		}
		if c.G != "" {
			hits = append(hits, &linkfoldv1.Hit{
				Domain: c.H, Key: c.G, LinkRev: 1, Outcome: linkfoldv1.Outcome_OUTCOME_REDIRECTED, Status: 302, Destination: c.U, Method: "GET",
				Host: c.H, Path: "/" + c.G, Referrer: c.R, UserAgent: c.A, AcceptLanguage: c.AL, Source: linkfoldv1.Source_SOURCE_LINK, LatencyUs: 40,
				Redirector: "rbench", Tracking: linkfoldv1.Tracking_TRACKING_COOKIE,
			})
		}
	}
	return hits, nil
}

// hitAt is hit i of an endless sequence of distinct hits made of the sample.
func hitAt(sample []*linkfoldv1.Hit, i int, now time.Time) (*linkfoldv1.Hit, error) {
	h := proto.CloneOf(sample[i%len(sample)])
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make id: %w", err)
	}
	h.Id, h.TimeUs, h.VisitorDay = id[:], now.Add(time.Duration(i)*time.Microsecond).UnixMicro(), uint64(i)*0x9E3779B97F4A7C15
	h.Person = &linkfoldv1.Person{ClientIp: []byte{10, byte(i >> 16), byte(i >> 8), byte(i)}, CookieId: id.String()}
	return h, nil
}

// publisher puts many messages into a stream, one fsync per group.
type publisher struct {
	nc    *nats.Conn
	group string
	n     int
	last  *nats.Msg // not sent yet: it commits the group if it is the last
}

func (p *publisher) add(m *nats.Msg) error {
	if p.last != nil {
		if err := p.send(p.last, p.n == publishGroup); err != nil {
			return err
		}
	}
	p.last = m
	return nil
}

// finish commits what was added.
func (p *publisher) finish() error {
	if p.last == nil {
		return nil
	}
	m := p.last
	p.last = nil
	return p.send(m, true)
}

// send sends message n of a group. The first and the last are answered; an answer with content to the first, or an error, is a refusal.
func (p *publisher) send(m *nats.Msg, commit bool) error {
	p.n = max(p.n, 1)
	if p.n == 1 {
		p.group = uuid.NewString()
	}
	first := p.n == 1
	if m.Header == nil {
		m.Header = nats.Header{}
	}
	m.Header["Nats-Batch-Id"] = []string{p.group}
	m.Header["Nats-Batch-Sequence"] = []string{strconv.Itoa(p.n)}
	p.n++
	if commit {
		m.Header["Nats-Batch-Commit"] = []string{"1"}
		p.n = 1
	}
	if !first && !commit {
		return p.nc.PublishMsg(m)
	}
	reply, err := p.nc.RequestMsg(m, 30*time.Second)
	if err != nil {
		return fmt.Errorf("publish group: %w", err)
	}
	if bytes.Contains(reply.Data, []byte(`"error"`)) {
		return fmt.Errorf("publish group: %s", reply.Data)
	}
	return nil
}

// prefill puts n sample hits into the stream; made is called with each of them.
func (w *world) prefill(ctx context.Context, sample []*linkfoldv1.Hit, n int, made func(*linkfoldv1.Hit)) error {
	p := &publisher{nc: w.js.Conn()}
	now := time.Now()
	for i := range n {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h, err := hitAt(sample, i, now)
		if err != nil {
			return err
		}
		data, err := proto.Marshal(h)
		if err != nil {
			return fmt.Errorf("encode hit: %w", err)
		}
		if err := p.add(&nats.Msg{Subject: stream.HitSubject(0), Data: data}); err != nil {
			return err
		}
		made(h)
	}
	return p.finish()
}
