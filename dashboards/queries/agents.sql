-- title: Agents
-- reads: First word of the user agent of redirected requests: Mozilla/5.0 is nearly every browser, the rest are programs.
-- param: limit = 10
SELECT
    if(user_agent = '', '(none)', splitByChar(' ', user_agent)[1]) AS agent,
    count() AS clicks
FROM hits
WHERE outcome = 'redirected'
GROUP BY agent
ORDER BY clicks DESC, agent
LIMIT {limit:UInt32}
