# SPDX-License-Identifier: Apache-2.0
"""Recordings and sessions as tables of DuckDB: what costs, tune, sweep, what-if and recommend stand on.

    with connect() as connection, opened(connection, "run.tracer", "tasks_last"):
        rows = table_of(connection, "SELECT * FROM recorded_tasks_last")
"""

from ._database import connect, insert, quoted, table_of
from ._opened import VIEWS, opened, recordings_in, recordings_of, register, series_of, view_of, with_views
from ._queries import query

__all__ = ["VIEWS", "connect", "insert", "opened", "query", "quoted", "recordings_in", "recordings_of", "register",
           "series_of", "table_of", "view_of", "with_views"]
