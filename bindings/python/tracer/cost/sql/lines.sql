-- Without a zone, a time is that of the connection: UTC. A TIMESTAMP would leave out a zone that is there.
CREATE TABLE lines AS
SELECT (row_number() OVER ())::BIGINT AS line, file, row, epoch_us(try_cast("start" AS TIMESTAMPTZ)) AS t0,
    epoch_us(try_cast("end" AS TIMESTAMPTZ)) AS t1, nullif(instance, '') AS instance,
    nullif(regexp_extract(resource, ':task/.*([0-9a-f]{{32}})$', 1), '') AS ecs,
    nullif(regexp_extract(resource, '(vol-[0-9a-f]+)$', 1), '') AS volume,
    try_cast(regexp_extract(vcpus, '[0-9.]+') AS DOUBLE) AS vcpus,
    try_cast(regexp_extract(memory, '[0-9.]+') AS DOUBLE) AS memory_gib, try_cast(hours AS DOUBLE) AS hours, {money}, account, payer,
    period, invoice, service, usage_type, line_type, resource, parent, instance_type, currency, tags, term, bucket, shape
FROM read
