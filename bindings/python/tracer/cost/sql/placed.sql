-- Pieces with what they may be shown by. `place`: a number for each that differs in what rules of centers ask for.
CREATE TEMP TABLE placed AS
SELECT *, dense_rank() OVER (ORDER BY of_pipeline, of_user, of_folder, of_account, of_tags) AS place
FROM (
    SELECT p.*, coalesce(t.pipeline, r.pipeline, w.tag_pipeline) AS of_pipeline, coalesce(t."user", r."user", w.tag_user) AS of_user,
        t.folder AS of_folder, w.account AS of_account, {tags} AS of_tags, coalesce(t.run, p.run) AS of_run,
        coalesce(t.step, CASE WHEN w.known_run THEN w.tag_step END) AS of_step,
        coalesce(t.sample, CASE WHEN w.known_run THEN w.tag_sample END) AS of_sample, coalesce(p.tool, t.tool) AS of_tool,
        coalesce(w.instance, t.instance) AS of_instance, w.currency AS of_currency, w.invoice AS of_invoice,
        CASE WHEN p.term = 'allocated' AND p.kind IN ('task', 'lost attempt') AND t.t1 > t.t0 AND t.command_us > 0
            THEN greatest(t.t1 - t.t0 - t.command_us, 0) ELSE 0 END AS gap_us, t.t1 - t.t0 AS life_us
    FROM pieces AS p
    LEFT JOIN tasks AS t USING (task)
    LEFT JOIN work AS w ON w.line = p.line
    LEFT JOIN (SELECT run, any_value(pipeline) AS pipeline, any_value("user") AS "user" FROM tasks GROUP BY run) AS r
        ON r.run = coalesce(t.run, p.run))
