CREATE OR REPLACE VIEW links_at{{.OnCluster}} AS
SELECT domain, key, destination, lock_query, inactive, deleted, title, tags, created, _seq AS revision, type AS last_event, actor AS last_actor, stream_time AS changed
FROM link_events
WHERE stream_time <= {moment:DateTime64(6, 'UTC')}
ORDER BY domain, key, stream_time DESC, _seq DESC
LIMIT 1 BY domain, key
COMMENT 'State of every link at a moment: SELECT * FROM links_at(moment = ''2026-01-31 12:00:00'')'
