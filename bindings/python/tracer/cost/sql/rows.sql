-- The largest first. `staging` has twelve places: of an amount that is exact, the part by time is none.
SELECT {columns} of_currency AS currency,
    CASE WHEN line IS NULL THEN 'estimate' WHEN count(*) > count(of_invoice) THEN 'open' ELSE 'final' END AS state, {terms},
    sum(amount) AS billed, sum(CASE WHEN gap_us > 0 THEN
        CAST(replace(CAST(amount AS DECIMAL(38, 12))::VARCHAR, '.', '') AS HUGEINT) * gap_us // life_us ELSE 0 END) AS staging,
    coalesce(sum(amount) FILTER (kind = 'hidden attempt'), 0) AS hidden_attempts,
    coalesce(sum(amount) FILTER (kind = 'lost attempt'), 0) AS lost_attempts
FROM placed LEFT JOIN centers USING (place) GROUP BY {groups}, line IS NULL ORDER BY billed DESC, {groups}
