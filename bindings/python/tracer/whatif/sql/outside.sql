-- What processes of the run that are in none of these tasks hold together at most, if each holds its peak for all of its life; null: a
-- peak is not known.
WITH outside AS (
    SELECT start_ns, max(end_ns) AS end_ns, max(coalesce(peak_rss_bytes, peak_rss_at_most_bytes))::BIGINT AS bytes
    FROM processes
    WHERE run_key::VARCHAR IN ({keys}) AND (task_key IS NULL OR task_key::VARCHAR NOT IN (SELECT key FROM ({tasks})))
    GROUP BY pid, start_ns)
SELECT CASE WHEN (SELECT count(*) = count(bytes) FROM outside) THEN coalesce(max(held), 0)::BIGINT END
FROM (
    SELECT sum(bytes) OVER (ORDER BY time, bytes ROWS UNBOUNDED PRECEDING) AS held
    FROM (SELECT start_ns AS time, bytes FROM outside UNION ALL SELECT end_ns, -bytes FROM outside WHERE end_ns IS NOT NULL))
