CREATE TEMP TABLE twins AS
SELECT r.task AS recorded, any_value(t.task) AS listed
FROM tasks AS r
JOIN tasks AS t ON t.hash = r.hash AND t.key IS NULL AND t.status IS DISTINCT FROM 'CACHED'
    AND (t.step IS NULL OR r.step IS NULL OR t.step = r.step)
WHERE r.key IS NOT NULL AND r.hash IS NOT NULL
GROUP BY r.task
HAVING count(*) = 1
