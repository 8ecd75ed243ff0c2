-- What a task held or used includes the tasks inside of it. Here, what is left beside them, by time over its life.
UPDATE tasks SET cpus = greatest(tasks.cpus - i.cpus, 0), used_cpus = greatest(tasks.used_cpus - i.cpus, 0),
    memory_gib = greatest(tasks.memory_gib - i.gib, 0), used_gib = greatest(tasks.used_gib - i.gib, 0)
FROM (
    SELECT o.task, sum(greatest(coalesce(i.cpus, 0), coalesce(i.used_cpus, 0)) * (i.t1 - i.t0)) / (o.t1 - o.t0) AS cpus,
        sum(greatest(coalesce(i.memory_gib, 0), coalesce(i.used_gib, 0)) * (i.t1 - i.t0)) / (o.t1 - o.t0) AS gib
    FROM tasks AS o JOIN tasks AS i ON i.source = o.source AND i.outer_key = o.key
    WHERE o.t1 > o.t0 AND i.t1 > i.t0 GROUP BY o.task, o.t0, o.t1) AS i
WHERE i.task = tasks.task
