-- title: Chains of internal redirects
-- reads: Links that lead to their destination by way of others, the longest chain first. refused counts requests that led nowhere, with the reason of most of them.
-- param: limit = 20
SELECT
    concat(domain, '/', key) AS link,
    max(hops) AS longest,
    count() AS requests,
    countIf(outcome = 'unresolvable') AS refused,
    anyHeavyIf(detail, detail != '') AS reason,
    arrayStringConcat(arrayConcat([key], argMax(chain_keys, time)), ' > ') AS newest_chain
FROM hits
WHERE hops > 0 OR outcome = 'unresolvable'
GROUP BY domain, key
ORDER BY longest DESC, requests DESC, link
LIMIT {limit:UInt32}
