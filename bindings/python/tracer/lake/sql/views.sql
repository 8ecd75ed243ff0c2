-- Macros of a lake: docs/lake.md, Ask. They stand on the tables and canonical views beside them. _spark.py makes functions of Spark
-- of them: what both know is written so that both take it.

-- A run that several hosts saw is one row. Of a host whose service saw no process of the run itself, what counts are its tasks.
CREATE OR REPLACE MACRO runs_over_time(of_pipeline) AS TABLE
WITH seen AS (
    SELECT host_name, boot_id, run_key, pid, start_ns, pipeline, run, run_id, engine, "user", owner_uid, start_time, end_time, cpu_ns, tasks, failed_tasks,
           coalesce(exit_signal, 0) <> 0 OR exit_code <> 0 AS failed, true AS has_figures
    FROM runs_last
    UNION ALL
    SELECT min(host_name), boot_id, run_key, NULL, NULL, min(pipeline), min(run), min(run_id), min(engine), min("user"), min(owner_uid), min(start_time),
           max(end_time), NULL, NULL, NULL, bool_or(outcome = 'failed'), false
    FROM submits
    WHERE run_key IS NOT NULL AND task_key IS NULL
          AND NOT EXISTS (SELECT 1 FROM runs_last WHERE runs_last.boot_id = submits.boot_id AND runs_last.run_key = submits.run_key)
    GROUP BY boot_id, run_key
    HAVING count(outcome) > 0),
known AS (
    SELECT coalesce(engine || '/' || run_id || '/' || coalesce("user", owner_uid::STRING, ''), boot_id || '/' || run_key,
                    boot_id || '/' || pid || '/' || start_ns) AS one, *
    FROM seen
    WHERE pipeline = of_pipeline),
elsewhere AS (
    SELECT r.one, t.host_name, t.cpu_ns, CASE WHEN t.exit_code <> 0 OR t.exit_signal <> 0 THEN 1 ELSE 0 END AS failed
    FROM (SELECT DISTINCT one, run_key, "user" FROM known) AS r JOIN tasks_last AS t ON t.run_key = r.run_key AND t."user" = r."user"
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE known.one = r.one AND known.boot_id = t.boot_id AND has_figures))
SELECT min(run) AS run, min(run_id) AS run_id, min(engine) AS engine, min("user") AS "user",
       count(DISTINCT host_name) AS hosts, min(start_time) AS start_time, max(end_time) AS end_time,
       (epoch_us(max(end_time)) - epoch_us(min(start_time))) * 1000 AS wall_ns, sum(cpu_ns)::BIGINT AS cpu_ns,
       sum(tasks)::BIGINT AS tasks, sum(failed_tasks)::BIGINT AS failed_tasks,
       bool_or(failed) AS failed
FROM (SELECT one, run, run_id, engine, "user", host_name, start_time, end_time, cpu_ns, tasks, failed_tasks, failed
      FROM known
      UNION ALL
      SELECT one, NULL, NULL, NULL, NULL, host_name, NULL, NULL, cpu_ns, 1, failed, NULL
      FROM elsewhere)
GROUP BY one
ORDER BY start_time NULLS LAST, run NULLS LAST;

-- Classes of input: from a power of 4 up to the next; the first is less than 4 bytes. A process whose host did not know its step is of
-- its task's.
CREATE OR REPLACE MACRO usual(of_step, of_tool) AS TABLE
SELECT CASE WHEN class > 0 THEN 1::BIGINT << class::INT ELSE class END AS input_from_bytes,
       CASE WHEN class < 62 THEN 4::BIGINT << class::INT END AS input_to_bytes,
       count(*) AS processes,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY wall_ns)::BIGINT AS median_wall_ns,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY wall_ns)::BIGINT AS p95_wall_ns,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY cpu_ns)::BIGINT AS median_cpu_ns,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY cpu_ns)::BIGINT AS p95_cpu_ns,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY peak_rss_bytes)::BIGINT AS median_peak_rss_bytes,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY peak_rss_bytes)::BIGINT AS p95_peak_rss_bytes
