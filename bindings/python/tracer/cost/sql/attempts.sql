-- Containers of the bill, each with its task.
CREATE TABLE attempts AS
WITH containers AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY min(line)) AS container, resource, any_value(ecs) AS ecs, tag_run, tag_hash, min(t0) AS t0,
        max(t1) AS t1, sum(coalesce(split_used, billed, 0)) AS cost
    FROM tagged WHERE ecs IS NOT NULL GROUP BY resource, tag_run, tag_hash),
matched AS (
    SELECT container, task, by_ecs
    FROM (
        SELECT c.container, t.task, coalesce(c.ecs = t.ecs, false) AS by_ecs, true AS by_tags
        FROM containers AS c JOIN tasks AS t ON c.tag_run = t.run AND c.tag_hash = t.hash
        WHERE t.status IS DISTINCT FROM 'CACHED'
        UNION ALL SELECT c.container, t.task, true, false FROM containers AS c JOIN tasks AS t ON c.ecs = t.ecs)
    QUALIFY row_number() OVER (PARTITION BY container ORDER BY by_ecs DESC, by_tags DESC, task) = 1)
SELECT c.resource, c.tag_run, c.tag_hash, m.task, c.cost, c.t0, c.t1,
    row_number() OVER (PARTITION BY m.task ORDER BY m.by_ecs DESC, c.t1 DESC, c.t0 DESC, c.cost DESC, c.ecs) > 1 AS hidden,
    coalesce(t.status IN ('FAILED', 'ABORTED'), false) AS lost
FROM matched AS m JOIN containers AS c USING (container) JOIN tasks AS t USING (task)
