CREATE TABLE IF NOT EXISTS quarantine{{.OnCluster}}
(
    reason LowCardinality(String) COMMENT 'Why the message is here: undecodable, duplicate (a re-sent hit whose id is stored already)',
    detail String COMMENT 'The error, or where the first copy is' CODEC(ZSTD(1)),
    subject String COMMENT 'NATS subject of the message' CODEC(ZSTD(1)),
    headers String COMMENT 'NATS headers of the message, one "name: value" per line' CODEC(ZSTD(1)),
    payload String COMMENT 'Payload of the message, byte for byte' CODEC(ZSTD(1)),
    redirector LowCardinality(String) COMMENT 'Instance that recorded the hit; empty when it could not be decoded or the message is no hit',
    stream_time DateTime64(6, 'UTC') COMMENT 'When the stream stored the message, NATS server clock' CODEC(Delta, ZSTD(1)),
    _stream LowCardinality(String) COMMENT 'JetStream stream the row came from',
    _gen LowCardinality(String) COMMENT 'Generation of that stream',
    _seq UInt64 COMMENT 'Stream sequence; (_stream, _gen, _seq) is in exactly one row of quarantine or of the table it was meant for' CODEC(Delta, ZSTD(1)),
    _until DateTime COMMENT 'End of the time in which the insert that brought the row was allowed, ClickHouse clock' CODEC(ZSTD(1)),
    INDEX i_seq _seq TYPE minmax GRANULARITY 1,
    CONSTRAINT fence CHECK nowInBlock() <= _until
)
ENGINE = {{.Engine "MergeTree"}}
PARTITION BY toYYYYMM(stream_time)
ORDER BY (_stream, _seq)
SETTINGS {{.DedupWindow}} = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Messages that were set aside, with the reason; nothing is ever dropped silently'
