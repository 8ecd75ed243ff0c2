SELECT bucket, sum(cpus * span), sum(memory_bytes::DOUBLE * span)
FROM (
    SELECT bucket, cpus, memory_bytes,
        least(t1, {last} - bucket * {bucket}) - greatest(t0, {last} - (bucket + 1) * {bucket}) AS span
    FROM (
        SELECT cpus, memory_bytes, t0, t1,
            unnest(range(({last} - t1) // {bucket}, least(({last} - t0) // {bucket} + 1, ?))) AS bucket
        FROM (
            SELECT cpus, memory_bytes, t0, least(coalesce(t1, {last}), {last}) AS t1
            FROM requests WHERE machine = ? AND t0 < {last})))
WHERE span > 0 GROUP BY bucket
