-- The last row of each run; rows without a key are all kept.
SELECT * EXCLUDE (place_from_last)
FROM (SELECT *, row_number() OVER (PARTITION BY {of}run_key ORDER BY time_ns DESC) AS place_from_last FROM {recorded}runs)
WHERE run_key IS NULL OR place_from_last = 1
