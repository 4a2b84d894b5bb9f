package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/event"
	"linkfold/schema/link"
	"linkfold/schema/projection"
	"linkfold/schema/stream"
)

// Ruleset says which links a domain or a website has, in one number.
type Ruleset struct {
	Domain   string `json:"domain"`
	Links    int    `json:"links" doc:"Links that are there, inactive ones included."`
	Deleted  int    `json:"deleted" doc:"Links that were deleted; their keys are in the checksum, too."`
	Checksum string `json:"checksum" doc:"Sum of the checksums of all links, as 12 hexadecimal digits. linkfold projector verify --rulesets prints the same for Redis."`
	Revision uint64 `json:"revision" doc:"Newest event that is counted."`
}

type rulesetOutput struct{ Body Ruleset }

// ruleset folds the log: only the newest event of each link is read.
func (a *api) ruleset(ctx context.Context, in *domainPath) (*rulesetOutput, error) {
	name, err := link.NormalizeDomain(in.Domain)
	if err == nil {
		err = a.host(ctx, name) // A website has links of its own.
	}
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &rulesetOutput{Body: Ruleset{Domain: name}}
	terms, deleted := map[string]uint64{}, map[string]bool{} // by key
	sum := uint64(0)
	err = a.writer.Each(ctx, stream.LinksOf(out.Body.Domain), func(agg stream.Aggregate, s link.State) error {
		value, err := projection.Value(agg, s.Revision, s.Event)
		if err != nil {
			return err
		}
		_, term, _, err := projection.Split(value)
		if err != nil {
			return err
		}
		sum = projection.AddChecksum(sum, term-terms[agg.Key]) // A link that changes meanwhile comes twice.
		terms[agg.Key] = term
		out.Body.Revision = max(out.Body.Revision, s.Revision)
		if deleted[agg.Key] = s.Event.GetLink().GetDeleted(); !deleted[agg.Key] {
			delete(deleted, agg.Key)
		}
		return nil
	})
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out.Body.Links, out.Body.Deleted = len(terms)-len(deleted), len(deleted)
	out.Body.Checksum = projection.FormatChecksum(sum)
	return out, nil
}

// Each calls do with the newest event of every aggregate on a subject filter, in the order of the stream, and then with the events that came
// meanwhile: what it has told in the end is the state at the last one.
func (w *Writer) Each(ctx context.Context, filter string, do func(stream.Aggregate, link.State) error) error {
	s, err := w.js.Stream(ctx, stream.Links)
	if err != nil {
		return fmt.Errorf("open stream %s: %w", stream.Links, err)
	}
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
	})
	if err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return fmt.Errorf("read consumer: %w", err)
	}
	if info.NumPending == 0 {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("start consumer: %w", err)
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	for {
		m, err := messages.Next()
		if err != nil {
			return fmt.Errorf("read events: %w", errors.Join(err, ctx.Err()))
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		agg, ev, err := event.Decode(m.Subject(), m.Data())
		if err != nil {
			return err
		}
		if err := do(agg, link.State{Revision: meta.Sequence.Stream, Event: ev}); err != nil {
			return err
		}
		if meta.NumPending == 0 {
			return nil
		}
	}
}
