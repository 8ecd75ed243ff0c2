-- Tasks that are inside of another: a process of that one began it, or its run; or one process leads both, as a batch system's job
-- and an engine's task in it, which has a step.
SELECT {of}task_key, min(outer_key) AS outer_key
FROM (
    SELECT {of}task_key, CASE WHEN step IS NOT NULL AND by_leader IS NOT NULL THEN by_leader
        WHEN by_process <> task_key THEN by_process ELSE by_run END AS outer_key
    FROM (SELECT {of}task_key::STRING AS task_key, step::STRING AS step, pid, start_ns, run_key FROM {recorded}tasks_last)
    LEFT JOIN (SELECT {of}pid, start_ns, min(task_key::STRING) AS by_leader FROM {recorded}tasks_last WHERE step IS NULL GROUP BY ALL)
        USING ({of}pid, start_ns)
    LEFT JOIN (SELECT {of}pid, start_ns, parent_pid, parent_start_ns FROM {recorded}processes) USING ({of}pid, start_ns)
    LEFT JOIN (SELECT {of}pid AS parent_pid, start_ns AS parent_start_ns, task_key::STRING AS by_process FROM {recorded}processes)
        USING ({of}parent_pid, parent_start_ns)
    LEFT JOIN (SELECT {of}run_key, min("within"::STRING) AS place FROM {recorded}runs GROUP BY ALL) USING ({of}run_key)
    LEFT JOIN (SELECT {of}run_id::STRING || '/' || task_id::STRING AS place, task_key::STRING AS by_run FROM {recorded}tasks_last)
        USING ({of}place))
WHERE outer_key <> task_key GROUP BY ALL
