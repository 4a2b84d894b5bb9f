package admin

import (
	"context"
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
	if len(terms) == 0 { // Links outlive their domain, and a website has links of its own; without any the name has to be known.
		if _, err := a.home(ctx, name); err != nil {
			return nil, a.problem(ctx, err)
		}
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
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy}
	return scan(ctx, s, cfg, func(m message) (bool, error) {
		agg, ev, err := event.Decode(m.Subject(), m.Data())
		if err != nil {
			return false, err
		}
		return m.pending > 0, do(agg, link.State{Revision: m.seq, Event: ev})
	})
}
