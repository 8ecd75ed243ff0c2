-- What a task is called, and its tool: the one with most CPU time in it.
SELECT {of}task_key, step, task, tool
FROM (SELECT {of}task_key::VARCHAR AS task_key, step::VARCHAR AS step, task::VARCHAR AS task FROM {recorded}tasks_last)
LEFT JOIN (
    SELECT {of}task_key, arg_max(tool, cpu_ns) AS tool
    FROM (
        SELECT {of}task_key::VARCHAR AS task_key, tool::VARCHAR AS tool, sum(cpu_ns) AS cpu_ns
        FROM {programs} WHERE task_key IS NOT NULL AND tool IS NOT NULL GROUP BY ALL)
    GROUP BY {of}task_key) USING ({of}task_key)
