-- How long tasks lived. A gap far outside of its run's is another attempt that the engine did not see, not staging: Tukey's
-- outer fence.
CREATE TEMP TABLE lives AS
SELECT task, CASE WHEN count(gap) OVER run >= {enough} THEN
    least(life, command_us + (quantile_cont(gap, 0.75) OVER run * 4 - quantile_cont(gap, 0.25) OVER run * 3)::BIGINT)
    ELSE life END AS life
FROM (
    SELECT task, run, command_us, t1 - t0 AS life, CASE WHEN command_us > 0 THEN greatest(t1 - t0 - command_us, 0) END AS gap
    FROM tasks WHERE status IS DISTINCT FROM 'CACHED' AND t1 >= t0)
WINDOW run AS (PARTITION BY run);

UPDATE lives SET life = t.t1 - t.t0
FROM tasks AS t WHERE t.task = lives.task AND (t.command_us IS NULL OR t.command_us = 0 OR lives.life IS NULL)
