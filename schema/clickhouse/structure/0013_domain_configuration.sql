ALTER TABLE domain_events{{.OnCluster}}
    ADD COLUMN IF NOT EXISTS configuration String COMMENT 'Configuration after the event as JSON: rule scripts, websites, defaults' CODEC(ZSTD(3)) AFTER removed
