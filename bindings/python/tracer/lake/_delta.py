# SPDX-License-Identifier: Apache-2.0
"""Delta tables, each in a folder below LAKE/tables/.

deltalake is right only by two rules: what was decided by a look at a table is written through the handle that was looked at,
and optimize.compact() is never called. Else rows are doubled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .._errors import InvalidArgumentError, LakeError
from .._tables import _package
from ._layout import TABLES
from ._rows import SORTED_BY, known
from ._store import no_answer, refused

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

__all__ = ["KEPT_DAYS", "append", "delete", "explained", "files_of", "make", "opened", "replace"]

REFUSED_TYPE = "TRC155"
"""A column of a table has another type than ours: nothing of it was written."""
KEPT_DAYS = 7
"""How long what was replaced stays for queries that have begun."""
_ROWS_IN_GROUP = 122_880


def address(lake: str, name: str) -> str:
    if wrong := re.search(r"[%*?\[]", lake):
        # deltalake takes % for an escape, DuckDB the others for patterns.
        raise InvalidArgumentError(f"a lake's address can't have {wrong[0]}: {lake}", "name another folder")
    return f"{lake.rstrip('/')}/{TABLES}{name}"


@contextmanager
def explained() -> Iterator[None]:
    """What deltalake says, as an error of the lake."""
    try:
        yield
    except (_package("deltalake.exceptions").DeltaError, OSError) as error:
        text = " ".join(str(error).split())[:500]
        if re.search(r"denied|Forbidden|os error 30|Read-only", text):
            raise refused(text, "let this user write the lake's tables") from None
        raise no_answer(text, "free some space" if "No space" in text else "") from None


@explained()
def opened(lake: str, name: str) -> Any:
    """A fresh look. None: there is no such table."""
    deltalake = _package("deltalake")
    try:
        return deltalake.DeltaTable(address(lake, name), storage_options=_options(lake))
    except deltalake.exceptions.TableNotFoundError:
        return None


def _options(lake: str) -> dict[str, str] | None:
    """As a Bucket's."""
    if "://" not in lake:
        return None
    from ._bucket import options_of

    return options_of(lake)


@explained()
def make(lake: str, name: str, schema: pyarrow.Schema) -> Any:
    """A look at a table that may be new."""
    deltalake = _package("deltalake")
    table = opened(lake, name)
    if table is not None:
        return table
    try:
        deltalake.DeltaTable.create(
            address(lake, name), schema, partition_by=["date"] if "date" in schema.names else None, name=name,
            storage_options=_options(lake), configuration={f"delta.{what}Duration": f"interval {KEPT_DAYS} days" for what in ("logRetention", "deletedFileRetention")})
    except deltalake.exceptions.DeltaError:
        # Another made it first.
        if opened(lake, name) is None:
            raise
    return opened(lake, name)


def files_of(table: Any, day: str | None = None) -> list[str]:
    """The addresses of its files, as others take them."""
    found: list[str] = [each for each in table.file_uris() if day is None or f"/date={day}/" in each]
    return found if "://" in table.table_uri.removeprefix("file://") else [unquote(each.removeprefix("file://")) for each in found]


@explained()
def append(table: Any, rows: pyarrow.Table, marks: Mapping[str, int]) -> bool:
    """Rows, and up to which part of each series they are, in one commit. False: another commit came first, look again.

    Raises LakeError if a column has another type there."""
    deltalake = _package("deltalake")
    # Texts are moved while they are still numbers of a dictionary.
    rows = _sorted(known(rows).unify_dictionaries().combine_chunks())
    _check(table, rows.schema)
    transactions = [deltalake.Transaction(series, number) for series, number in sorted(marks.items())]
    return _written(table, rows, mode="append", schema_mode="merge",
                    commit_properties=deltalake.CommitProperties(app_transactions=transactions))


@explained()
def replace(table: Any, rows: Any, predicate: str | None) -> bool:
    """All rows, or those of a predicate, by others. False: another commit came first."""
    return _written(table, rows, mode="overwrite", predicate=predicate)


@explained()
def delete(table: Any, predicate: str) -> int | None:
    """How many rows it was true for. None: another commit came first."""
    done = _committed(lambda: table.delete(predicate, writer_properties=_writing(table)))
    return None if done is None else int(done["num_deleted_rows"] or 0)


def _written(table: Any, rows: Any, **how: Any) -> bool:
    write = _package("deltalake").write_deltalake
    return _committed(lambda: write(table, rows, writer_properties=_writing(table), **how) or True) is True


def _committed(change: Callable[[], Any]) -> Any:
    exceptions = _package("deltalake.exceptions")
    try:
        return change()
    except exceptions.CommitFailedError:
        return None


def _writing(table: Any) -> Any:
    deltalake = _package("deltalake")
    numbers = [field.name for field in table.schema().fields if field.type == deltalake.schema.PrimitiveType("long")]
    packed = deltalake.ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
    return deltalake.WriterProperties(compression="ZSTD", compression_level=1, max_row_group_size=_ROWS_IN_GROUP,
                                      column_properties={name: packed for name in numbers})


def _sorted(rows: pyarrow.Table) -> pyarrow.Table:
    pyarrow = _package("pyarrow")
    compute = _package("pyarrow.compute")

    def comparable(key: Any) -> Any:
        """Numbers in the order of the texts."""
        if not pyarrow.types.is_dictionary(key.type) or key.num_chunks != 1:
            return key
        return compute.take(compute.rank(key.chunk(0).dictionary, tiebreaker="dense"), key.chunk(0).indices)

    keys = {name: comparable(rows[name]) for name in SORTED_BY if name in rows.column_names}
    return rows.take(compute.sort_indices(pyarrow.table(keys), [(name, "ascending") for name in keys]))


def _check(table: Any, schema: pyarrow.Schema) -> None:
    deltalake = _package("deltalake")
    there = {field.name: field.type for field in table.schema().fields}
    for field in deltalake.Schema.from_arrow(schema).fields:
        if there.get(field.name, field.type) != field.type:
            raise LakeError.of(REFUSED_TYPE, None, f"{field.name} of {table.table_uri} is {there[field.name]}, not {field.type}",
                               "it was made by another version of libtracer, or by something else: move it away, and the next compaction makes it anew of raw")
