-- Tasks that have no other inside: an outer one only waits for them. Where a run has no tasks but scripts that a script
-- started, and these ran for less than a fifth of its time, none.
WITH uncounted AS (
    SELECT runs.run_key::VARCHAR AS run_key
    FROM runs_last AS runs JOIN tasks_last AS tasks ON tasks.run_key::VARCHAR = runs.run_key::VARCHAR
    WHERE runs.without_task_ns > (runs.end_ns - runs.begin_ns) - (runs.end_ns - runs.begin_ns) // 5
    GROUP BY runs.run_key::VARCHAR
    HAVING bool_and(coalesce(tasks.engine::VARCHAR = 'shell', false)
        AND 'inferred' = coalesce(tasks.provenance_step::VARCHAR, 'inferred')
        AND 'inferred' = coalesce(tasks.provenance_task::VARCHAR, 'inferred')
        AND 'inferred' = coalesce(tasks.provenance_task_id::VARCHAR, 'inferred'))),
leaders AS (
    SELECT pid, start_ns, any_value(parent_pid) AS parent_pid, any_value(parent_start_ns) AS parent_start_ns,
        any_value(end_ns) AS end_ns
    FROM processes GROUP BY pid, start_ns)
SELECT task_key::VARCHAR AS key, run_key::VARCHAR AS run_key, run_id::VARCHAR AS run_id, task_id::VARCHAR AS task_id,
    coalesce(task::VARCHAR, step::VARCHAR, task_id::VARCHAR, 'task') AS name, begin_ns, t.end_ns, cpu_ns, run_queue_ns,
    peak_bytes, peak_at_most_bytes, exit_code, exit_signal, parent_pid, parent_start_ns, leaders.end_ns AS leader_end_ns, t.pid,
    t.start_ns, {ledger}
FROM tasks_last AS t
LEFT JOIN leaders USING (pid, start_ns)
WHERE run_key::VARCHAR IN ({keys}) AND run_key::VARCHAR NOT IN (SELECT run_key FROM uncounted) AND t.task_key::VARCHAR NOT IN (
    SELECT outer_key FROM task_outer JOIN tasks_last AS i ON i.task_key::VARCHAR = task_outer.task_key
    WHERE i.run_key::VARCHAR NOT IN (SELECT run_key FROM uncounted))
ORDER BY begin_ns, t.end_ns, key
