CREATE OR REPLACE VIEW links{{.OnCluster}} AS
SELECT domain, key, destination, lock_query, inactive, deleted, title, tags, created, _seq AS revision, type AS last_event, actor AS last_actor, stream_time AS changed
FROM link_events
ORDER BY domain, key, stream_time DESC, _seq DESC
LIMIT 1 BY domain, key
COMMENT 'Newest state of every link, deleted ones included'
