-- What a task is called, and its tool: the one with most CPU time in it.
SELECT {of}task_key, step, task, tool
FROM (SELECT {of}task_key::STRING AS task_key, step::STRING AS step, task::STRING AS task FROM {recorded}tasks_last)
LEFT JOIN (
    SELECT {of}task_key, max_by(tool, cpu_ns) AS tool
    FROM (
        SELECT {of}task_key::STRING AS task_key, tool::STRING AS tool, sum(cpu_ns) AS cpu_ns
        FROM {programs} WHERE task_key IS NOT NULL AND tool IS NOT NULL GROUP BY ALL)
    GROUP BY {of}task_key) USING ({of}task_key)
