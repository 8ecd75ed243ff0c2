CREATE TEMP TABLE named AS
SELECT host_name,
    CASE WHEN count(DISTINCT instance) FILTER (sampled IS FALSE) = 1 THEN any_value(instance) FILTER (sampled IS FALSE)
    WHEN count(DISTINCT instance) FILTER (sampled IS FALSE) = 0 AND count(DISTINCT instance) = 1 THEN any_value(instance) END AS instance
FROM hosts WHERE host_name IS NOT NULL AND instance IS NOT NULL GROUP BY host_name;

UPDATE recordings SET instance = n.instance FROM named AS n
WHERE recordings.instance IS NULL AND n.host_name = recordings.host_name;
UPDATE hosts SET instance = n.instance FROM named AS n WHERE hosts.instance IS NULL AND n.host_name = hosts.host_name;
UPDATE tasks SET instance = coalesce(tasks.instance, r.instance) FROM recordings AS r WHERE r.source = tasks.source;
UPDATE tasks SET instance_type = coalesce(tasks.instance_type, h.instance_type), region = coalesce(tasks.region, h.region)
FROM (SELECT instance, max(instance_type) AS instance_type, max(region) AS region FROM hosts GROUP BY instance) AS h
WHERE h.instance = tasks.instance AND tasks.source IN (SELECT source FROM recordings);
DROP TABLE named
