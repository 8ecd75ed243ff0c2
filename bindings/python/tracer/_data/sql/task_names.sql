-- What a task is called, and its tool: the one with most CPU time in it.
SELECT t.task_key::VARCHAR AS task_key, t.step::VARCHAR AS step, t.task::VARCHAR AS task, most.tool
FROM {recorded}tasks_last AS t
LEFT JOIN (
    SELECT task_key, arg_max(tool, cpu_ns) AS tool
    FROM (
        SELECT task_key::VARCHAR AS task_key, tool::VARCHAR AS tool, sum(cpu_ns) AS cpu_ns
        FROM {recorded}programs WHERE task_key IS NOT NULL AND tool IS NOT NULL GROUP BY 1, 2)
    GROUP BY task_key) AS most ON most.task_key = t.task_key::VARCHAR
