-- Tasks that have no other inside: an outer one only waits for them.
WITH leaders AS (
    SELECT pid, start_ns, any_value(parent_pid) AS parent_pid, any_value(parent_start_ns) AS parent_start_ns,
        any_value(end_ns) AS end_ns
    FROM processes GROUP BY pid, start_ns)
SELECT task_key::VARCHAR AS key, run_key::VARCHAR AS run_key, run_id::VARCHAR AS run_id, task_id::VARCHAR AS task_id,
    coalesce(task::VARCHAR, step::VARCHAR, task_id::VARCHAR, 'task') AS name, begin_ns, t.end_ns, cpu_ns, run_queue_ns,
    peak_bytes, peak_at_most_bytes, exit_code, exit_signal, parent_pid, parent_start_ns, leaders.end_ns AS leader_end_ns, t.pid,
    t.start_ns, {ledger}
FROM tasks_last AS t
LEFT JOIN leaders USING (pid, start_ns)
WHERE run_key::VARCHAR IN ({keys}) AND NOT EXISTS (
    FROM runs WHERE runs."within"::VARCHAR = t.run_id::VARCHAR || '/' || t.task_id::VARCHAR AND runs.tasks > 0)
ORDER BY begin_ns, t.end_ns, key
