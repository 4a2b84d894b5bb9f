CREATE TABLE IF NOT EXISTS redirector_totals{{.OnCluster}}
(
    redirector LowCardinality(String) COMMENT 'Instance that counted: one per process start',
    started DateTime64(6, 'UTC') COMMENT 'When the instance started, its clock' CODEC(ZSTD(1)),
    time DateTime64(6, 'UTC') COMMENT 'When it counted, its clock' CODEC(Delta, ZSTD(1)),
    stream_time DateTime64(6, 'UTC') COMMENT 'When the stream stored the message, NATS server clock' CODEC(Delta, ZSTD(1)),
    accepted UInt64 COMMENT 'Hits taken on since the start' CODEC(ZSTD(1)),
    acknowledged UInt64 COMMENT 'Hits the stream acknowledged since the start' CODEC(ZSTD(1)),
    dropped UInt64 COMMENT 'Hits dropped since the start' CODEC(ZSTD(1)),
    buffered UInt64 COMMENT 'Hits waiting in memory at this time' CODEC(ZSTD(1)),
    spilled UInt64 COMMENT 'Hits durable in the spill directory and not yet in the stream at this time' CODEC(ZSTD(1)),
    recovered UInt64 COMMENT 'Hits of earlier instances taken from the spill and acknowledged since the start' CODEC(ZSTD(1)),
    resent UInt64 COMMENT 'Hits sent more than once since the start' CODEC(ZSTD(1)),
    final Bool COMMENT 'The instance has drained and ended here',
    _stream LowCardinality(String) COMMENT 'JetStream stream the row came from',
    _gen LowCardinality(String) COMMENT 'Generation of that stream',
    _seq UInt64 COMMENT 'Stream sequence; (_stream, _gen, _seq) is in exactly one row of redirector_totals or quarantine' CODEC(Delta, ZSTD(1)),
    _until DateTime COMMENT 'End of the time in which the insert that brought the row was allowed, ClickHouse clock' CODEC(ZSTD(1)),
    INDEX i_seq _seq TYPE minmax GRANULARITY 1,
    CONSTRAINT fence CHECK nowInBlock() <= _until
)
ENGINE = {{.Engine "MergeTree"}}
ORDER BY (redirector, time)
SETTINGS {{.DedupWindow}} = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What each redirector counted: one row per report'
