-- CPUs that its threads ran on or stood in line for, which 95 % of its time do not exceed. What a process ran and waited
-- between two samples is spread evenly between them; its end is its last sample. A clock of a running thread lags by a tick,
-- so that the next interval seems to have more than its threads can want.
INSERT INTO wanted
WITH seen AS (
    SELECT task_key::VARCHAR AS key, pid, start_ns, time_ns AS end_ns, cpu_ns::DOUBLE + run_queue_ns AS demand, threads
    FROM seen_samples WHERE kind = 'process_sample' AND task_key IS NOT NULL AND attached_ns IS NULL
    UNION ALL SELECT task_key::VARCHAR, pid, start_ns, end_ns, cpu_ns::DOUBLE + run_queue_ns, threads FROM recorded_processes
    WHERE end_ns IS NOT NULL AND task_key IS NOT NULL AND attached_ns IS NULL),
parts AS (
    SELECT key, coalesce(lag(end_ns) OVER life, start_ns)::DOUBLE AS begin_ns, end_ns::DOUBLE AS end_ns,
        greatest(demand - coalesce(lag(demand) OVER life, 0), 0) AS demand,
        greatest(threads, coalesce(lag(threads) OVER life, 1)) AS threads
    FROM seen WINDOW life AS (PARTITION BY key, pid, start_ns ORDER BY end_ns)),
rates AS (
    SELECT key, begin_ns, end_ns, least(demand / (end_ns - begin_ns), threads) AS rate FROM parts WHERE end_ns > begin_ns),
edges AS (
    SELECT key, edge_ns, sum(rate) AS rate FROM (
        SELECT key, begin_ns AS edge_ns, rate FROM rates UNION ALL SELECT key, end_ns, -rate FROM rates) GROUP BY key, edge_ns),
levels AS (
    SELECT key, sum(rate) OVER life AS level, lead(edge_ns) OVER life - edge_ns AS length FROM edges
    WINDOW life AS (PARTITION BY key ORDER BY edge_ns)),
ranked AS (
    SELECT key, level, sum(length) OVER (PARTITION BY key ORDER BY level ROWS UNBOUNDED PRECEDING) AS up_to,
        sum(length) OVER (PARTITION BY key) AS whole FROM levels WHERE length > 0)
SELECT {source}, key, min(level) FILTER (up_to >= 0.95 * whole) AS cpus FROM ranked
WHERE key NOT IN (SELECT key FROM seen WHERE demand IS NULL) GROUP BY key
