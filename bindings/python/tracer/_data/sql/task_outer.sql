-- Tasks that are inside of another: a process of that one began it, or its run.
SELECT t.task_key::VARCHAR AS task_key, any_value(coalesce(p.task_key, o.task_key)::VARCHAR) AS outer_key
FROM {recorded}tasks_last AS t
LEFT JOIN {recorded}processes AS l ON l.pid = t.pid AND l.start_ns = t.start_ns
LEFT JOIN {recorded}processes AS p ON p.pid = l.parent_pid AND p.start_ns = l.parent_start_ns AND p.task_key <> t.task_key
LEFT JOIN {recorded}runs AS r ON r.run_key = t.run_key
LEFT JOIN {recorded}tasks_last AS o ON r."within"::VARCHAR = o.run_id::VARCHAR || '/' || o.task_id::VARCHAR AND o.task_key <> t.task_key
WHERE coalesce(p.task_key, o.task_key) IS NOT NULL GROUP BY 1
