-- Tasks of recordings with their tools, and the machines that they were made on: `source`. Where a task had a container of ECS, it
-- lived as long as that; those inside of it did not.
INSERT INTO tasks (task, source, pipeline, run, step, sample, name, hash, ecs, "user", folder, status, t0, t1, command_us,
    cpus, memory_gib, used_cpus, used_gib, sent_bytes, attempt, key, exit_code, requested_us, outer_key)
WITH places AS (
    SELECT source, task_key::VARCHAR AS task_key, any_value(ecs_of(cgroup::VARCHAR)) AS ecs, arg_min(cwd::VARCHAR, start_ns) AS cwd
    FROM recorded_processes WHERE task_key IS NOT NULL GROUP BY ALL),
lives AS (
    SELECT source, ecs_of(cgroup::VARCHAR) AS ecs, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns
    FROM recorded_containers WHERE kind = 'container_finish' AND ecs_of(cgroup::VARCHAR) IS NOT NULL GROUP BY ALL)
SELECT {first} + row_number() OVER (ORDER BY t.source, t.begin_ns, t.task_key::VARCHAR), t.source, pipeline,
    coalesce(run_id, run), step, sample, task, left(lower(replace(task_id, '/', '')), 8), CASE WHEN o.outer_key IS NULL THEN places.ecs END, {user}, places.cwd,
    CASE WHEN exit_code = 0 THEN 'COMPLETED' WHEN exit_code IS NOT NULL OR exit_signal IS NOT NULL THEN 'FAILED' END,
    recorded_us(coalesce(lives.begin_ns, t.begin_ns)), recorded_us(coalesce(lives.end_ns, t.end_ns)),
    (t.end_ns - t.begin_ns) // 1000,
    requested_millicpus / 1000, requested_memory_bytes / 1073741824,
    cpu_ns / nullif(coalesce(lives.end_ns, t.end_ns) - coalesce(lives.begin_ns, t.begin_ns), 0),
    coalesce(peak_bytes, peak_at_least_bytes) / 1073741824, network_sent_bytes, attempt, t.task_key::VARCHAR, exit_code,
    requested_time_ns // 1000, o.outer_key
FROM recorded_tasks_last AS t
LEFT JOIN recorded_task_outer AS o ON o.source = t.source AND o.task_key = t.task_key::VARCHAR
LEFT JOIN places ON places.source = t.source AND places.task_key = t.task_key::VARCHAR
LEFT JOIN lives ON lives.source = t.source AND lives.ecs = places.ecs AND o.outer_key IS NULL;

INSERT INTO tools
SELECT tasks.task, p.tool::VARCHAR, sum(p.cpu_ns::DOUBLE), sum(p.peak_rss_bytes::DOUBLE * p.wall_ns::DOUBLE)
FROM recorded_programs AS p
JOIN tasks ON tasks.source = p.source AND p.task_key::VARCHAR = tasks.key
WHERE p.tool IS NOT NULL GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE machines AS
SELECT source, any_value(host_name)::VARCHAR AS host_name, max(cpu_count) AS cpus, max(memory_bytes) AS memory_bytes
FROM recorded_hosts GROUP BY source;

INSERT INTO recordings
SELECT source, any_value(m.host_name), CASE WHEN count(DISTINCT instance_id) = 1 THEN any_value(instance_id)::VARCHAR END
FROM machines AS m LEFT JOIN recorded_host_samples AS s USING (source) GROUP BY source;

INSERT INTO hosts (host_name, vcpus, memory_gib) SELECT host_name, cpus, memory_bytes / 1073741824 FROM machines;

-- Only samples of the whole host say what others used of it, and that nobody used the rest.
INSERT INTO hosts
SELECT instance_id::VARCHAR, m.host_name, instance_type::VARCHAR, nullif(s.cpus, 0)::DOUBLE, s.memory_bytes / 1073741824,
    recorded_us(since_ns), recorded_us(time_ns), system_cpu_ns::DOUBLE / (time_ns - since_ns),
    system_memory_bytes / 1073741824, NULL, true, NULL
FROM recorded_host_samples AS s JOIN machines AS m USING (source)
WHERE time_ns > since_ns AND system_cpu_ns IS NOT NULL AND system_memory_bytes IS NOT NULL
