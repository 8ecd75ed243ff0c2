-- What only recordings have of its tasks. `oom`: the kernel killed one of its processes for lack of memory; null: not known.
INSERT INTO details
SELECT t.source, t.task_key::VARCHAR, t.cpu_ns, t.peak_bytes / 1073741824, t.peak_at_most_bytes / 1073741824, {ledger},
    ended.oom, limited.limit_bytes / 1073741824, wanted.cpus, inputs.bytes
FROM recorded_tasks_last AS t
LEFT JOIN (
    SELECT source, task_key::VARCHAR AS key, CASE WHEN coalesce(bool_or(oom_killed), false) THEN true
        WHEN count(*) FILTER (end_ns IS NOT NULL) = count(oom_killed) THEN false END AS oom
    FROM recorded_processes WHERE task_key IS NOT NULL GROUP BY ALL) AS ended ON ended.source = t.source AND ended.key = t.task_key::VARCHAR
LEFT JOIN limits AS limited ON limited.source = t.source AND limited.key = t.task_key::VARCHAR
LEFT JOIN wanted ON wanted.source = t.source AND wanted.key = t.task_key::VARCHAR
LEFT JOIN recorded_task_inputs AS inputs ON inputs.source = t.source AND inputs.task_key = t.task_key::VARCHAR
WHERE t.task_key IS NOT NULL
