#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long the costs of a large bill take, and checks that its terms sum to it.

usage: bench/cost.py [--by WHAT] [--tasks FILE] [--seconds N] BILL...
       bench/cost.py --make N FOLDER

Any bills of one format. --make writes a bill of N lines of machines and N tasks on them, with a table of the machines:
an answer of the largest size, as each line is shared by time. Needs duckdb. Exit status 1: not exact, or too slow.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import resource
import sys
import time
from decimal import Decimal

_HOURS = 100


def make(count: int, folder: pathlib.Path) -> None:
    """Machine m runs for 100 hours; in each it has one task of half an hour."""
    folder.mkdir(parents=True, exist_ok=True)
    begin = 1767225600
    iso = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))  # noqa: E731
    with open(folder / "bill.csv", "w", newline="") as bill, open(folder / "tasks.csv", "w", newline="") as tasks, \
            open(folder / "hosts.csv", "w", newline="") as hosts:
        bills, rows, machines = csv.writer(bill), csv.writer(tasks), csv.writer(hosts)
        bills.writerow(["identity_line_item_id", "line_item_usage_start_date", "line_item_usage_end_date", "line_item_line_item_type",
                        "line_item_product_code", "line_item_resource_id", "line_item_usage_type", "line_item_usage_amount",
                        "line_item_unblended_cost", "line_item_currency_code", "product_vcpu", "product_memory"])
        rows.writerow(["run_id", "hash", "process", "start", "complete", "cpus", "memory", "instance", "status"])
        machines.writerow(["instance", "vcpus", "memory_gib", "observed_from", "observed_to"])
        for i in range(count):
            machine, hour = divmod(i, _HOURS)
            name, start = f"i-{machine:017x}", begin + hour * 3600
            if hour == 0:
                machines.writerow([name, 16, 64, iso(begin), iso(begin + _HOURS * 3600)])
            bills.writerow([i, iso(start), iso(start + 3600), "Usage", "AmazonEC2", name, "BoxUsage:m6i.4xlarge", 1,
                            f"0.{700000000000 + i}", "USD", 16, "64 GiB"])
            rows.writerow([f"run{machine % 50}", f"{i:08x}", f"STEP_{i % 20}", iso(start + 600), iso(start + 2400), 8, 32 << 30, name,
                           "COMPLETED"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bills", nargs="*", metavar="BILL")
    parser.add_argument("--by", default="run,step")
    parser.add_argument("--tasks", action="append", default=[])
    parser.add_argument("--hosts")
    parser.add_argument("--repeated", default="error")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--make", nargs=2, metavar=("N", "FOLDER"))
    options = parser.parse_args()
    if options.make:
        make(int(options.make[0]), pathlib.Path(options.make[1]))
        return 0
    from tracer.cost import costs

    begun = time.monotonic()
    result = costs(options.bills, options.tasks, by=options.by.split(","), hosts=options.hosts, repeated=options.repeated)
    took = time.monotonic() - begun
    usage = resource.getrusage(resource.RUSAGE_SELF)
    peak = usage.ru_maxrss / (1 << 20)
    exact = result.lines_off == 0 and Decimal(result.difference) == 0
    print(f"{result.lines:,} lines, {result.tasks:,} tasks, {len(result.rows):,} rows: {took:.1f} s, CPU "
          f"{usage.ru_utime + usage.ru_stime:.1f} s, {peak:.2f} GiB; "
          f"difference {result.difference}, {result.lines_off} lines off")
    for currency, sums in result.totals.items():
        print(f"{currency or 'no currency'}: {sums[result.basis]}")
    for note in result.notes:
        print(f"note: {note}")
    return 0 if exact and took <= options.seconds else 1


if __name__ == "__main__":
    sys.exit(main())
