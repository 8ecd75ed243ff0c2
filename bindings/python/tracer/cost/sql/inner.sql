-- A job of Slurm that is a task of Nextflow is no task beside it: it has no step, and lives as long.
CREATE TEMP TABLE same AS
SELECT i.task, o.task AS outer_task, o.outer_key
FROM tasks AS i JOIN tasks AS o ON o.source = i.source AND o.key = i.outer_key
WHERE o.step IS NULL AND i.step IS NOT NULL AND o.t0 = i.t0 AND o.t1 = i.t1;

UPDATE tasks SET outer_key = same.outer_key FROM same WHERE same.task = tasks.task;
DELETE FROM tasks WHERE task IN (SELECT outer_task FROM same);

-- What a task held or used includes the tasks inside of it. Here, what is left beside them, by time over its life.
UPDATE tasks SET cpus = greatest(tasks.cpus - i.cpus, 0), used_cpus = greatest(tasks.used_cpus - i.cpus, 0),
    memory_gib = greatest(tasks.memory_gib - i.gib, 0), used_gib = greatest(tasks.used_gib - i.gib, 0)
FROM (
    SELECT o.task, sum(greatest(coalesce(i.cpus, 0), coalesce(i.used_cpus, 0)) * (i.t1 - i.t0)) / (o.t1 - o.t0) AS cpus,
        sum(greatest(coalesce(i.memory_gib, 0), coalesce(i.used_gib, 0)) * (i.t1 - i.t0)) / (o.t1 - o.t0) AS gib
    FROM tasks AS o JOIN tasks AS i ON i.source = o.source AND i.outer_key = o.key
    WHERE o.t1 > o.t0 AND i.t1 > i.t0 GROUP BY o.task, o.t0, o.t1) AS i
WHERE i.task = tasks.task;

SELECT count(*) FROM tasks
