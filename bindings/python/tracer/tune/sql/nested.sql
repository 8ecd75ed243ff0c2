-- Of tasks inside of each other, those that requested something count: the outer one, if none inside of it did. Without any
-- request, or if the outer one has no name, the innermost.
DELETE FROM tasks WHERE task IN (
    WITH RECURSIVE above AS (
        SELECT i.task, o.task AS outer_task, o.source, o.outer_key
        FROM tasks AS i JOIN tasks AS o ON o.source = i.source AND o.key = i.outer_key
        UNION SELECT a.task, o.task, o.source, o.outer_key FROM above AS a JOIN tasks AS o ON o.source = a.source AND o.key = a.outer_key),
    outers AS (
        SELECT outer_task, bool_or(coalesce(o.step, o.name) IS NOT NULL AND coalesce(o.cpus, o.memory_gib, o.requested_us) IS NOT NULL)
            AND NOT bool_or(coalesce(i.cpus, i.memory_gib, i.requested_us) IS NOT NULL) AS counts
        FROM above JOIN tasks AS o ON o.task = outer_task JOIN tasks AS i ON i.task = above.task GROUP BY outer_task)
    SELECT outer_task FROM outers WHERE NOT counts
    UNION SELECT task FROM above JOIN outers USING (outer_task) WHERE counts)
