ALTER TABLE link_events{{.OnCluster}}
    ADD COLUMN IF NOT EXISTS lock_query Bool COMMENT 'The query of the destination stays as it is after the event; otherwise the query of the visitor is merged into it' AFTER destination,
    ADD COLUMN IF NOT EXISTS destination_host String ALIAS domain(destination) COMMENT 'Host of the destination; empty for a path of the same domain' AFTER lock_query,
    MODIFY COLUMN destination COMMENT 'Destination after the event: absolute URL, or a path of the same domain that is resolved again'
