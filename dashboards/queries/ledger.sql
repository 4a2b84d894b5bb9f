-- title: Ledger
-- reads: Every request is accounted for: accepted = stored + quarantined + pending + dropped. Pending is what ClickHouse does not have yet; copies are hits sent twice, set aside and in no other column.
SELECT
    sum(accepted) AS accepted,
    sum(stored) AS stored,
    sum(quarantined) AS quarantined,
    sum(pending) AS pending,
    sum(dropped) AS dropped,
    sum(duplicates) AS copies,
    sum(inferred) AS inferred
FROM ledger
