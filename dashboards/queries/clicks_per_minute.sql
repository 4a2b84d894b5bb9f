-- title: Clicks per minute
-- reads: Redirects by the minute in which they arrived, UTC, over the last hours.
-- param: hours = 24
SELECT
    toStartOfMinute(time) AS minute,
    count() AS clicks
FROM hits
WHERE outcome = 'redirected' AND time >= now() - toIntervalHour({hours:UInt32})
GROUP BY minute
ORDER BY minute
