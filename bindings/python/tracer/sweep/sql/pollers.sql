-- Tasks that live, have begun nothing but `sleep` since a time, and computed for less than a hundredth of it: a shell that looks for
-- something again and again. Each `sleep` of it is progress to those that look at one process.
WITH living AS (
    SELECT task_key::VARCHAR AS key, any_value(coalesce(task, step, run))::VARCHAR AS task, any_value(coalesce(run_id, run))::VARCHAR AS run,
        any_value(pipeline)::VARCHAR AS pipeline, any_value(owner_uid) AS uid, min(time_ns) AS begin_ns
    FROM recorded_events WHERE kind = 'task_start' AND recorded_us(time_ns) <= {until} GROUP BY 1),
ended AS (
    SELECT task_key::VARCHAR AS key, max(end_ns) FILTER (comm::VARCHAR <> 'sleep') AS other_ns, max(end_ns) FILTER (comm::VARCHAR = 'sleep') AS last_ns
    FROM recorded_processes WHERE recorded_us(end_ns) <= {until} GROUP BY 1),
quiet AS (SELECT *, greatest(begin_ns, coalesce(other_ns, 0)) AS since_ns FROM living JOIN ended USING (key)
    WHERE key NOT IN (SELECT task_key::VARCHAR FROM recorded_tasks WHERE task_key IS NOT NULL AND recorded_us(end_ns) <= {until})),
used AS (
    SELECT key, max(s.cpu_ns) - min(s.cpu_ns) AS cpu_ns
    FROM quiet JOIN recorded_samples AS s ON s.task_key::VARCHAR = key AND s.kind = 'process_sample' AND s.time_ns >= since_ns
        AND recorded_us(s.time_ns) <= {until}
    GROUP BY key, s.pid, s.start_ns)
SELECT task, run, pipeline, uid, 'a shell', 'what it looks for: it sleeps again and again', 'medium', recorded_us(since_ns), {until}
FROM quiet
WHERE recorded_us(since_ns) <= {until} - {least} AND recorded_us(last_ns) >= {until} - {fresh}
    AND 100 * coalesce((SELECT sum(cpu_ns) FROM used WHERE used.key = quiet.key), 0) < last_ns - since_ns
ORDER BY since_ns, task
