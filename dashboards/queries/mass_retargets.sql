-- title: Many links sent to one host
-- reads: Hours in which somebody led at least that many links of other hosts to one host, by edits or by deleting them and creating them again: a campaign that moves, or a stolen token. links is how many, examples a few of them.
-- param: least = 10
-- param: days = 90
SELECT
    toStartOfHour(now.stream_time) AS hour,
    now.actor AS actor,
    now.destination_host AS host,
    uniqExact(now.domain, now.key) AS links,
    uniqExact(before.destination_host) AS hosts_before,
    arrayStringConcat(arraySort(groupUniqArray(3)(concat(now.domain, '/', now.key))), ' ') AS examples
FROM link_events AS now
INNER JOIN link_events AS before ON before._gen = now._gen AND before._seq = now.previous_revision
WHERE now.type IN ('LinkRetargeted', 'LinkCreated') AND now.stream_time >= now() - toIntervalDay({days:UInt32}) AND now.destination_host != before.destination_host AND now.destination_host != ''
GROUP BY hour, actor, host
HAVING links >= {least:UInt32}
ORDER BY hour DESC, links DESC, host
LIMIT 100
