-- title: Clients that ask for hosts that are not here
-- reads: Addresses with at least that many requests for unknown hosts, ready for a firewall. hosts is how many different names they tried.
-- param: limit = 1000
-- param: hours = 24
-- param: least = 20
SELECT
    replaceOne(toString(client_ip), '::ffff:', '') AS client,
    count() AS requests,
    countIf(outcome = 'rate_limited') AS limited,
    uniqExact(lower(host)) AS hosts,
    max(time) AS last
FROM hits
WHERE domain = '' AND outcome IN ('unknown_domain', 'rate_limited') AND client_ip != toIPv6('::') AND stream_time >= now() - toIntervalHour({hours:UInt32})
GROUP BY client_ip
HAVING requests >= {least:UInt32}
ORDER BY requests DESC, client
LIMIT {limit:UInt32}
