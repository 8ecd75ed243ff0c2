# SPDX-License-Identifier: Apache-2.0
"""The tables of a lake as those of one recording: for what asks recordings, over months, of all hosts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._data import with_views
from ._ask import canonical, lake, view_over
from ._layout import TABLES

__all__ = ["has_tables", "opened_lake"]

_TIMES = ("begin_ns", "end_ns", "since_ns", "time_ns")


def has_tables(path: str) -> bool:
    """Whether it is a lake that is asked by its tables: a bucket, or a folder that was compacted."""
    return "://" in path or os.path.isdir(os.path.join(path, TABLES, "tasks", "_delta_log"))


@contextmanager
def opened_lake(connection: Any, url: str, *names: str, prefix: str = "recorded_") -> Iterator[None]:
    """As `opened` of _data with a label: `source` is the boot_id. Times are Unix time, by the host's clock at the end of their row. The
    programs are those that processes ended with. Raises LakeError."""
    of = lake(url)

    def table(name: str) -> Callable[[], object]:
        columns = view_over(connection, of, "processes" if name == "programs" else name, f"lake_{name}")
        shifted = ", ".join(f"({each} + (time_unix_ns - time_ns)) AS {each}" for each in _TIMES if each in columns)
        replaced = f"REPLACE ({shifted})" if shifted else ""
        connection.execute(f"CREATE TEMP VIEW {prefix}{name} AS SELECT boot_id AS source, * {replaced} FROM lake_{name}")
        return lambda: connection.execute(f"DROP VIEW {prefix}{name}")

    connection.execute(f"CREATE OR REPLACE TEMP MACRO {prefix}us(ns) AS (ns // 1000)::BIGINT")
    with with_views(connection, ("submits", *names), prefix, table, lambda name: canonical(name, prefix, "source, ")):
        yield
