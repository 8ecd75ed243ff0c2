INSERT INTO host_samples
SELECT {machine}, recorded_us(since_ns), recorded_us(time_ns), cpus, task_cpu_ns, system_cpu_ns, memory_bytes,
    task_memory_bytes, tasks FROM recorded_host_samples;

INSERT INTO machines
SELECT {machine}, {host_name}, max(instance_id::VARCHAR), max(instance_type::VARCHAR), max(provider::VARCHAR), {booted},
    recorded_us(min(since_ns)), (
        SELECT recorded_us(max(time_ns)) FROM (
            SELECT time_ns FROM recorded_host_samples UNION ALL SELECT time_ns FROM recorded_findings
            UNION ALL SELECT time_ns FROM recorded_tasks UNION ALL SELECT time_ns FROM recorded_runs)), count(*) > 0
FROM recorded_host_samples
ON CONFLICT DO UPDATE SET instance = coalesce(excluded.instance, instance),
    instance_type = coalesce(excluded.instance_type, instance_type), provider = coalesce(excluded.provider, provider),
    first = least(first, excluded.first), last = greatest(last, excluded.last), whole = whole OR excluded.whole;

INSERT INTO works
SELECT {machine}, coalesce(any_value(run_id), any_value(run)), any_value(pipeline), any_value(owner_uid), recorded_us(max(end_ns))
FROM (
    SELECT run::VARCHAR AS run, run_id::VARCHAR AS run_id, pipeline::VARCHAR AS pipeline, owner_uid, end_ns, run_key
    FROM recorded_tasks
    UNION ALL SELECT run::VARCHAR, run_id::VARCHAR, pipeline::VARCHAR, owner_uid, end_ns, run_key FROM recorded_runs)
WHERE end_ns IS NOT NULL GROUP BY run_key;

-- Where the recording ended, a finding is closed with it; a task that has ended is not held.
INSERT INTO stalls
SELECT {machine}, coalesce(task, step, run), coalesce(run_id, run), pipeline, owner_uid, subject = 'task', tool,
    [each.text FOR each IN evidence IF each.name = 'waits_for'][1], confidence, code, recorded_us(first_ns), recorded_us(last_ns), (
        SELECT recorded_us(max(end_ns)) FROM (
            SELECT end_ns FROM recorded_tasks AS t WHERE t.task_key = f.task_key
            UNION ALL SELECT end_ns FROM recorded_runs AS r WHERE r.run_key = f.run_key))
FROM recorded_findings_last AS f WHERE code IN ('stalled', 'deadlocked_pipe')
