CREATE TABLE IF NOT EXISTS domain_events{{.OnCluster}}
(
    type LowCardinality(String) COMMENT 'What happened: DomainConfigured, DomainRemoved',
    time DateTime64(6, 'UTC') COMMENT 'When the writer made the event, writer clock (Event.time_us)' CODEC(Delta, ZSTD(1)),
    stream_time DateTime64(6, 'UTC') COMMENT 'When the stream stored the event, NATS server clock; orders events' CODEC(Delta, ZSTD(1)),
    actor LowCardinality(String) COMMENT 'Who did it: a token name, system or a service',
    reason String COMMENT 'Why, in the words of the actor; may be empty' CODEC(ZSTD(1)),
    command_id String COMMENT 'Idempotency key of the command' CODEC(ZSTD(1)),
    previous_revision UInt64 COMMENT 'Revision of the domain before this event; 0 for the first' CODEC(ZSTD(1)),
    revision UInt64 ALIAS _seq COMMENT 'Revision of the domain after this event: its LINKS sequence',
    domain LowCardinality(String) COMMENT 'Name of the domain',
    tracking LowCardinality(String) COMMENT 'Tracking policy after the event: unspecified (cookie), cookie, hash, none',
    removed Bool COMMENT 'The domain is removed after the event',
    created DateTime64(6, 'UTC') COMMENT 'When the domain was configured first (Domain.created_us)' CODEC(ZSTD(1)),
    _stream LowCardinality(String) COMMENT 'JetStream stream the row came from',
    _gen LowCardinality(String) COMMENT 'Generation of that stream',
    _seq UInt64 COMMENT 'Stream sequence; (_stream, _gen, _seq) is in exactly one row of link_events, domain_events or quarantine' CODEC(Delta, ZSTD(1)),
    _until DateTime COMMENT 'End of the time in which the insert that brought the row was allowed, ClickHouse clock' CODEC(ZSTD(1)),
    INDEX i_seq _seq TYPE minmax GRANULARITY 1,
    CONSTRAINT fence CHECK nowInBlock() <= _until
)
ENGINE = {{.Engine "MergeTree"}}
ORDER BY (domain, _seq)
SETTINGS {{.DedupWindow}} = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Whole history of every domain: one row per event, with the full configuration after it'
