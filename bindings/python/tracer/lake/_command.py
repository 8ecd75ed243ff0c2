# SPDX-License-Identifier: Apache-2.0
"""The command `tracer lake`."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

__all__ = ["add_commands", "run"]

# Command -> the file that does it, which is imported for it only.
_COMMANDS: dict[str, str] = {"runs": "_runs", "fetch": "_fetch", "compact": "_compact", "forget": "_retain", "sql": "_ask", "views": "_ask"}


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    lake = commands.add_parser(
        "lake", help="bring what many hosts recorded to one place, and ask it",
        description="Ships what services have recorded to a lake: a folder, NFS, or a bucket (s3://, gs://, az://). And asks what "
        "lies there. docs/lake.md explains each command.")
    of_lake = lake.add_subparsers(dest="lake_command", required=True, metavar="COMMAND")
    runs = of_lake.add_parser("runs", help="list the runs of all hosts")
    runs.add_argument("lake", metavar="LAKE")
    fetch = of_lake.add_parser("fetch", help="get all recordings of a run, of all its hosts")
    fetch.add_argument("lake", metavar="LAKE")
    fetch.add_argument("run", metavar="RUN")
    fetch.add_argument("folder", metavar="DIR")
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
    views = of_lake.add_parser("views", help="write a file with all tables and views for any client of DuckDB")
    views.add_argument("lake", metavar="LAKE")
    views.add_argument("file", metavar="FILE.duckdb")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    done: tuple[str, int] = import_module(f".{_COMMANDS[options.lake_command]}", __package__).run(options)
    return done
