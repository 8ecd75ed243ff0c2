# SPDX-License-Identifier: Apache-2.0
"""The command `tracer lake`."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

__all__ = ["add_commands", "run"]

# Of the service, as its package makes it.
DEFAULT_OUTBOX = "/var/lib/tracer/outbox"

# Command -> the file that does it, which is imported for it only.
_COMMANDS: dict[str, str] = {"ship": "_ship", "status": "_status", "runs": "_runs", "fetch": "_fetch", "compact": "_compact",
                             "forget": "_retain", "sql": "_ask", "views": "_ask"}


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    lake = commands.add_parser(
        "lake", help="bring what many hosts recorded to one place, and ask it",
        description="Ships what services have recorded to a lake: a folder, NFS, or a bucket (s3://, gs://, az://). And asks what "
        "lies there. docs/lake.md explains each command.")
    of_lake = lake.add_subparsers(dest="lake_command", required=True, metavar="COMMAND")
    runs = of_lake.add_parser(
        "runs", help="list the runs of all hosts",
        description="Lists the runs that hosts have shipped, the newest first: what several hosts saw of one run is one.")
    runs.add_argument("lake", metavar="LAKE", help="a folder, or s3://BUCKET/FOLDER, gs://…, az://…")
    runs.add_argument("--days", metavar="N", type=float, default=7, help="what came in so many days. Default: 7")
    runs.add_argument("--json", action="store_true", help="write them as JSON: docs/lake.md describes it")
    fetch = of_lake.add_parser(
        "fetch", help="get all recordings of a run, of all its hosts",
        description="Brings the recordings of a run, of all its hosts, into a folder, which each command that takes recordings reads.")
    fetch.add_argument("lake", metavar="LAKE", help="as with runs")
    fetch.add_argument("run", metavar="RUN", help="its name, or its key, as 'tracer lake runs' shows them")
    fetch.add_argument("folder", metavar="DIR", help="where the recordings go; it is made if it is missing")
    ship = of_lake.add_parser(
        "ship", help="bring what waits in the outbox to a lake",
        description="Brings what waits in the outbox to a lake, oldest first, and goes on for ever. A part that has arrived leaves the outbox; nothing "
        "in the lake is overwritten. docs/lake.md says where credentials are looked for.")
    ship.add_argument("target", metavar="TARGET", help="a folder, s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or az://CONTAINER/FOLDER")
    ship.add_argument("--once", action="store_true",
                      help="try everything that waits once, and end. The exit status is 1 if some of it could not be shipped")
    status = of_lake.add_parser(
        "status", help="show what waits in the outbox, and why",
        description="Shows what waits in the outbox, what was lost, and what fails. The exit status is 3 if something fails now.")
    status.add_argument("--json", action="store_true", help="write it as one JSON object")
    for each in (ship, status):
        each.add_argument("--outbox", metavar="DIR", default=DEFAULT_OUTBOX, help="default: %(default)s")
    compact = of_lake.add_parser("compact", help="bring the recordings into tables",
                                 description="Brings all recordings of a lake into its tables, each row once. To be run by a timer, as often as "
                                 "tables are to be up to date; several at once, and killed ones, do no harm.")
    compact.add_argument("lake", metavar="LAKE")
    compact.add_argument("--files", action="store_true", help="with a table of the files that processes used")
    compact.add_argument("--connections", action="store_true", help="with a table of their connections")
    compact.add_argument("--keep-raw", metavar="DAYS", type=int, help="remove recordings that are in the tables and arrived so long ago")
    compact.add_argument("--keep-tables", metavar="DAYS", type=int, help="remove rows of days so long ago")
    forget = of_lake.add_parser("forget", help="remove the rows of a user, run or sample from the tables")
    forget.add_argument("lake", metavar="LAKE")
    forget.add_argument("--user", metavar="NAME")
    forget.add_argument("--run", metavar="NAME", help="its name, the engine's id, or its key")
    forget.add_argument("--sample", metavar="NAME")
    sql = of_lake.add_parser("sql", help="ask the tables, and print the rows as CSV")
    sql.add_argument("lake", metavar="LAKE")
    sql.add_argument("query", metavar="QUERY")
    views = of_lake.add_parser("views", help="write a file with all tables and views for any client of DuckDB, or for Spark")
    views.add_argument("lake", metavar="LAKE")
    views.add_argument("file", metavar="FILE", help="a new one: NAME.sql has SQL for Spark, any other is of DuckDB")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    done: tuple[str, int] = import_module(f".{_COMMANDS[options.lake_command]}", __package__).run(options)
    return done
