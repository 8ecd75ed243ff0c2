-- Rows with the name of their user, also where the host has said it after they came. Few are without: only they are joined.
WITH of_parts AS NOT MATERIALIZED (SELECT {rows})
SELECT * FROM of_parts WHERE "user" IS NOT NULL
UNION ALL
SELECT of_parts.* REPLACE (said."user" AS "user")
FROM of_parts LEFT JOIN (SELECT {users}) AS said ON of_parts.host_name = said.host_name AND coalesce({uids}) = said.uid
WHERE of_parts."user" IS NULL
