-- title: Referrer hosts
-- reads: Where redirected requests came from. (none): the browser sent no referrer, as apps, bookmarks and QR scans do.
-- param: limit = 10
SELECT
    if(referrer = '', '(none)', domain(referrer)) AS host,
    count() AS clicks
FROM hits
WHERE outcome = 'redirected'
GROUP BY host
ORDER BY clicks DESC, host
LIMIT {limit:UInt32}
