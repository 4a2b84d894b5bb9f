// Package clickhouse is the contract between Linkfold and its ClickHouse: the tables and the steps that make them, the
// one place that says how an event becomes a row, and the queries that say which messages of a stream are stored
// (DESIGN.md §6 and §7, PIPELINE.md 2.4).
//
// Migrate brings a database up to this code. HitRows, LinkRows, DomainRows, TotalsRows and QuarantineRows collect rows
// column by column; Insert sends one such block, fenced by the server's clock. Count, Stored and Top let the data decide
// after an uncertain insert. Nothing here keeps state or starts goroutines; every call is safe for concurrent use on one
// connection pool.
package clickhouse

// Names of tables and views.
const (
	Hits         = "hits"
	LinkEvents   = "link_events"
	DomainEvents = "domain_events"
	Links        = "links"
	Gaps         = "ingest_gaps"
	Quarantine   = "quarantine"
	Totals       = "redirector_totals"
	Ledger       = "ledger"
)

// Reasons of rows in quarantine; a closed set, used as a metric label too.
const (
	// ReasonUndecodable is a message that is not the event it should be.
	ReasonUndecodable = "undecodable"
	// ReasonDuplicate is a re-sent hit whose id is stored under a lower sequence or in another stream.
	ReasonDuplicate = "duplicate"
)

// Reasons of rows in ingest_gaps.
const (
	// GapTrimmed: the messages left the stream before they were stored.
	GapTrimmed = "trimmed"
	// GapRecreated: the stream was made again, so what its last life held after the cursor cannot be read.
	GapRecreated = "recreated"
)
