// Package enrich derives columns from a hit that the hit itself does not carry (DESIGN.md §6).
//
// A Step is a pure function from a hit to some fields of a row: no clock, no network, no state, so a message gives the
// same row whenever it is read again. Apply runs all steps in the order of the list in this file; a later step sees what
// an earlier one has filled in. To add a step, write it in a file of its own, append it to the list, raise Version, and
// add its columns to schema/clickhouse (a structure step, Enrichment, and HitRows).
package enrich

import (
	"linkfold/schema/clickhouse"
	"linkfold/schema/linkfoldv1"
)

// Version is the version of the whole chain; it is stored in hits.enrichment. Raise it with every change of what a step
// gives.
const Version = 1

// Step fills in some fields of e from the hit. It must not keep or change the hit, and must give the same for the same
// hit, for ever, within one Version.
type Step func(h *linkfoldv1.Hit, e *clickhouse.Enrichment)

// steps is the order in which they run.
func steps() [2]Step { return [...]Step{Referrer, UTM} }

// Apply runs the chain. e is overwritten.
func Apply(h *linkfoldv1.Hit, e *clickhouse.Enrichment) {
	*e = clickhouse.Enrichment{Version: Version}
	for _, s := range steps() {
		s(h, e)
	}
}
