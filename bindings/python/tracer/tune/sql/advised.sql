-- What each attempt would have requested by the advice.
CREATE TABLE advised AS
SELECT k.task, k.kind, k.life_us / 3.6e9 AS hours, k.cpus, k.memory_gib, k.used_cpus, k.used_gib,
    coalesce(a.advised_cpus, k.cpus) AS new_cpus,
    coalesce(a.advised_gib, k.memory_gib) AS new_gib,
    CASE WHEN a.slope * k.input_bytes IS NULL THEN new_gib
        ELSE greatest(a.constant + a.slope * k.input_bytes, {least_bytes}) / 1073741824 END AS line_gib
FROM kinds AS k
LEFT JOIN advice AS a USING (kind)
WHERE k.outcome <> 'cached'
