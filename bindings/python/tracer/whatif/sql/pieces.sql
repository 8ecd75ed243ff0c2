-- The lives of processes, divided at their snapshots: of which task, from, to, and what was used in between.
WITH points AS (
    SELECT coalesce(task_key::VARCHAR, run_key::VARCHAR) AS key, end_ns AS time, coalesce(begin_ns, start_ns) AS begin_ns, pid,
        start_ns, threads, cpu_ns, run_queue_ns, process_ledger_running_ns::HUGEINT + process_ledger_run_queue_ns AS active
    FROM processes WHERE end_ns IS NOT NULL AND cpu_ns > 0
    UNION ALL
    SELECT coalesce(task_key::VARCHAR, run_key::VARCHAR), time_ns, NULL, pid, start_ns, threads, cpu_ns, run_queue_ns,
        process_ledger_running_ns::HUGEINT + process_ledger_run_queue_ns
    FROM samples WHERE kind = 'process_sample'),
steps AS (
    SELECT *, max(threads) OVER life AS most_threads, any_value(begin_ns) OVER life AS born, last_value(key) OVER life AS last_key,
        lag(time) OVER w AS before, cpu_ns::HUGEINT - coalesce(lag(cpu_ns) OVER w, 0) AS cpu,
        run_queue_ns::HUGEINT - coalesce(lag(run_queue_ns) OVER w, 0) AS queue, active - coalesce(lag(active) OVER w, 0) AS busy
    FROM points
    WINDOW w AS (PARTITION BY pid, start_ns ORDER BY time),
        life AS (PARTITION BY pid, start_ns ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
SELECT last_key, coalesce(before, born, start_ns), time, cpu, coalesce(queue, 0), busy, most_threads
FROM steps WHERE last_key IS NOT NULL AND time > coalesce(before, born, start_ns) AND cpu >= 0 ORDER BY ALL
