#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long a sweep of many tasks takes: of machines that were watched for a day, whose tables are made up.

usage: bench/sweep.py [--tasks N] [--machines N] [--seconds N]

Each task has a request. Half of the machines are idle at the end, the others underfilled. Needs duckdb. Exit status 1: a
finding is missing, or it is too slow.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

_DAY = 1_795_000_020_000_000
_HOUR = 3_600_000_000


def main() -> int:
    from tracer.cost._database import connect
    from tracer.sweep._inventory import Inventory
    from tracer.sweep._judge import findings_of
    from tracer.sweep._recorded import Recorded
    from tracer.sweep._rules import read_rules

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    connection = connect()
    recorded = Recorded(connection)
    count, tasks = options.machines, options.tasks
    connection.execute(f"""INSERT INTO machines SELECT 'm' || i, 'm' || i, NULL, 'm6i.xlarge', 'aws', {_DAY}, {_DAY}, {_DAY + 24 * _HOUR},
        true FROM range({count}) AS r(i)""")
    connection.execute(f"""INSERT INTO host_samples SELECT 'm' || i, {_DAY} + k * 10000000, {_DAY} + (k + 1) * 10000000, 16,
        CASE WHEN i % 2 = 0 AND k >= 7200 THEN 0 ELSE 60000000000 END, 100000000, 68719476736, 8589934592,
        CASE WHEN i % 2 = 0 AND k >= 7200 THEN 0 ELSE 4 END FROM range({count}) AS r(i), range(8640) AS s(k)""")
    connection.execute(f"""INSERT INTO works SELECT 'm' || (i % {count}), 'r' || i, 'p', 1000, {_DAY} + i * {20 * _HOUR} // {tasks}
        FROM range({tasks}) AS r(i)""")
    connection.execute(f"""INSERT INTO requests SELECT 'm' || (i % {count}), {_DAY} + i * {20 * _HOUR} // {tasks},
        {_DAY} + i * {20 * _HOUR} // {tasks} + 60000000, 1, 1073741824 FROM range({tasks}) AS r(i)""")
    begin, cpu = time.perf_counter(), time.process_time()
    found = findings_of(recorded, Inventory(), read_rules(), None)
    seconds = time.perf_counter() - begin
    codes = sorted({each.finding for each in found})
    print(f"{tasks:,} tasks, {count} machines for a day: {len(found)} findings ({', '.join(codes)}) in {seconds:.1f} s, "
          f"CPU {time.process_time() - cpu:.1f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    return 0 if len(found) == count and seconds <= options.seconds else 1


if __name__ == "__main__":
    sys.exit(main())
