-- Files that a task read and did not write, as in the lineage: the same inode is the same file.
SELECT {of}task_key, count(*) AS files, sum(size_bytes)::DOUBLE AS bytes
FROM (
    SELECT {of}task_key::STRING AS task_key, max(size_bytes) AS size_bytes
    FROM {recorded}files WHERE task_key IS NOT NULL AND path IS NOT NULL
    GROUP BY {of}task_key, device, inode, CASE WHEN inode IS NULL THEN path END
    HAVING bool_or(opened_to_read) AND NOT bool_or(opened_to_write OR created))
GROUP BY {of}task_key
