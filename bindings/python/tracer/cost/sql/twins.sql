CREATE OR REPLACE TEMP TABLE twins AS
SELECT r.task AS recorded, any_value(t.task) AS listed
FROM tasks AS r
JOIN tasks AS t ON t.hash = r.hash AND t.key IS NULL AND t.status IS DISTINCT FROM 'CACHED'
    AND (t.step IS NULL OR r.step IS NULL OR t.step = r.step)
WHERE r.key IS NOT NULL AND r.hash IS NOT NULL GROUP BY r.task HAVING count(*) = 1;

-- A bill has the name of the run that its engine's table has.
UPDATE tasks SET run = n.listed
FROM (
    SELECT r.run AS recorded, any_value(t.run) AS listed
    FROM twins JOIN tasks AS r ON r.task = recorded JOIN tasks AS t ON t.task = listed WHERE t.run IS NOT NULL
    GROUP BY r.run HAVING count(DISTINCT t.run) = 1) AS n
WHERE tasks.key IS NOT NULL AND tasks.run IS NOT DISTINCT FROM n.recorded;

UPDATE tasks SET {both}, input_bytes = t.input_bytes
FROM twins, tasks AS t WHERE twins.recorded = tasks.task AND t.task = twins.listed;

DELETE FROM tasks WHERE task IN (SELECT listed FROM twins);

SELECT count(*) FROM twins JOIN tasks ON task = recorded WHERE coalesce(cpus, memory_gib, requested_us) IS NOT NULL
