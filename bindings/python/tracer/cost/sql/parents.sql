-- Split lines whose machine is in the bill itself, and the lines of these machines, with what they are worth as split lines count.
SELECT {parent} AS machine, t0, t1, line, used_cost, unused_cost, NULL, task, {run}, {kind}, {belongs}, {strange}, NULL
FROM work WHERE of_parent
UNION ALL SELECT coalesce(instance, resource), t0, t1, line, NULL, NULL, cost, NULL, NULL, NULL, NULL, NULL, {amortized}
FROM work WHERE used_cost IS NULL AND shape = 'machine' AND term = 'usage'
    AND coalesce(instance, resource) IN (SELECT {parent} FROM work WHERE of_parent)
ORDER BY 1, 2, 4
