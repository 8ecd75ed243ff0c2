SELECT key, outcome, CASE WHEN NOT is_lower_bound THEN used_gib * 1073741824 END AS peak_bytes,
    CASE WHEN is_short THEN at_least_gib * 1073741824 END AS at_least_bytes,
    CASE WHEN is_lower_bound AND outcome = 'succeeded' THEN used_gib WHEN NOT is_short THEN at_least_gib END * 1073741824 AS seen_bytes
FROM (SELECT *, outcome IN ('out of memory', 'killed') OR at_least_gib >= limit_gib AS is_short FROM observed) WHERE key IS NOT NULL
