-- title: Replayed clicks per minute
-- reads: Redirects by the minute of the original click, UTC, which a replay sends as the query parameter t (Unix seconds).
SELECT
    toStartOfMinute(toDateTime(toUInt32OrZero(extractURLParameter(concat('?', query), 't')), 'UTC')) AS minute,
    count() AS clicks
FROM hits
WHERE outcome = 'redirected' AND match(query, '(^|&)t=[0-9]+')
GROUP BY minute
ORDER BY minute