FROM (SELECT ((length(bin(read_bytes)) - 1) // 2 * 2)::BIGINT AS class, wall_ns, cpu_ns, peak_rss_bytes
      FROM (SELECT read_bytes, wall_ns, cpu_ns, peak_rss_bytes
            FROM processes WHERE step = of_step AND tool = of_tool
            UNION ALL
            SELECT p.read_bytes, p.wall_ns, p.cpu_ns, p.peak_rss_bytes
            FROM processes AS p JOIN tasks_last AS t ON t.boot_id = p.boot_id AND t.task_key = p.task_key
            WHERE p.step IS NULL AND p.tool = of_tool AND t.step = of_step))
GROUP BY class
ORDER BY class NULLS LAST;

CREATE OR REPLACE MACRO usage_by_user(of_month) AS TABLE
WITH work AS (
    SELECT "user", count(DISTINCT host_name) AS hosts, count(*) AS processes, sum(cpu_ns)::BIGINT AS cpu_ns,
           sum(read_bytes)::BIGINT AS read_bytes, sum(written_bytes)::BIGINT AS written_bytes
    FROM processes
    WHERE date >= (of_month || '-01')::DATE AND date < (of_month || '-01')::DATE + INTERVAL 1 MONTH
    GROUP BY "user"),
done AS (
    SELECT "user", count(*) AS tasks
    FROM tasks_last
    WHERE date >= (of_month || '-01')::DATE AND date < (of_month || '-01')::DATE + INTERVAL 1 MONTH
    GROUP BY "user")
SELECT work."user", hosts, coalesce(tasks, 0) AS tasks, processes, cpu_ns, read_bytes, written_bytes
FROM work LEFT JOIN done ON work."user" IS NOT DISTINCT FROM done."user"
ORDER BY cpu_ns DESC NULLS LAST, work."user" NULLS LAST;

-- A task inside of another has asked for nothing more: what it used is use of what the outermost one asked for.
CREATE OR REPLACE MACRO waste_by_user(of_month) AS TABLE
SELECT "user", count(*) AS tasks, count(*) FILTER (WHERE exit_code <> 0 OR exit_signal <> 0) AS failed_tasks,
       coalesce(sum(cpu_ns) FILTER (WHERE exit_code <> 0 OR exit_signal <> 0), 0)::BIGINT AS failed_cpu_ns,
       sum(CASE WHEN requested_millicpus * (wall_ns // 1000) < used_cpu_ns THEN 0 ELSE requested_millicpus * (wall_ns // 1000) - used_cpu_ns END)::BIGINT
           AS unused_cpu_ns,
       sum(CASE WHEN requested_memory_bytes < used_bytes THEN 0 ELSE (requested_memory_bytes - used_bytes)::DOUBLE * wall_ns / 1e9 END)
           AS unused_memory_byte_s
FROM tasks_used
WHERE date >= (of_month || '-01')::DATE AND date < (of_month || '-01')::DATE + INTERVAL 1 MONTH
GROUP BY "user"
ORDER BY failed_cpu_ns + coalesce(unused_cpu_ns, 0) DESC, "user" NULLS LAST;

CREATE OR REPLACE MACRO idle_hosts(of_day) AS TABLE
SELECT host_name, boot_id, max(cpus) AS cpus, sum(time_ns - since_ns)::BIGINT AS observed_ns,
       sum(idle_cpu_ns)::BIGINT AS idle_cpu_ns, sum(task_cpu_ns)::BIGINT AS task_cpu_ns,
       sum(idle_cpu_ns) / nullif(sum((time_ns - since_ns) * cpus) FILTER (WHERE idle_cpu_ns IS NOT NULL), 0)::DOUBLE AS idle_share,
       coalesce(sum(time_ns - since_ns) FILTER (WHERE tasks = 0), 0)::BIGINT AS without_task_ns
FROM host_samples
WHERE date = of_day::DATE
GROUP BY host_name, boot_id
ORDER BY idle_share DESC NULLS LAST, host_name, boot_id;

-- Of a minute and more, with less than a tenth of the CPU time that they asked for; where they did not say, of one CPU.
CREATE OR REPLACE MACRO idle_tasks(from_time, to_time) AS TABLE
SELECT "user", host_name, pipeline, run, step, task, task_key, end_time, wall_ns, used_cpu_ns AS cpu_ns, requested_millicpus,
       used_cpu_ns / (coalesce(requested_millicpus, 1000) * (wall_ns / 1000)) AS cpu_share,
       coalesce(requested_millicpus, 1000) * (wall_ns // 1000) - used_cpu_ns AS idle_cpu_ns
FROM tasks_used
WHERE end_time >= from_time::TIMESTAMPTZ AND end_time < to_time::TIMESTAMPTZ AND wall_ns >= 60000000000
      AND used_cpu_ns < coalesce(requested_millicpus, 1000) * (wall_ns // 10000)
ORDER BY idle_cpu_ns DESC;

-- A week is of the year that its Thursday is in.
CREATE OR REPLACE MACRO failures(of_week) AS TABLE
SELECT pipeline, step, list_extract(failures, 1).tool AS tool, exit_code, exit_signal, count(*) AS tasks, count(DISTINCT "user") AS users,
       count(DISTINCT host_name) AS hosts, sum(cpu_ns)::BIGINT AS cpu_ns, min(end_time) AS first_time, max(end_time) AS last_time
FROM tasks_last
WHERE (exit_code <> 0 OR exit_signal <> 0)
      AND year(date_trunc('week', date)::DATE + 3) || '-W' || lpad(weekofyear(date)::STRING, 2, '0') = of_week
GROUP BY ALL
ORDER BY tasks DESC, last_time;
