CREATE TABLE IF NOT EXISTS ingest_gaps{{.OnCluster}}
(
    stream LowCardinality(String) COMMENT 'JetStream stream with the hole',
    gen LowCardinality(String) COMMENT 'Generation of that stream',
    first UInt64 COMMENT 'First sequence that could not be read',
    last UInt64 COMMENT 'Last sequence that could not be read; 0 when it is not known (the stream was made again)',
    reason LowCardinality(String) COMMENT 'Why: trimmed (left the stream before it was stored), recreated (the stream was made again)',
    noticed DateTime64(6, 'UTC') COMMENT 'When ingest noticed, ingest clock'
)
ENGINE = {{.Engine "ReplacingMergeTree" "noticed"}}
ORDER BY (stream, gen, first)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Messages that left a stream before they were stored: what the numbers leave out. Read with FINAL'
