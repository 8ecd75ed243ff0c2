-- The last row of each task; rows without a key are all kept.
SELECT * EXCLUDE (place_from_last)
FROM (SELECT *, row_number() OVER (PARTITION BY {of}task_key ORDER BY time_ns DESC) AS place_from_last FROM {recorded}tasks)
WHERE task_key IS NULL OR place_from_last = 1
