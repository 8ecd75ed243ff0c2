SELECT run_key::VARCHAR AS key, coalesce(run_id, run)::VARCHAR AS id, pid, start_ns, run::VARCHAR AS run,
    "within"::VARCHAR AS within, begin_ns, end_ns, cpu_ns, run_queue_ns, peak_bytes, peak_at_most_bytes, exit_code, exit_signal,
    coalesce(without_task_ns, 0) AS without_task_ns, tasks, {ledger}
FROM runs_last ORDER BY begin_ns, key
