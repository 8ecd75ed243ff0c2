-- Lines that another file of the same payer and month has, too. `older`: at least half of the lines of its file are in files that are
-- named after it; `newer`: in files that are named before it.
CREATE OR REPLACE TEMP TABLE deliveries AS
WITH keyed AS (
    SELECT file, row, payer, {period} AS period, coalesce(content, {content}) AS content,
        CASE WHEN identity IS NOT NULL THEN {by_id} END AS id
    FROM read),
found AS (
    SELECT file, row, payer, period, min(file) OVER same AS first, max(file) OVER same AS last, min(file) OVER named AS first_id,
        max(file) OVER named AS last_id
    FROM keyed
    WINDOW same AS (PARTITION BY payer, period, content), named AS (PARTITION BY payer, period, coalesce(id, file::UBIGINT * 4294967296 + row))),
counted AS (
    SELECT *, avg((greatest(last, last_id) > file)::INTEGER) OVER of_file >= 0.5 AND greatest(last, last_id) > file AS older,
        avg((least(first, first_id) < file)::INTEGER) OVER of_file >= 0.5 AND least(first, first_id) < file AS newer
    FROM found WINDOW of_file AS (PARTITION BY file, payer, period))
SELECT file, row, payer, period, older, newer, CASE WHEN older THEN greatest(last, last_id) ELSE least(first, first_id) END AS other
FROM counted WHERE older OR newer
