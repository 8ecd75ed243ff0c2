-- The newest runs: what several hosts saw of one is one, as in runs_over_time. A batch system's task that is all of another's is no more (doubled). Its tasks on hosts that know no run of theirs are in its figures.
WITH seen AS (
    SELECT boot_id, run_key, coalesce(engine || '/' || run_id || '/' || coalesce("user", owner_uid::STRING, ''), boot_id || '/' || run_key) AS one, 1 AS place,
           pipeline, run, run_id, engine, time_unix_ns - time_ns + coalesce(start_ns, begin_ns) AS start_unix_ns, time_unix_ns - time_ns + begin_ns AS begin_unix_ns,
           time_unix_ns - time_ns + end_ns AS end_unix_ns, tasks, failed, cpu_ns, cpu_at_least_ns, peak_bytes, peak_at_least_bytes, peak_at_most_bytes, NULL AS outcome
    FROM runs_last WHERE run_key IS NOT NULL
    UNION ALL BY NAME
    SELECT boot_id, run_key, coalesce(engine || '/' || run_id || '/' || coalesce("user", owner_uid::STRING, ''), boot_id || '/' || run_key) AS one, 2 AS place,
           min(pipeline) AS pipeline, min(run) AS run, min(run_id) AS run_id, min(engine) AS engine, min(time_unix_ns - time_ns + submitted_ns) AS start_unix_ns,
           max_by(outcome, time_unix_ns) FILTER (WHERE outcome IS NOT NULL) AS outcome
    FROM submits WHERE run_key IS NOT NULL AND task_key IS NULL GROUP BY ALL),
here AS (SELECT boot_id, run_key, min(one) AS one, min(place) AS place FROM seen GROUP BY ALL),
anywhere AS (SELECT run_key, min(one) AS one FROM seen GROUP BY run_key),
task AS (
    SELECT coalesce(here.one, anywhere.one, boot_id || '/' || run_key) AS one, here.place IS DISTINCT FROM 1 AS elsewhere, each.*
    FROM (SELECT *, time_unix_ns - time_ns AS offset_ns, true AS ran, step IS NULL AND count(step) OVER (PARTITION BY boot_id, pid, start_ns) > 0 AS doubled
          FROM tasks_last WHERE run_key IS NOT NULL
          UNION ALL BY NAME
          SELECT boot_id, run_key, task_key, step, min(time_unix_ns - time_ns) AS offset_ns, min(submitted_ns) AS start_ns, false AS ran
          FROM submits ANTI JOIN tasks_last ON submits.run_key = tasks_last.run_key AND (submits.task_key = tasks_last.task_key OR submits.task_id = tasks_last.task_id)
          WHERE run_key IS NOT NULL AND task_key IS NOT NULL AND outcome IS NOT NULL GROUP BY ALL) AS each
    LEFT JOIN here USING (boot_id, run_key) LEFT JOIN anywhere USING (run_key)),
figures AS (
    SELECT * FROM seen
    UNION ALL BY NAME
    SELECT boot_id, run_key, one, 3 AS place, pipeline, run, run_id, engine, offset_ns + start_ns AS start_unix_ns, offset_ns + begin_ns AS begin_unix_ns,
           offset_ns + end_ns AS end_unix_ns, failed, cpu_ns, cpu_at_least_ns, peak_bytes, peak_at_least_bytes, peak_at_most_bytes
    FROM task WHERE elsewhere AND ran),
newest AS (
    SELECT one, list(DISTINCT boot_id || '/' || run_key) AS keys, min_by(run_key, place) AS run_key, min(pipeline) AS pipeline, min(run) AS run, min(run_id) AS run_id,
           min(engine) AS engine, min(start_unix_ns) AS start_unix_ns, max(end_unix_ns) - min(begin_unix_ns) AS wall_ns, sum(tasks)::BIGINT AS own_tasks,
           sum(failed)::BIGINT AS failed, sum(coalesce(cpu_ns, cpu_at_least_ns))::BIGINT AS cpu_ns, bool_and(cpu_ns IS NOT NULL OR place = 2) AS exact_cpu,
           CASE WHEN count(*) FILTER (WHERE place <> 2) = 1 THEN max(peak_bytes) END AS memory_bytes, max(coalesce(peak_bytes, peak_at_least_bytes)) AS memory_bytes_at_least,
           CASE WHEN count(*) FILTER (WHERE place <> 2) = 1 THEN max(peak_at_most_bytes) END AS memory_bytes_at_most,
           bool_or(place = 1 OR outcome IS NOT NULL) AS ended, min(outcome) AS outcome, count(*) OVER () AS runs
    FROM figures GROUP BY one ORDER BY start_unix_ns DESC NULLS LAST LIMIT {most}),
steps AS (
    SELECT one, sum(tasks)::BIGINT AS tasks, sum(doubled)::BIGINT AS doubled, list(struct_pack(name := step, tasks, wall_ns) ORDER BY first_ns) FILTER (WHERE step IS NOT NULL) AS steps
    FROM (SELECT one, step, count(*) FILTER (WHERE doubled IS NOT TRUE) AS tasks, count(*) FILTER (WHERE doubled) AS doubled, ceil(median(wall_ns))::BIGINT AS wall_ns, min(offset_ns + start_ns) AS first_ns
          FROM task SEMI JOIN newest USING (one) GROUP BY one, step)
    GROUP BY one),
problems AS (
    SELECT coalesce(here.one, task.one) AS one, count(*) FILTER (WHERE severity = 'error') AS error, count(*) FILTER (WHERE severity = 'warning') AS warning,
           bool_or(code = 'first_failure' AND each.task_key IS NULL) AS has_failed
    FROM findings_last AS each LEFT JOIN here USING (boot_id, run_key)
    LEFT JOIN (SELECT DISTINCT one, "user", task_id FROM task WHERE elsewhere) AS task ON each.run_key IS NULL AND each."user" = task."user" AND each.task_id = task.task_id
    GROUP BY ALL)
SELECT newest.* EXCLUDE (own_tasks), greatest(own_tasks - coalesce(doubled, 0), steps.tasks) AS tasks, steps, error, warning,
       CASE WHEN outcome IN ('failed', 'cached', 'aborted') THEN outcome WHEN outcome IS NULL AND has_failed THEN 'failed' ELSE 'done' END AS status
FROM newest LEFT JOIN steps USING (one) LEFT JOIN problems USING (one) ORDER BY start_unix_ns DESC NULLS LAST
