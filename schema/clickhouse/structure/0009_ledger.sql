CREATE VIEW IF NOT EXISTS ledger{{.OnCluster}} AS
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
