-- The last row of each run; rows without a key are all kept.
SELECT * FROM {recorded}runs
QUALIFY run_key IS NULL OR row_number() OVER (PARTITION BY {of}run_key ORDER BY time_ns DESC) = 1
