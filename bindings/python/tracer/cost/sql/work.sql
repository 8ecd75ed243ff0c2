CREATE TABLE work AS
SELECT tagged.*, {cost} AS cost, {used} AS used_cost, {unused} AS unused_cost, coalesce(a.task, d.task) AS task,
    coalesce(a.hidden, false) AS hidden, coalesce(a.lost, d.lost, false) AS lost,
    (tagged.tag_run IS NOT NULL AND ({any_run} OR tagged.tag_run IN (SELECT run FROM tasks WHERE run IS NOT NULL))) AS known_run,
    false AS of_parent
FROM tagged
LEFT JOIN attempts AS a ON a.resource = tagged.resource AND a.tag_run IS NOT DISTINCT FROM tagged.tag_run
    AND a.tag_hash IS NOT DISTINCT FROM tagged.tag_hash
LEFT JOIN (
    SELECT run, hash, min(task) AS task, bool_or(coalesce(status IN ('FAILED', 'ABORTED'), false)) AS lost
    FROM tasks WHERE status IS DISTINCT FROM 'CACHED'
    GROUP BY run, hash) AS d ON a.task IS NULL AND d.run = tagged.tag_run AND d.hash = tagged.tag_hash;

DROP TABLE tagged
