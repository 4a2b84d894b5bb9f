package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/stream"
)

// looseHits is the largest batch that is sent as single messages, each acknowledged on its own. An atomic batch has one fsync but
// a fixed cost of about 2.5 ms in the server, a single message about 0.2 ms (PIPELINE.md 1.2): below this size singles are quicker.
const looseHits = 8

// batchExists is the server's answer to an atomic batch whose first message id it has seen: the batch is stored.
const batchExists = 10201

// errUnsettled means that no answer came in time: the batch may or may not be stored.
var errUnsettled = errors.New("no acknowledgement in time")

// errStored means that an earlier attempt, thought to have failed, had stored the batch.
var errStored = errors.New("batch is stored already")

// publisher sends batches one at a time. It is for one goroutine.
type publisher struct {
	nc      *nats.Conn
	subject string
	inbox   string // replies go to <inbox>.<attempt>.<index>
	sub     *nats.Subscription
	attempt uint64
}

func newPublisher(nc *nats.Conn, subject string) (*publisher, error) {
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox + ".*.*")
	if err != nil {
		return nil, fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	return &publisher{nc: nc, subject: subject, inbox: inbox, sub: sub}, nil
}

// close drops the subscription; on a closed connection there is nothing to drop.
func (p *publisher) close() { _ = p.sub.Unsubscribe() }

// publish sends b, with message ids that are the same at every attempt, and waits for the stream to acknowledge all of it. Any error means that some or all of b may be stored or not:
// send it again with resent set.
func (p *publisher) publish(ctx context.Context, b *batch, wait time.Duration, resent bool) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	p.attempt++
	attempt := strconv.FormatUint(p.attempt, 10)
	prefix := p.inbox + "." + attempt + "."
	atomic := b.len() > looseHits
	for i := range b.len() {
		m := &nats.Msg{Subject: p.subject, Data: b.hit(i)}
		if atomic {
			m.Header = batchHeader(b, i)
		} else {
			m.Header = nats.Header{jetstream.MsgIDHeader: {b.id + "." + strconv.Itoa(i)}}
		}
		if resent {
			m.Header[stream.HeaderResent] = []string{"1"}
		}
		if !atomic || i == 0 || i == b.len()-1 {
			m.Reply = prefix + strconv.Itoa(i)
		}
		if err := p.nc.PublishMsg(m); err != nil {
			return fmt.Errorf("publish hits: %w", err)
		}
	}
	if atomic {
		return p.await(ctx, prefix, 1, b.len()-1)
	}
	return p.await(ctx, prefix, b.len(), 0)
}

// batchHeader places message i in the atomic batch (ADR-50). Only the first carries a message id: the server remembers one id
// per batch, and refuses the whole batch when it sees it again.
func batchHeader(b *batch, i int) nats.Header {
	h := make(nats.Header, 4)
	h["Nats-Batch-Id"] = []string{b.id}
	h["Nats-Batch-Sequence"] = []string{strconv.Itoa(i + 1)}
	if i == 0 {
		h[jetstream.MsgIDHeader] = []string{b.id}
	}
	if i == b.len()-1 {
		h["Nats-Batch-Commit"] = []string{"1"}
	}
	return h
}

// await reads replies of this attempt until n of index from or higher are positive. Replies of earlier attempts are late news
// about batches that were shelved since: they are sent again anyway, and recognised.
func (p *publisher) await(ctx context.Context, prefix string, n, from int) error {
	for n > 0 {
		m, err := p.sub.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("%w: %v", errUnsettled, err)
		}
		index, ok := strings.CutPrefix(m.Subject, prefix)
		if !ok {
			continue
		}
		err = ackError(m)
		if errors.Is(err, errStored) {
			return nil
		}
		if err != nil {
			return err
		}
		if i, err := strconv.Atoi(index); err == nil && i >= from {
			n--
		}
	}
	return nil
}

// ackError is what the server says in a reply: nil for an acknowledgement and for the empty reply that opens an atomic batch,
// errStored when the whole batch is in the stream since an earlier attempt.
func ackError(m *nats.Msg) error {
	if status := m.Header.Get("Status"); status != "" {
		return fmt.Errorf("publish hits: no stream listens (status %s)", status)
	}
	if !bytes.Contains(m.Data, []byte(`"error"`)) {
		return nil
	}
	var reply struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		return fmt.Errorf("decode acknowledgement: %w", err)
	}
	if reply.Error == nil {
		return nil
	}
	if reply.Error.ErrorCode == batchExists {
		return errStored
	}
	return fmt.Errorf("publish hits: %w", reply.Error)
}
