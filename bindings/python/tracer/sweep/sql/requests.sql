-- Of tasks that no file before had: several recordings of a host have some in common.
CREATE OR REPLACE TEMP TABLE read_requests AS
SELECT * FROM ({rows})
WHERE task_key IS NULL OR task_key NOT IN (SELECT task_key FROM tasks_read WHERE machine = {machine});

INSERT INTO requests
SELECT {machine}, t0, t1, cpus, requested_memory_bytes FROM read_requests
WHERE cpus IS NOT NULL OR requested_memory_bytes IS NOT NULL;

INSERT INTO tasks_read SELECT DISTINCT {machine}, task_key FROM read_requests WHERE task_key IS NOT NULL
