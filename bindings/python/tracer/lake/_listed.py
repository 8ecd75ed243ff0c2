# SPDX-License-Identifier: Apache-2.0
"""What `tracer ui` lists of a lake: its runs, by the tables and by the index, and what its hosts did in each month."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .._data import query
from .._errors import LakeError, MissingPackageError, TracerError
from ._layout import INDEX, RAW, TABLES
from ._over_hosts import LakeRun, runs_of
from ._store import NO_ANSWER, REFUSED, open_store

if TYPE_CHECKING:
    from ._store import Store

__all__ = ["host_months", "lake_at", "listed_runs"]

_MOST_ROWS = 2000
_STATUS = {"succeeded": "done", "unknown": "done", "not ended": "running"}
_OF_ROW = ("run_key", "pipeline", "run", "status", "start_unix_ns", "wall_ns", "tasks", "failed", "cpu_ns", "cpu_ns_at_least", "memory_bytes",
           "memory_bytes_at_least", "memory_bytes_at_most")


def lake_at(url: str) -> Store:
    """Raises LakeError where no lake is, and MissingPackageError."""
    if not all(map(find_spec, ("deltalake", "duckdb", "pyarrow"))):
        raise MissingPackageError("a lake needs deltalake, duckdb and pyarrow, of which one is not installed", "pip install 'libtracer[lake,ui]'")
    store = open_store(url)
    if not any(next(iter(store.list(folder)), None) for folder in (RAW, INDEX, TABLES)):
        raise LakeError.of(REFUSED, None, f"{url} is no lake: it has neither recordings nor tables", "name the target of 'tracer lake ship'")
    return store


def listed_runs(url: str, store: Store, most: int) -> tuple[list[dict[str, Any]], int, list[LakeRun]]:
    """The newest, as rows of docs/api.md; how many older ones the tables have; and what the index says of all that it knows."""
    of_tables = _asked(url, "listed_runs", most)
    left_out = of_tables[0]["runs"] - len(of_tables) if of_tables else 0
    oldest = of_tables[-1]["start_unix_ns"] or 0 if left_out else 0
    known = {key: row for row in of_tables for key in row["keys"]}
    rows, runs = [_row(each) for each in of_tables], runs_of(store)
    row_of = {id(each): row for each, row in zip(of_tables, rows)}
    for run in runs:
        keys = [f"{series[1]}/{key}" for series, of in run.keys.items() for key in of]
        found = next((known[key] for key in keys if key in known), None)
        if found is not None and not found["ended"]:
            row_of[id(found)] |= {"status": _STATUS.get(run.status, run.status), "start_unix_ns": run.begin_unix_ns}
        elif found is None and run.run_key and run.begin_unix_ns >= oldest:
            rows.append(_row_of_index(run))
    return rows, left_out, runs


def host_months(url: str) -> list[dict[str, Any]]:
    """Of each host and month, the newest first, as docs/api.md has them."""
    rows = _asked(url, "host_months", _MOST_ROWS)
    for row in rows:
        for of in ("task", "other", "idle"):
            if row.pop(f"all_of_{of}") is False:
                row[f"{of}_cpu_ns_at_least"] = row.pop(f"{of}_cpu_ns")
    return [_known(row) for row in rows]


def _asked(url: str, name: str, most: int) -> list[dict[str, Any]]:
    """Rows of a query; none where there are no tables yet."""
    from ._ask import Lake
    from ._delta import opened

    with _explained(url):
        if opened(url, "runs") is None:
            return []
        asked = Lake(url).sql(query(__file__, name, most=most))
        return [dict(zip(asked.columns, row)) for row in asked.fetchall()]


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except (TracerError, ImportError):
        raise
    except Exception as error:  # DuckDB, deltalake and Arrow have no common one.
        raise LakeError.of(NO_ANSWER, None, f"the tables of {url} can't be read: {str(error).partition(chr(10))[0]}", "") from None


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _row(found: dict[str, Any]) -> dict[str, Any]:
    row = _known({name: found.get(name) for name in _OF_ROW})
    if "memory_bytes" in row:
        row.pop("memory_bytes_at_least", None), row.pop("memory_bytes_at_most", None)
    if not found["ended"]:
        # A part of them is in the tables.
        row.pop("wall_ns", None)
    for name, exact in (("cpu_ns", found["exact_cpu"] and found["ended"]), ("tasks", found["ended"]), ("failed", found["ended"])):
        if name in row and not exact:
            row[f"{name}_at_least"] = row.pop(name)
    problems = {name: found[name] for name in ("error", "warning") if found[name]}
    return row | {"name": _name(found), "findings": problems, "steps": [_known(each) for each in found["steps"] or ()]}


def _row_of_index(run: LakeRun) -> dict[str, Any]:
    row: dict[str, Any] = {"run_key": run.run_key, "pipeline": run.pipeline, "run": run.run, "start_unix_ns": run.begin_unix_ns}
    ended = {"wall_ns": run.end_unix_ns - run.begin_unix_ns, "tasks": run.tasks_ended} if run.end_unix_ns else {"tasks_at_least": run.tasks_ended}
    name = _name({"pipeline": run.pipeline, "run": run.run, "run_id": None, "engine": run.engine})
    return _known(row | ended) | {"name": name, "status": _STATUS.get(run.status, run.status), "findings": {}, "steps": []}


def _name(of: dict[str, Any]) -> str:
    """As reports name a run."""
    return " ".join(filter(None, (of["pipeline"], of["run"]))) or of["run_id"] or of["engine"] or "?"
