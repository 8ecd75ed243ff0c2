-- Lines that no task, machine or split has taken.
CREATE TEMP TABLE rest AS SELECT * FROM work WHERE used_cost IS NULL AND line NOT IN (SELECT line FROM pieces);

INSERT INTO pieces
SELECT line, task, {run}, 'allocated', {kind}, cost, NULL FROM rest WHERE term = 'usage' AND {belongs}
UNION ALL SELECT line, NULL, NULL, 'unobserved', 'machine that nobody watched', cost, NULL
FROM rest WHERE term = 'usage' AND NOT {belongs} AND tag_run IS NULL AND instance IS NOT NULL AND shape <> 'network'
UNION ALL SELECT line, NULL, NULL, 'not_attributable', CASE WHEN tag_run IS NOT NULL THEN {strange}
    WHEN shape = 'volume' THEN 'volume of no known machine' WHEN shape = 'network' THEN 'transfer of no task' ELSE bucket END,
    cost, NULL
FROM rest
WHERE term = 'usage' AND NOT {belongs} AND NOT (tag_run IS NULL AND instance IS NOT NULL AND shape <> 'network')
UNION ALL SELECT line, NULL, NULL, 'unused_commitment', 'unused commitment', cost, NULL FROM rest WHERE term = 'unused'
UNION ALL SELECT line, NULL, NULL, 'not_attributable', bucket, cost, NULL FROM rest WHERE term = 'other'
UNION ALL
-- What a commitment's fee has paid for, but nobody used; not more than the fee itself.
SELECT line, NULL, NULL, 'unused_commitment', 'unused commitment', {part}, NULL FROM rest WHERE term = 'commitment'
UNION ALL SELECT line, NULL, NULL, 'not_attributable', bucket, cost - ({part}), NULL FROM rest WHERE term = 'commitment'
