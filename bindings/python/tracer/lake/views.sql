-- Macros of a lake: docs/lake.md, Ask. They stand on the tables and canonical views beside them.

-- A run that several hosts saw is one row.
CREATE OR REPLACE MACRO runs_over_time(of_pipeline) AS TABLE
SELECT any_value(run) AS run, any_value(run_id) AS run_id, any_value(engine) AS engine, any_value("user") AS "user",
       count(DISTINCT host_name) AS hosts, min(start_time) AS start_time, max(end_time) AS end_time,
       (epoch_us(max(end_time)) - epoch_us(min(start_time))) * 1000 AS wall_ns, sum(cpu_ns)::BIGINT AS cpu_ns,
       sum(tasks)::BIGINT AS tasks, sum(failed_tasks)::BIGINT AS failed_tasks,
       bool_or(coalesce(exit_signal, 0) <> 0 OR exit_code <> 0) AS failed
FROM runs_last
WHERE pipeline = of_pipeline
GROUP BY coalesce(engine || '/' || run_id || '/' || coalesce("user", owner_uid::VARCHAR, ''), boot_id || '/' || run_key,
                  boot_id || '/' || pid || '/' || start_ns)
ORDER BY start_time;

-- Classes of input: from a power of 4 up to the next; the first is less than 4 bytes.
CREATE OR REPLACE MACRO usual(of_step, of_tool) AS TABLE
SELECT CASE WHEN class > 0 THEN 1::BIGINT << class ELSE class::BIGINT END AS input_from_bytes, 4::BIGINT << class AS input_to_bytes,
       count(*) AS processes, quantile_disc(wall_ns, 0.5) AS median_wall_ns, quantile_disc(wall_ns, 0.95) AS p95_wall_ns,
       quantile_disc(cpu_ns, 0.5) AS median_cpu_ns, quantile_disc(cpu_ns, 0.95) AS p95_cpu_ns,
       quantile_disc(peak_rss_bytes, 0.5) AS median_peak_rss_bytes, quantile_disc(peak_rss_bytes, 0.95) AS p95_peak_rss_bytes
FROM (SELECT (length(bin(read_bytes)) - 1) // 2 * 2 AS class, wall_ns, cpu_ns, peak_rss_bytes
      FROM processes WHERE step = of_step AND tool = of_tool)
GROUP BY class
ORDER BY class;

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
ORDER BY cpu_ns DESC NULLS LAST, work."user";

CREATE OR REPLACE MACRO waste_by_user(of_month) AS TABLE
SELECT "user", count(*) AS tasks, count(*) FILTER (exit_code <> 0 OR exit_signal <> 0) AS failed_tasks,
       coalesce(sum(cpu_ns) FILTER (exit_code <> 0 OR exit_signal <> 0), 0)::BIGINT AS failed_cpu_ns,
       sum(CASE WHEN requested_millicpus * wall_ns // 1000 < cpu_ns THEN 0 ELSE requested_millicpus * wall_ns // 1000 - cpu_ns END)::BIGINT
           AS unused_cpu_ns,
       sum(CASE WHEN requested_memory_bytes < peak_bytes THEN 0 ELSE (requested_memory_bytes - peak_bytes)::DOUBLE * wall_ns / 1e9 END)
           AS unused_memory_byte_s
FROM tasks_last
WHERE date >= (of_month || '-01')::DATE AND date < (of_month || '-01')::DATE + INTERVAL 1 MONTH
GROUP BY "user"
ORDER BY failed_cpu_ns + coalesce(unused_cpu_ns, 0) DESC, "user";

CREATE OR REPLACE MACRO idle_hosts(of_day) AS TABLE
SELECT host_name, boot_id, max(cpus) AS cpus, sum(time_ns - since_ns)::BIGINT AS observed_ns,
       sum(idle_cpu_ns)::BIGINT AS idle_cpu_ns, sum(task_cpu_ns)::BIGINT AS task_cpu_ns,
       sum(idle_cpu_ns) / nullif(sum((time_ns - since_ns) * cpus) FILTER (idle_cpu_ns IS NOT NULL), 0)::DOUBLE AS idle_share,
       coalesce(sum(time_ns - since_ns) FILTER (tasks = 0), 0)::BIGINT AS without_task_ns
FROM host_samples
WHERE date = of_day::DATE
GROUP BY host_name, boot_id
ORDER BY idle_share DESC NULLS LAST, host_name;

-- Of a minute and more, with less than a tenth of the CPU time that they asked for; where they did not say, of one CPU.
CREATE OR REPLACE MACRO idle_tasks(from_time, to_time) AS TABLE
SELECT "user", host_name, pipeline, run, step, task, task_key, end_time, wall_ns, cpu_ns, requested_millicpus,
       cpu_ns / (coalesce(requested_millicpus, 1000) * (wall_ns / 1000)) AS cpu_share,
       coalesce(requested_millicpus, 1000) * wall_ns // 1000 - cpu_ns AS idle_cpu_ns
FROM tasks_last
WHERE end_time >= from_time::TIMESTAMPTZ AND end_time < to_time::TIMESTAMPTZ AND wall_ns >= 60000000000
      AND cpu_ns < coalesce(requested_millicpus, 1000) * (wall_ns // 10000)
ORDER BY idle_cpu_ns DESC;

CREATE OR REPLACE MACRO failures(of_week) AS TABLE
SELECT pipeline, step, failures[1].tool AS tool, exit_code, exit_signal, count(*) AS tasks, count(DISTINCT "user") AS users,
       count(DISTINCT host_name) AS hosts, sum(cpu_ns)::BIGINT AS cpu_ns, min(end_time) AS first_time, max(end_time) AS last_time
FROM tasks_last
WHERE (exit_code <> 0 OR exit_signal <> 0)
      AND date >= strptime(of_week || '-1', '%G-W%V-%u')::DATE AND date < strptime(of_week || '-1', '%G-W%V-%u')::DATE + 7
GROUP BY ALL
ORDER BY tasks DESC, last_time;
