-- The attempts that an advice rests on, those that ran short of memory first.
SELECT pipeline, step, coalesce(name, task::VARCHAR) AS name, run, sample, attempt, outcome, cpus, used_cpus, wanted_cpus, memory_gib,
    used_gib, is_bound, CASE WHEN outcome <> 'killed' OR oom IS NOT NULL THEN at_least_gib END AS at_least_gib, input_bytes, life_us / 1e6 AS seconds, requested_us / 1e6 AS requested_s
FROM (
    SELECT *, row_number() OVER (PARTITION BY kind
        ORDER BY outcome IN ('out of memory', 'killed') DESC, used_gib DESC NULLS LAST, task) AS place
    FROM kinds WHERE outcome <> 'cached')
WHERE place <= {shown} ORDER BY place
