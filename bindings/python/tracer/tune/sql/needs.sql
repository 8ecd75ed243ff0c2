SELECT key, outcome, CASE WHEN NOT is_lower_bound THEN used_gib * 1073741824 END AS peak_bytes,
    at_least_gib * 1073741824 AS at_least_bytes,
    CASE WHEN is_lower_bound AND outcome = 'succeeded' THEN used_gib * 1073741824 END AS seen_bytes
FROM observed WHERE key IS NOT NULL
