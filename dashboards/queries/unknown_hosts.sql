-- title: Hosts that are not here
-- reads: Host headers for which there is no domain, the most requested first: names that point here by mistake, and scanners. limited counts the requests that were refused for asking too often.
-- param: limit = 20
-- param: hours = 24
SELECT
    lower(host) AS unknown_host,
    count() AS requests,
    countIf(outcome = 'rate_limited') AS limited,
    uniqExact(client_ip) AS clients,
    min(time) AS first,
    max(time) AS last
FROM hits
WHERE domain = '' AND outcome IN ('unknown_domain', 'rate_limited') AND stream_time >= now() - toIntervalHour({hours:UInt32})
GROUP BY unknown_host
ORDER BY requests DESC, unknown_host
LIMIT {limit:UInt32}
