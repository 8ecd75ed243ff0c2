CREATE TABLE tasks (task BIGINT, source VARCHAR, pipeline VARCHAR, run VARCHAR, step VARCHAR, sample VARCHAR, tool VARCHAR,
    name VARCHAR, hash VARCHAR, ecs VARCHAR, "user" VARCHAR, folder VARCHAR, instance VARCHAR, instance_type VARCHAR, zone VARCHAR,
    region VARCHAR, price_model VARCHAR, status VARCHAR, t0 BIGINT, t1 BIGINT, command_us BIGINT, cpus DOUBLE, memory_gib DOUBLE,
    used_cpus DOUBLE, used_gib DOUBLE, sent_bytes DOUBLE, attempt INTEGER, key VARCHAR, exit_code INTEGER, requested_us BIGINT,
    input_bytes DOUBLE, unusable INTEGER, outer_key VARCHAR);
CREATE TABLE tools (task BIGINT, tool VARCHAR, cpu DOUBLE, memory DOUBLE);
CREATE TABLE hosts (instance VARCHAR, host_name VARCHAR, instance_type VARCHAR, vcpus DOUBLE, memory_gib DOUBLE, t0 BIGINT,
    t1 BIGINT, system_cpus DOUBLE, system_gib DOUBLE, volumes VARCHAR, sampled BOOLEAN, region VARCHAR);
CREATE TABLE source_files (source VARCHAR, file VARCHAR);
CREATE TABLE recordings (source VARCHAR, host_name VARCHAR, instance VARCHAR);
CREATE MACRO amount_of(number) AS CASE WHEN number >= 0 AND number < 1e18 THEN number END;
-- Nextflow writes both raw numbers and words: 1 GB is 2^30 bytes, 1h 2m 3s is 3,723,000 ms.
CREATE MACRO bytes_of(word) AS amount_of(try_cast(regexp_extract(word, '^([0-9.]+) ?([KMGTP]?)(?:i?B)?$', 1) AS DOUBLE)
    * power(1024, position(regexp_extract(word, '^([0-9.]+) ?([KMGTP]?)(?:i?B)?$', 2) IN ' KMGTP') - 1));
CREATE MACRO part_of(word, unit) AS
    coalesce(try_cast(regexp_extract(word, '(?:^| )([0-9.]+)' || unit || '(?: |$)', 1) AS DOUBLE), 0);
CREATE MACRO sum_of_parts(word) AS part_of(word, 'd') * 86400000 + part_of(word, 'h') * 3600000 + part_of(word, 'm') * 60000
    + part_of(word, 's') * 1000 + part_of(word, 'ms');
-- Up to 30 years.
CREATE MACRO ms_of(word) AS CASE WHEN regexp_full_match(word, '[0-9.]+(d|h|m|s|ms)( [0-9.]+(d|h|m|s|ms))*')
    AND sum_of_parts(word) <= 1e12 THEN sum_of_parts(word) END;
-- The id of a task of ECS in the path of a cgroup.
CREATE MACRO ecs_of(cgroup) AS
    nullif(regexp_extract(cgroup, '(?:/ecs/(?:[^/]+/)?|ecstasks-)([0-9a-f]{{32}})(?:/|$|\.slice)', 1), '')
