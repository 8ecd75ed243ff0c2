-- Tasks, with what was used of what they asked for. One inside of another asked for nothing more: what it used counts for the outermost,
-- up to four deep. Memory: the most that one of them held.
WITH direct AS (SELECT * FROM task_outer),
above AS (
    SELECT one.boot_id, one.task_key, coalesce(three.outer_key, two.outer_key, one.outer_key) AS outer_key
    FROM direct AS one
    LEFT JOIN direct AS two ON two.boot_id = one.boot_id AND two.task_key = one.outer_key
    LEFT JOIN direct AS three ON three.boot_id = two.boot_id AND three.task_key = two.outer_key),
inside AS (
    SELECT above.boot_id, above.outer_key, CASE WHEN count(cpu_ns) = count(*) THEN sum(cpu_ns)::BIGINT END AS cpu_ns, max(peak_bytes) AS peak_bytes
    FROM above JOIN tasks_last AS own ON own.boot_id = above.boot_id AND own.task_key = above.task_key
    GROUP BY above.boot_id, above.outer_key)
SELECT own.*,
       CASE WHEN above.outer_key IS NULL THEN own.cpu_ns + CASE WHEN inside.outer_key IS NULL THEN 0 ELSE inside.cpu_ns END END AS used_cpu_ns,
       CASE WHEN above.outer_key IS NULL THEN CASE WHEN own.peak_bytes < inside.peak_bytes THEN inside.peak_bytes ELSE own.peak_bytes END END AS used_bytes
FROM tasks_last AS own
LEFT JOIN above ON above.boot_id = own.boot_id AND above.task_key = own.task_key
LEFT JOIN inside ON inside.boot_id = own.boot_id AND inside.outer_key = own.task_key
