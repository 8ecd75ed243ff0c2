-- What tasks held, in each bucket back from the end.
SELECT (? - t1) // {bucket} AS bucket, sum(t1 - t0)::DOUBLE, sum((t1 - t0) * cpus)::DOUBLE, sum(task_cpu_ns)::DOUBLE / 1000,
    count(*) = count(task_cpu_ns), max(tasks), sum(task_memory_bytes::DOUBLE / memory_bytes * (t1 - t0)),
    count(*) = count(task_memory_bytes), max(cpus), max(memory_bytes)
FROM seen GROUP BY bucket ORDER BY bucket
