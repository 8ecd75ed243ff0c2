-- What each step or tool costs, what of it is reserved for nothing, and what the advice saves.
SELECT kind, round(sum(amount), {places})::VARCHAR,
    round(sum(amount * (1 - {used} / whole)) FILTER (used_cpus IS NOT NULL AND used_gib IS NOT NULL), {places}),
    round(sum(amount * (1 - {advised} / whole)), {places})
FROM (SELECT a.*, p.amount::DOUBLE AS amount, nullif({reserved}, 0) AS whole FROM pieces AS p JOIN advised AS a USING (task))
GROUP BY kind
