-- Each step, or tool, over all of its attempts that ran.
SELECT kind, any_value(pipeline) AS pipeline, any_value(step) AS step, mode(tool) AS tool, count(*) AS attempts,
    count(*) FILTER ({ok}) AS tasks, count(*) FILTER (outcome = 'out of memory') AS out_of_memory,
    count(*) FILTER (outcome IN ('failed', 'killed')) AS failed, {ledger},
    quantile_disc(cpus, 0.5) FILTER (attempt <= 1) AS cpus_requested,
    sum(used_cpus * life_us) FILTER ({ok}) / nullif(sum(life_us) FILTER ({ok} AND used_cpus IS NOT NULL), 0) AS cpus_used,
    quantile_cont(wanted_cpus, 0.95) FILTER ({ok}) AS cpus_wanted, count(wanted_cpus) FILTER ({ok}) AS with_wanted,
    quantile_disc(memory_gib, 0.5) FILTER (attempt <= 1) AS memory_requested,
    quantile_disc(used_gib, 0.5) FILTER ({ok}) AS memory_median,
    max(used_gib, {tail}) FILTER ({ok} AND NOT is_lower_bound) AS largest,
    count(used_gib) FILTER ({ok} AND NOT is_lower_bound) AS with_peak, max(at_least_gib) AS at_least,
    max(used_gib) FILTER ({ok} AND is_lower_bound) AS bound_from_below,
    count(*) FILTER (outcome IN ('failed', 'killed', 'unknown') AND at_least_gib >= limit_gib) AS lost_at_limit,
    count(*) FILTER (outcome = 'killed' AND at_least_gib IS NULL) AS lost_unknown,
    count(*) FILTER ({ok} AND is_bound) AS bounds, count(*) FILTER (input_bytes IS NOT NULL AND {ok}) AS with_input,
    quantile_disc(requested_us, 0.5) FILTER (attempt <= 1) / 1e6 AS time_requested_s,
    max(at_least_us) / 1e6 AS time_at_least_s, count(at_least_us) AS out_of_time,
    quantile_disc(life_us, 0.5) FILTER ({ok}) / 1e6 AS time_median_s, max(life_us) FILTER ({ok}) / 1e6 AS time_most_s,
    sum(cpus * {hours}) AS cpu_hours_requested, sum(used_cpus * {hours}) AS cpu_hours_used,
    sum(memory_gib * {hours}) AS memory_hours_requested, sum(used_gib * {hours}) AS memory_hours_used,
    max(attempt) AS most_attempts, nullif(count(DISTINCT run) FILTER ({ok}), 0) AS runs
FROM kinds
WHERE outcome <> 'cached'
GROUP BY kind
ORDER BY kind
