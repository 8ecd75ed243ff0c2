-- Of each host and month, who used its CPUs, as far as a service has watched it; and the tasks that ended there.
WITH used AS (
    SELECT date_trunc('month', date)::DATE AS month, host_name AS host, max(cpus) AS cpus, sum(time_ns - since_ns)::BIGINT AS observed_ns,
           sum((time_ns - since_ns)::HUGEINT * cpus)::BIGINT AS all_cpu_ns, sum(task_cpu_ns)::BIGINT AS task_cpu_ns, sum(system_cpu_ns)::BIGINT AS other_cpu_ns,
           sum(idle_cpu_ns)::BIGINT AS idle_cpu_ns, count(*) = count(task_cpu_ns) AS all_of_task, count(*) = count(system_cpu_ns) AS all_of_other,
           count(*) = count(idle_cpu_ns) AS all_of_idle
    FROM host_samples GROUP BY ALL),
done AS (
    SELECT date_trunc('month', date)::DATE AS month, host_name AS host, count(*) AS tasks, count(*) FILTER (WHERE exit_code <> 0 OR exit_signal <> 0) AS failed_tasks
    FROM tasks_last GROUP BY ALL)
SELECT strftime(month, '%Y-%m') AS month, host, cpus, observed_ns, all_cpu_ns, task_cpu_ns, other_cpu_ns, idle_cpu_ns, all_of_task, all_of_other, all_of_idle,
       coalesce(tasks, 0) AS tasks, coalesce(failed_tasks, 0) AS failed_tasks
FROM used FULL JOIN done USING (month, host) ORDER BY month DESC, host LIMIT {most}
