-- The last row of each task; rows without a key are all kept.
SELECT * FROM {recorded}tasks
QUALIFY task_key IS NULL OR row_number() OVER (PARTITION BY {of}task_key ORDER BY time_ns DESC) = 1
