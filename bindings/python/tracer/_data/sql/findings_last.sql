-- The last row of each finding; rows without a key are all kept.
SELECT * FROM {recorded}findings
QUALIFY finding_key IS NULL OR row_number() OVER (PARTITION BY {of}finding_key ORDER BY time_ns DESC) = 1
