CREATE TABLE IF NOT EXISTS hits ON CLUSTER `main`
(
    id UUID COMMENT 'UUIDv7 given by the redirector; a hit that was sent twice keeps it (Hit.id)',
    time DateTime64(6, 'UTC') COMMENT 'When the request arrived, redirector clock (Hit.time_us)' CODEC(Delta, ZSTD(1)),
    stream_time DateTime64(6, 'UTC') COMMENT 'When the stream stored the hit, NATS server clock; partitions follow it' CODEC(Delta, ZSTD(1)),
    domain LowCardinality(String) COMMENT 'Domain the host resolved to; empty when unknown (Hit.domain)',
    key String COMMENT 'Key of the link as asked for (Hit.key)' CODEC(ZSTD(1)),
    link_rev UInt64 COMMENT 'Revision of the link that answered: its LINKS sequence; 0 when none did. Joins link_events.revision' CODEC(ZSTD(1)),
    outcome LowCardinality(String) COMMENT 'What the redirector decided: redirected, not_found, inactive, unknown_domain, not_implemented, rate_limited, bad_request, unavailable',
    status UInt16 COMMENT 'HTTP status that was sent' CODEC(ZSTD(1)),
    method LowCardinality(String) COMMENT 'HTTP request method',
    source LowCardinality(String) COMMENT 'How the visitor came by the link: link, qr, api',
    tracking LowCardinality(String) COMMENT 'Tracking policy in force for this hit, after Sec-GPC: cookie, hash, none',
    destination String COMMENT 'Location header that was sent; empty unless redirected' CODEC(ZSTD(1)),
    host String COMMENT 'Host header' CODEC(ZSTD(1)),
    path String COMMENT 'Path as it stood in the request line, without the query' CODEC(ZSTD(1)),
    query String COMMENT 'Query of the request line, without the question mark' CODEC(ZSTD(1)),
    referrer String COMMENT 'Referer header' CODEC(ZSTD(1)),
    referrer_host String COMMENT 'Enrichment: host of the referrer in lower case, without port and leading www.; empty when there is none' CODEC(ZSTD(1)),
    utm_source String COMMENT 'Enrichment: utm_source of the request query, else of the destination' CODEC(ZSTD(1)),
    utm_medium String COMMENT 'Enrichment: utm_medium, likewise' CODEC(ZSTD(1)),
    utm_campaign String COMMENT 'Enrichment: utm_campaign, likewise' CODEC(ZSTD(1)),
    utm_term String COMMENT 'Enrichment: utm_term, likewise' CODEC(ZSTD(1)),
    utm_content String COMMENT 'Enrichment: utm_content, likewise' CODEC(ZSTD(1)),
    user_agent String COMMENT 'User-Agent header' CODEC(ZSTD(1)),
    accept_language String COMMENT 'Accept-Language header' CODEC(ZSTD(1)),
    sec_purpose String COMMENT 'Sec-Purpose header (FetchHints)' CODEC(ZSTD(1)),
    purpose String COMMENT 'Purpose header (FetchHints)' CODEC(ZSTD(1)),
    sec_fetch_site String COMMENT 'Sec-Fetch-Site header (FetchHints)' CODEC(ZSTD(1)),
    sec_fetch_mode String COMMENT 'Sec-Fetch-Mode header (FetchHints)' CODEC(ZSTD(1)),
    sec_fetch_dest String COMMENT 'Sec-Fetch-Dest header (FetchHints)' CODEC(ZSTD(1)),
    sec_fetch_user String COMMENT 'Sec-Fetch-User header (FetchHints)' CODEC(ZSTD(1)),
    range String COMMENT 'Range header (FetchHints)' CODEC(ZSTD(1)),
    gpc Bool COMMENT 'Sec-GPC was 1 (FetchHints)' CODEC(ZSTD(1)),
    latency_us UInt32 COMMENT 'From the first byte read to the decision, microseconds, redirector clock' CODEC(ZSTD(1)),
    redirector LowCardinality(String) COMMENT 'Instance that answered: one per process start. Joins ledger.redirector',
    client_ip IPv6 COMMENT 'Address of the visitor, IPv4 mapped; :: when not kept. Personal: emptied 90 days after stream_time' CODEC(ZSTD(1)) TTL toDateTime(stream_time) + INTERVAL 90 DAY,
    cookie_id String COMMENT 'Tracking cookie; empty when not kept. Personal: emptied 90 days after stream_time' CODEC(ZSTD(1)) TTL toDateTime(stream_time) + INTERVAL 90 DAY,
    visitor_day UInt64 COMMENT 'Salted hash of the visitor, the salt living one day; 0 when the policy forbids it' CODEC(NONE),
    enrichment UInt16 COMMENT 'Version of the enrichment chain that filled the enrichment columns' CODEC(ZSTD(1)),
    _stream LowCardinality(String) COMMENT 'JetStream stream the row came from',
    _gen LowCardinality(String) COMMENT 'Generation of that stream: changes when the stream is made again, sequences then start over',
    _seq UInt64 COMMENT 'Stream sequence; (_stream, _gen, _seq) is in exactly one row of hits or quarantine' CODEC(Delta, ZSTD(1)),
    _until DateTime COMMENT 'End of the time in which the insert that brought the row was allowed, ClickHouse clock' CODEC(ZSTD(1)),
    INDEX i_seq _seq TYPE minmax GRANULARITY 1,
    CONSTRAINT fence CHECK nowInBlock() <= _until,
    PROJECTION by_hour (SELECT domain, key, toStartOfHour(time), outcome, count() GROUP BY domain, key, toStartOfHour(time), outcome),
    PROJECTION by_redirector (SELECT redirector, count() GROUP BY redirector)
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(stream_time)
ORDER BY (domain, key, time)
SETTINGS replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Every request that reached a redirector, one row each, stored exactly once'
;

CREATE TABLE IF NOT EXISTS link_events ON CLUSTER `main`
(
    type LowCardinality(String) COMMENT 'What happened: LinkCreated, LinkRetargeted, LinkChanged, LinkDeactivated, LinkReactivated, LinkDeleted',
    time DateTime64(6, 'UTC') COMMENT 'When the writer made the event, writer clock (Event.time_us)' CODEC(Delta, ZSTD(1)),
    stream_time DateTime64(6, 'UTC') COMMENT 'When the stream stored the event, NATS server clock; orders events' CODEC(Delta, ZSTD(1)),
    actor LowCardinality(String) COMMENT 'Who did it: a token name, system or a service',
    reason String COMMENT 'Why, in the words of the actor; may be empty' CODEC(ZSTD(1)),
    command_id String COMMENT 'Idempotency key of the command' CODEC(ZSTD(1)),
    previous_revision UInt64 COMMENT 'Revision of the link before this event; 0 for the first' CODEC(ZSTD(1)),
    revision UInt64 ALIAS _seq COMMENT 'Revision of the link after this event: its LINKS sequence. hits.link_rev joins it',
    domain LowCardinality(String) COMMENT 'Domain of the link',
    key String COMMENT 'Key of the link' CODEC(ZSTD(1)),
    destination String COMMENT 'Destination after the event: absolute URL' CODEC(ZSTD(1)),
    inactive Bool COMMENT 'The link is switched off after the event',
    deleted Bool COMMENT 'The link is deleted after the event',
    title String COMMENT 'Title after the event' CODEC(ZSTD(1)),
    tags Array(LowCardinality(String)) COMMENT 'Tags after the event',
    created DateTime64(6, 'UTC') COMMENT 'When the link was made (Link.created_us)' CODEC(ZSTD(1)),
    _stream LowCardinality(String) COMMENT 'JetStream stream the row came from',
    _gen LowCardinality(String) COMMENT 'Generation of that stream',
    _seq UInt64 COMMENT 'Stream sequence; (_stream, _gen, _seq) is in exactly one row of link_events, domain_events or quarantine' CODEC(Delta, ZSTD(1)),
    _until DateTime COMMENT 'End of the time in which the insert that brought the row was allowed, ClickHouse clock' CODEC(ZSTD(1)),
    INDEX i_seq _seq TYPE minmax GRANULARITY 1,
    CONSTRAINT fence CHECK nowInBlock() <= _until
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (domain, key, _seq)
SETTINGS replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Whole history of every link: one row per event, with the full state after it'
;

CREATE TABLE IF NOT EXISTS domain_events ON CLUSTER `main`
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
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (domain, _seq)
SETTINGS replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Whole history of every domain: one row per event, with the full configuration after it'
;

CREATE VIEW IF NOT EXISTS links ON CLUSTER `main` AS
SELECT domain, key, destination, inactive, deleted, title, tags, created, _seq AS revision, type AS last_event, actor AS last_actor, stream_time AS changed
FROM link_events
ORDER BY domain, key, stream_time DESC, _seq DESC
LIMIT 1 BY domain, key
COMMENT 'Newest state of every link, deleted ones included'
;

CREATE VIEW IF NOT EXISTS links_at ON CLUSTER `main` AS
SELECT domain, key, destination, inactive, deleted, title, tags, created, _seq AS revision, type AS last_event, actor AS last_actor, stream_time AS changed
FROM link_events
WHERE stream_time <= {moment:DateTime64(6, 'UTC')}
ORDER BY domain, key, stream_time DESC, _seq DESC
LIMIT 1 BY domain, key
COMMENT 'State of every link at a moment: SELECT * FROM links_at(moment = ''2026-01-31 12:00:00'')'
;

CREATE TABLE IF NOT EXISTS ingest_gaps ON CLUSTER `main`
(
    stream LowCardinality(String) COMMENT 'JetStream stream with the hole',
    gen LowCardinality(String) COMMENT 'Generation of that stream',
    first UInt64 COMMENT 'First sequence that could not be read',
    last UInt64 COMMENT 'Last sequence that could not be read; 0 when it is not known (the stream was made again)',
    reason LowCardinality(String) COMMENT 'Why: trimmed (left the stream before it was stored), recreated (the stream was made again)',
    noticed DateTime64(6, 'UTC') COMMENT 'When ingest noticed, ingest clock'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', noticed)
ORDER BY (stream, gen, first)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Messages that left a stream before they were stored: what the numbers leave out. Read with FINAL'
;

CREATE TABLE IF NOT EXISTS quarantine ON CLUSTER `main`
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
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(stream_time)
ORDER BY (_stream, _seq)
SETTINGS replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Messages that were set aside, with the reason; nothing is ever dropped silently'
;

CREATE TABLE IF NOT EXISTS redirector_totals ON CLUSTER `main`
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
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (redirector, time)
SETTINGS replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'What each redirector counted: one row per report'
;

CREATE VIEW IF NOT EXISTS ledger ON CLUSTER `main` AS
SELECT
    redirector,
    max(r_started) AS started,
    max(r_time) AS reported,
    max(r_final) AS final,
    max(r_accepted) AS accepted_reported,
    if(final, accepted_reported, greatest(accepted_reported, stored + quarantined + dropped)) AS accepted,
    accepted - accepted_reported AS inferred,
    max(r_acknowledged) AS acknowledged,
    max(r_dropped) AS dropped,
    max(r_buffered) AS buffered,
    max(r_spilled) AS spilled,
    max(r_recovered) AS recovered,
    max(r_resent) AS resent,
    sum(n_stored) AS stored,
    sum(n_quarantined) AS quarantined,
    sum(n_duplicates) AS duplicates,
    toInt64(accepted) - toInt64(stored + quarantined + dropped) AS pending
FROM
(
    SELECT
        redirector,
        max(started) AS r_started,
        max(time) AS r_time,
        max(final) AS r_final,
        argMax(accepted, time) AS r_accepted,
        argMax(acknowledged, time) AS r_acknowledged,
        argMax(dropped, time) AS r_dropped,
        argMax(buffered, time) AS r_buffered,
        argMax(spilled, time) AS r_spilled,
        argMax(recovered, time) AS r_recovered,
        argMax(resent, time) AS r_resent,
        toUInt64(0) AS n_stored,
        toUInt64(0) AS n_quarantined,
        toUInt64(0) AS n_duplicates
    FROM redirector_totals
    GROUP BY redirector
    UNION ALL
    SELECT redirector, toDateTime64(0, 6, 'UTC'), toDateTime64(0, 6, 'UTC'), false, 0, 0, 0, 0, 0, 0, 0, count(), 0, 0
    FROM hits
    GROUP BY redirector
    UNION ALL
    SELECT redirector, toDateTime64(0, 6, 'UTC'), toDateTime64(0, 6, 'UTC'), false, 0, 0, 0, 0, 0, 0, 0, 0, countIf(reason != 'duplicate'), countIf(reason = 'duplicate')
    FROM quarantine
    WHERE startsWith(_stream, 'HITS_')
    GROUP BY redirector
)
GROUP BY redirector
COMMENT 'Per redirector instance: accepted = stored + quarantined + dropped + pending. inferred: how many of accepted an instance that never reported its end did not report itself; pending: accepted and not in ClickHouse (stream, buffer, spill), negative never'
;

ALTER TABLE quarantine ON CLUSTER `main` MODIFY COLUMN payload String COMMENT 'Payload of the message, byte for byte; a set-aside hit holds personal data, so it is emptied after 90 days' CODEC(ZSTD(1)) TTL toDateTime(stream_time) + INTERVAL 90 DAY
;

ALTER TABLE hits ON CLUSTER `main`
    ADD COLUMN IF NOT EXISTS scheme LowCardinality(String) COMMENT 'Scheme of the request as the trusted proxy says: http, https; empty for hits before this column' AFTER method,
    ADD COLUMN IF NOT EXISTS hops UInt16 COMMENT 'Internal redirects followed on the way from the key to the destination' CODEC(ZSTD(1)) AFTER link_rev,
    ADD COLUMN IF NOT EXISTS chain_keys Array(String) COMMENT 'Keys of the further links of the chain, in order' CODEC(ZSTD(1)) AFTER hops,
    ADD COLUMN IF NOT EXISTS chain_revs Array(UInt64) COMMENT 'Revisions of the further links of the chain; each joins link_events.revision' CODEC(ZSTD(1)) AFTER chain_keys,
    ADD COLUMN IF NOT EXISTS detail LowCardinality(String) COMMENT 'Why a link leads nowhere (outcome unresolvable): too many internal redirects, invalid value, invalid destination, path traversal' AFTER outcome,
    ADD COLUMN IF NOT EXISTS website String COMMENT 'Website key that the domain rules gave; empty without rules' CODEC(ZSTD(1)) AFTER domain,
    ADD COLUMN IF NOT EXISTS rule LowCardinality(String) COMMENT 'Name of the rule that decided: of the website rules, else of the domain rules; empty without rules' AFTER website,
    ADD COLUMN IF NOT EXISTS options Map(LowCardinality(String), String) COMMENT 'Variables of the rules and their values, such as language and version' AFTER rule,
    ADD COLUMN IF NOT EXISTS page_key Array(String) COMMENT 'Key tuple of the page: N, domain, website sub-domain, segments of the path; empty without rules' CODEC(ZSTD(1)) AFTER options,
    ADD COLUMN IF NOT EXISTS base_key Array(String) COMMENT 'Key tuple of the website: B, domain, website sub-domain, start path; empty without rules' CODEC(ZSTD(1)) AFTER page_key,
    ADD COLUMN IF NOT EXISTS unknown_query Array(String) COMMENT 'Query parameters that neither a rule nor the allow-list of the website knows' CODEC(ZSTD(1)) AFTER query,
    MODIFY COLUMN domain COMMENT 'Domain or website that the link lives on; without a link the domain of the host; empty when that is unknown (Hit.domain)',
    MODIFY COLUMN key COMMENT 'Key of the link that was asked for: the longest that is a prefix of the path; the whole path when there is none (Hit.key)',
    MODIFY COLUMN link_rev COMMENT 'Revision of the link called key: its LINKS sequence; 0 when there is none. Joins link_events.revision',
    MODIFY COLUMN outcome COMMENT 'What the redirector decided: redirected, not_found, inactive, unknown_domain, unknown_website, unknown_query, canonical, unresolvable, not_implemented, rate_limited, bad_request, unavailable'
;

ALTER TABLE link_events ON CLUSTER `main`
    ADD COLUMN IF NOT EXISTS lock_query Bool COMMENT 'The query of the destination stays as it is after the event; otherwise the query of the visitor is merged into it' AFTER destination,
    ADD COLUMN IF NOT EXISTS destination_host String ALIAS domain(destination) COMMENT 'Host of the destination; empty for a path of the same domain' AFTER lock_query,
    MODIFY COLUMN destination COMMENT 'Destination after the event: absolute URL, or a path of the same domain that is resolved again'
;

ALTER TABLE domain_events ON CLUSTER `main`
    ADD COLUMN IF NOT EXISTS configuration String COMMENT 'Configuration after the event as JSON: rule scripts, websites, defaults' CODEC(ZSTD(3)) AFTER removed
;

CREATE OR REPLACE VIEW links ON CLUSTER `main` AS
SELECT domain, key, destination, lock_query, inactive, deleted, title, tags, created, _seq AS revision, type AS last_event, actor AS last_actor, stream_time AS changed
FROM link_events
ORDER BY domain, key, stream_time DESC, _seq DESC
LIMIT 1 BY domain, key
COMMENT 'Newest state of every link, deleted ones included'
;

CREATE OR REPLACE VIEW links_at ON CLUSTER `main` AS
SELECT domain, key, destination, lock_query, inactive, deleted, title, tags, created, _seq AS revision, type AS last_event, actor AS last_actor, stream_time AS changed
FROM link_events
WHERE stream_time <= {moment:DateTime64(6, 'UTC')}
ORDER BY domain, key, stream_time DESC, _seq DESC
LIMIT 1 BY domain, key
COMMENT 'State of every link at a moment: SELECT * FROM links_at(moment = ''2026-01-31 12:00:00'')'
;

