-- A task that an engine of another host submitted is of that run: by the hash that it has on both, and the user's name.
WITH own AS ({own}),
submitted AS (
    SELECT "user", task_id, max_by(struct_pack(pipeline, run, run_id, run_key, engine, step, sample, task), time_unix_ns) AS known
    FROM {recorded}submits
    WHERE run_key IS NOT NULL AND outcome IS DISTINCT FROM 'cached' AND length(task_id) >= 24 AND translate(task_id, '0123456789abcdef/-', '') = ''
    GROUP BY "user", task_id)
SELECT coalesce(known.pipeline, own.pipeline) AS pipeline, coalesce(known.run, own.run) AS run, coalesce(known.run_id, own.run_id) AS run_id,
       coalesce(known.run_key, own.run_key) AS run_key, coalesce(known.engine, own.engine) AS engine, coalesce(known.step, own.step) AS step,
       coalesce(known.sample, own.sample) AS sample, coalesce(known.task, own.task) AS task,
       own.* EXCLUDE (pipeline, run, run_id, run_key, engine, step, sample, task)
FROM own LEFT JOIN submitted ON own."user" = submitted."user" AND own.task_id = submitted.task_id
