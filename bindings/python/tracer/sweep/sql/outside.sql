-- CPU time of processes in no run or task. A snapshot before the time that is asked for says where the sums begin. Of many
-- processes of one tool there is one sample; those that end make it less, and count with their ends.
INSERT INTO outside
SELECT {machine}, recorded_us(time_ns), cgroup, used
FROM (
    SELECT time_ns, cgroup,
        cpu_ns - coalesce(lag(cpu_ns) OVER process, CASE WHEN start_ns >= {from_ns} THEN 0 ELSE cpu_ns END) AS used
    FROM (
        SELECT time_ns, pid, start_ns, CASE WHEN pid IS NULL THEN concat_ws(' ', tool::VARCHAR, uid) END AS fold,
            cgroup::VARCHAR AS cgroup, cpu_ns::BIGINT AS cpu_ns
        FROM recorded_samples
        WHERE kind IN ('process_sample', 'tool_sample') AND run_key IS NULL AND task_key IS NULL AND cpu_ns IS NOT NULL
            AND time_ns::BIGINT >= {from_ns} - 60000000000
        UNION ALL SELECT end_ns, pid, start_ns, NULL, cgroup::VARCHAR, cpu_ns::BIGINT
        FROM recorded_processes
        WHERE end_ns IS NOT NULL AND run_key IS NULL AND task_key IS NULL AND cpu_ns IS NOT NULL AND end_ns::BIGINT >= {from_ns})
    WINDOW process AS (PARTITION BY pid, start_ns, fold ORDER BY time_ns))
WHERE used > 0 AND time_ns::BIGINT >= {from_ns}
