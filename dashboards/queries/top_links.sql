-- title: Top links
-- reads: Redirects per link, the most used first. Bots and repeats count. The destination is that of the newest click.
-- param: limit = 10
SELECT
    concat(domain, '/', key) AS link,
    count() AS clicks,
    argMax(destination, time) AS destination
FROM hits
WHERE outcome = 'redirected'
GROUP BY domain, key
ORDER BY clicks DESC, link
LIMIT {limit:UInt32}
