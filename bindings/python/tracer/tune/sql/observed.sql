-- Each attempt: what it requested and used, how it ended, and what it needed at least.
CREATE TABLE observed AS
SELECT *,
    CASE WHEN outcome = 'out of memory' THEN {oom_factor} * greatest(coalesce(used_gib, 0),
            CASE WHEN is_exact AND used_gib < {most_of_limit} * limit_gib THEN 0 ELSE coalesce(limit_gib, 0) END)
        WHEN outcome = 'succeeded' AND at_limit THEN limit_gib
        -- Java, R and Python end by themselves where they get no more.
        WHEN outcome IN ('failed', 'killed', 'unknown') AND used_gib >= {near_limit} * limit_gib THEN greatest(limit_gib, used_gib)
        -- A peak that was polled misses what came after the last look.
        WHEN outcome = 'killed' AND oom IS NULL THEN greatest(limit_gib, used_gib)
        WHEN outcome IN ('failed', 'killed', 'unknown') THEN used_gib
        END AS at_least_gib,
    CASE WHEN outcome NOT IN ('succeeded', 'cached') AND (starts_with(status, 'TIMEOUT') OR exit_code = {out_of_time}
        OR life_us >= {near_limit} * requested_us) THEN greatest(requested_us, life_us) END AS at_least_us
FROM (
    SELECT *,
        coalesce(used_gib >= {near_limit} * limit_gib AND memory_ns >= {reclaimed} * wall_ns, false) AS at_limit,
        CASE WHEN status = 'CACHED' THEN 'cached'
            WHEN oom OR status LIKE 'OUT_OF_ME%' OR status LIKE 'OOM%' THEN 'out of memory'
            WHEN status IN ('COMPLETED', 'SUCCEEDED', 'SUCCESS', 'DONE', 'OK')
                THEN CASE WHEN coalesce(exit_code, 0) = 0 THEN 'succeeded' ELSE 'failed' END
            WHEN (exit_code = 137 OR exit_code IS NULL AND status = 'FAILED') AND used_gib >= {killed_near_limit} * limit_gib
                THEN 'out of memory'
            WHEN exit_code = 137 THEN 'killed'
            WHEN status <> '' THEN 'failed'
            WHEN exit_code = 0 THEN 'succeeded'
            WHEN exit_code IS NOT NULL THEN 'failed'
            WHEN key IS NULL THEN 'succeeded' ELSE 'unknown' END AS outcome
    FROM (
        SELECT t.task, t.key, t.source, t.pipeline, t.run, t.sample, t.hash, t.t0, t.cpus, t.memory_gib, t.requested_us, t.exit_code,
            t.used_cpus, upper(coalesce(t.status, '')) AS status, coalesce(t.attempt, 1) AS attempt,
            coalesce(t.step, nullif(regexp_replace(t.name, ' \(.*\)$', ''), ''), main.tool, t.tool) AS step,
            coalesce(main.tool, t.tool) AS tool, coalesce(t.name, t.sample, t.hash) AS name,
            coalesce(d.peak_gib, d.peak_at_most_gib, t.used_gib) AS used_gib, coalesce(d.limit_gib, t.memory_gib) AS limit_gib,
            d.peak_gib IS NULL AND d.peak_at_most_gib IS NOT NULL AS is_bound,
            d.key IS NOT NULL AND d.peak_gib IS NULL AND d.peak_at_most_gib IS NULL AS is_lower_bound,
            d.key IS NOT NULL AS is_exact, d.oom, nullif(coalesce(nullif(t.t1 - t.t0, 0), t.command_us), 0) AS life_us, d.wanted_cpus, d.cpu_ns,
            {ledger}, coalesce(t.input_bytes, d.input_bytes) AS input_bytes
        FROM tasks AS t
        LEFT JOIN details AS d ON d.source = t.source AND d.key = t.key
        LEFT JOIN (SELECT task, arg_max(tool, cpu) AS tool FROM tools GROUP BY task) AS main ON main.task = t.task))
