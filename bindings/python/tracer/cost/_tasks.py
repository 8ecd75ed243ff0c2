# SPDX-License-Identifier: Apache-2.0
"""Reads tasks into the table `tasks`, from recordings, folders of recordings, lakes, or tables in CSV and Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .._data import opened, query, quoted, recordings_in, recordings_of, series_of
from .._errors import InvalidArgumentError
from .._format import counted
from ._database import columns_of, problem, read_error, source_of
from ._formats import text_of

if TYPE_CHECKING:
    from .._source import Source

__all__ = ["create", "note_zones", "opened_sources", "read_hosts", "read_tasks", "recordings_in"]

# Canonical column -> names that tables give it, the first that is there counts. Compared without case and separators.
_ALIASES = {
    "pipeline": ("pipeline", "pipelinename", "projectname"),
    "run": ("runid", "uniquerunid", "workflowid", "run"),
    "step": ("step", "process", "rule"),
    "sample": ("sample", "samplename", "tag"),
    "tool": ("tool",),
    "name": ("name", "task"),
    "hash": ("hash", "taskhash", "taskid"),
    "ecs": ("ecsid", "ecstask", "taskarn"),
    "user": ("user", "username", "owner", "owneruid"),
    "folder": ("workdir", "folder"),
    "instance": ("instance", "instanceid"),
    "instance_type": ("instancetype", "machinetype"),
    "zone": ("zone", "cloudzone", "availabilityzone"),
    "region": ("region",),
    "price_model": ("pricemodel", "lifecycle"),
    "status": ("status", "state"),
}
# Of a time of day, behind it.
_ZONED = r"'\d:\d\d(:\d\d(\.\d+)?)? ?(Z|UTC|[+-]\d\d(:?\d\d)?)$'"


def create(connection: Any, timezone: str | None = None) -> None:
    """`timezone` is that of times without one, such as "Europe/Berlin". Raises InvalidArgumentError if there is no such."""
    time = "try_cast(regexp_replace(word, ' UTC$', '') AS TIMESTAMPTZ)"
    if timezone is not None:
        try:
            connection.execute(f"SELECT timezone({quoted(timezone)}, TIMESTAMP '2026-01-01')")
        except Exception as error:
            raise InvalidArgumentError(f"there is no time zone {timezone!r}: {str(error).splitlines()[0]}",
                                       "name one as Europe/Berlin or America/New_York") from None
        time = f"CASE WHEN regexp_matches(word, {_ZONED}) THEN {time} ELSE timezone({quoted(timezone)}, timezone('UTC', {time})) END"
    connection.execute(f"CREATE MACRO wall_us(word) AS epoch_us({time})")
    connection.execute(query(__file__, "tables"))


def read_tasks(connection: Any, paths: Sequence[str], notes: list[str]) -> int:
    """The number of tasks, each once. A folder stands for the recordings in it; the files of one are those of the source that is
    its first one."""
    from ..lake.shared import has_tables

    seen: set[str] = set()
    recorded: dict[str, list[str]] = {}
    lakes = [path for path in paths if has_tables(path)]
    for path in paths:
        if os.path.realpath(path) in seen:
            raise problem("TRC131", f"{path} is named twice: its tasks would count twice", "name it once")
        seen.add(os.path.realpath(path))
        if path in lakes:
            recorded[path] = [path]
        elif not _is_table(path) or os.path.isdir(path):
            recorded[path] = recordings_of(path, "TRC130")
    series = {files[0]: files for files in series_of([file for path, files in recorded.items() if path not in lakes for file in files])}
    series |= {lake: [lake] for lake in lakes}
    for path in paths:
        if path not in recorded:
            _read_table(connection, path, notes)
        for file in recorded.get(path, ()):
            if file in series:
                _read_rows(connection, series[file], notes)
    _place(connection)
    if len(paths) > 1 or any(map(os.path.isdir, paths)):
        _drop_repeated(connection, notes)
        _join_twins(connection, notes)
    count: int = connection.execute("SELECT count(*) FROM tasks").fetchone()[0]
    return count


def _drop_repeated(connection: Any, notes: list[str]) -> None:
    """Attempts that are in several files, such as a recording and its copy. The trace of a resumed run has those of the run before
    as cached."""
    repeated: list[tuple[int]] = connection.execute("""DELETE FROM tasks WHERE task IN (SELECT task FROM (SELECT task, row_number()
        OVER (PARTITION BY key, hash, run, step, t0, attempt ORDER BY coalesce(status = 'CACHED', false), task) AS place FROM tasks
        WHERE coalesce(key, hash) IS NOT NULL AND t0 IS NOT NULL) WHERE place > 1) RETURNING task""").fetchall()
    if repeated:
        notes.append(f"{counted(len(repeated), 'attempt is', 'attempts are')} in several files: counted once")


def _join_twins(connection: Any, notes: list[str]) -> None:
    """A task that a recording and an engine's table have is one: the table says what was requested, and where it ran."""
    both = ", ".join(f'"{name}" = coalesce(tasks."{name}", t."{name}")' for name in (
        "cpus", "memory_gib", "requested_us", "pipeline", "step", "sample", "name", "ecs", "user", "folder", "instance", "status",
        "command_us", "used_cpus", "used_gib", "sent_bytes", "attempt", "exit_code", "instance_type", "zone", "region", "price_model"))
    joined = connection.execute(query(__file__, "twins", both=both)).fetchall()[0][0]
    if joined:
        notes.append(f"{counted(joined, 'task')} of recordings took what was requested from a table with the same hash")


def _place(connection: Any) -> None:
    """What a recording says of its machine counts; else its host's name leads to one that somebody has told, or that another
    recording has. A name that machines share leads to none."""
    connection.execute(query(__file__, "place"))


def _next(connection: Any) -> int:
    first: int = connection.execute("SELECT coalesce(max(task), 0) FROM tasks").fetchone()[0]
    return first


def _time(number: str, word: str) -> str:
    """ISO 8601, or milliseconds or seconds of Unix time."""
    return f"""CASE WHEN {number} IS NULL THEN wall_us({word})
        WHEN {number} NOT BETWEEN 0 AND 1e15 THEN NULL
        WHEN {number} > 1e11 THEN ({number} * 1000)::BIGINT ELSE ({number} * 1000000)::BIGINT END"""


_DURATION = "((CASE WHEN {n} IS NULL THEN ms_of({w}) WHEN {n} BETWEEN 0 AND 1e12 THEN {n} END) * 1000)::BIGINT"
_SIZE = "CASE WHEN {n} IS NULL THEN bytes_of({w}) ELSE amount_of({n}) END"
# Canonical column -> names that tables give it, and the SQL of its value: {n} is a word as a number, {w} the word, which takes
# far longer. A request or a peak of 0 is what an engine writes for one that it does not know.
_NUMBERS = {
    "t0": (("start", "containerstart", "begin"), _time("{n}", "{w}")),
    "t1": (("complete", "containerend", "end"), _time("{n}", "{w}")),
    "command_us": (("realtime",), _DURATION),
    "cpus": (("cpus", "requestedcpus"), "nullif(amount_of({n}), 0)"),
    "memory_gib": (("memory", "requestedmemorybytes"), f"nullif({_SIZE}, 0) / 1073741824"),
    # While the command ran: what the container used is less.
    "used_cpus": (("pcpu", "cpu"), "amount_of(CASE WHEN {n} IS NULL THEN try_cast(rtrim({w}, '%') AS DOUBLE) ELSE {n} END) / 100"),
    "used_gib": (("peakrss", "maxrss"), f"nullif({_SIZE}, 0) / 1073741824"),
    "sent_bytes": (("networksentbytes",), "amount_of({n})"),
    "attempt": (("attempt",), "try_cast({n} AS INTEGER)"),
    "exit_code": (("exit", "exitstatus", "exitcode"), "try_cast({n} AS INTEGER)"),
    "requested_us": (("time", "requestedtimems"), _DURATION),
    "input_bytes": (("inputbytes", "inputsize"), _SIZE),
}
_CHECKED = ("command_us", "cpus", "memory_gib", "used_cpus", "used_gib", "requested_us", "input_bytes")
_OF_LIFE = "used_cpus * least(coalesce(command_us / nullif(t1 - t0, 0), 1), 1)"


def _read_table(connection: Any, path: str, notes: list[str]) -> None:
    c = columns_of(connection, path)
    if not any(c.has(key) for key in (*_ALIASES["hash"], *_ALIASES["ecs"])):
        raise problem("TRC130", f"{path}, row 0: columns are missing: hash (or task_id, ecs_id)",
                      "name a recording, or a table with a row for each task: docs/cost.md lists its columns")
    missing = [name for name, of in (("cpus", "cpus"), ("memory", "memory_gib"), ("time", "requested_us")) if not any(map(c.has, _NUMBERS[of][0]))]
    if missing[:2] == ["cpus", "memory"] and any(map(c.has, (*_NUMBERS["used_cpus"][0], *_NUMBERS["used_gib"][0]))):
        notes.append(f"{path} has no {', '.join(missing)}: set trace.fields (docs/tune.md)")
    texts = {name: c.text(*keys) for name, keys in _ALIASES.items()}
    texts["hash"] = f"left(lower(replace({texts['hash']}, '/', '')), 8)"
    texts["ecs"] = f"nullif(regexp_extract({texts['ecs']}, '([0-9a-f]{{32}})$', 1), '')"
    # Each word once, then as a number, then what is made of it.
    words = ", ".join([*(f'{value} AS "{name}"' for name, value in texts.items()),
                       *(f"({c.raw(*keys)})::VARCHAR AS {name}_word" for name, (keys, _) in _NUMBERS.items())])
    known = {name: f"nullif({text_of(f'{name}_word')}, '-')" for name in _NUMBERS}
    numbers = ", ".join(f"try_cast({name}_word AS DOUBLE) AS {name}_number" for name in _NUMBERS)
    values = ", ".join(f"{value.format(n=f'{name}_number', w=known[name])} AS {name}" for name, (_, value) in _NUMBERS.items())
    unusable = " + ".join(f"CASE WHEN {name} IS NULL AND {name}_word IS NOT NULL THEN CASE {known[name]} WHEN '0' THEN 0 WHEN '0.0' THEN 0 "
                          f"WHEN '0 B' THEN 0 ELSE ({known[name]} IS NOT NULL)::INTEGER END ELSE 0 END" for name in _CHECKED)
    columns = ", ".join(f'"{name}"' for name in (*texts, *_NUMBERS))
    try:
        connection.execute(f"""INSERT INTO tasks (task, source, {columns}, unusable) SELECT {_next(connection)} + row_number() OVER (),
            {quoted(path)}, {columns.replace('"used_cpus"', _OF_LIFE)}, {unusable}
            FROM (SELECT *, {values} FROM (SELECT *, {numbers} FROM (SELECT {words} FROM {source_of(path)})))""")
    except Exception as error:
        raise read_error(path, error) from None
    row = connection.execute("""SELECT count(*) FILTER (t0 IS NULL OR t1 IS NULL), count(*) FILTER (t1 < t0), sum(unusable) FROM tasks
        WHERE source = ?""", [path]).fetchone()
    if row[2]:
        notes.append(f"{path}: {counted(row[2], 'value is', 'values are')} no number, size or time: taken as not known")
    if row[0]:
        notes.append(f"{path}: {counted(row[0], 'task has', 'tasks have')} no times")
    if row[1]:
        notes.append(f"{path}: {counted(row[1], 'task ends before it begins', 'tasks end before they begin')}: those times are not used")
        connection.execute("UPDATE tasks SET t0 = NULL, t1 = NULL WHERE t1 < t0")


def note_zones(connection: Any, paths: Sequence[str], notes: list[str]) -> None:
    """Which tables have times without a zone, by their first rows."""
    for path in paths:
        if not _is_table(path):
            continue
        c = columns_of(connection, path)
        words = [c.text(*_NUMBERS[name][0]) for name in ("t0", "t1")]
        zoneless = " OR ".join(f"(NOT regexp_matches({word}, {_ZONED}) AND wall_us({word}) IS NOT NULL AND try_cast({word} AS DOUBLE) IS NULL)"
                               for word in words)
        if connection.execute(f"SELECT count(*) FROM (FROM {source_of(path)} LIMIT 1000) WHERE {zoneless}").fetchone()[0]:
            notes.append(f"{path}: its times have no zone, and count as UTC. Nextflow writes local time: name its zone with --timezone")


def _is_table(path: str) -> bool:
    return path.lower().endswith((".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".parq", ".pq"))


def _read_rows(connection: Any, files: list[str], notes: list[str]) -> None:
    """Of the files of a recording, or of a lake."""
    connection.executemany("INSERT INTO source_files VALUES (?, ?)", [(files[0], file) for file in files])
    with _opened(connection, files, "tasks_last", "task_outer", "programs", "processes", "containers", "host_samples", "hosts") as recording:
        user = "owner_uid::VARCHAR" if recording else """coalesce("user", owner_uid || ' on ' || host_name)"""
        connection.execute(query(__file__, "recording", first=_next(connection), user=user))
        if recording is None:
            last = connection.execute("SELECT max(time_ns) // 1000000000 FROM recorded_tasks_last").fetchone()[0]
            notes.append(f"{files[0]}: its tables have no task" if last is None else
                         f"{files[0]}: its tables go up to {datetime.fromtimestamp(last, timezone.utc):%Y-%m-%d %H:%M} UTC; "
                         "'tracer lake compact' brings what came since")


def opened_sources(connection: Any, *names: str) -> Iterator[tuple[str, Source | None]]:
    """Has these tables of each source that was read, one after the other; None: it is a lake, whose tables have no samples."""
    files: dict[str, list[str]] = {}
    for source, file in connection.execute("FROM source_files").fetchall():
        files.setdefault(source, []).append(file)
    for source, each in files.items():
        with _opened(connection, each, *names) as recording:
            yield source, recording


@contextmanager
def _opened(connection: Any, files: list[str], *names: str) -> Iterator[Source | None]:
    from ..lake.shared import has_tables, opened_lake

    if has_tables(files[0]):
        with opened_lake(connection, files[0], *names):
            yield None
    else:
        with opened(connection, files, *names, label=files[0]) as recording:
            yield recording


def read_hosts(connection: Any, path: str) -> None:
    """Machines, and when a daemon watched them: a table with the columns that docs/cost.md lists."""
    c = columns_of(connection, path)
    missing = [name for name in ("instance",) if not c.has(name)]
    if missing:
        raise problem("TRC130", f"{path}, row 0: columns are missing: {', '.join(missing)}", "docs/cost.md lists its columns")

    def number(key: str) -> str:
        return f"try_cast({c.text(key)} AS DOUBLE)"

    def time(key: str) -> str:
        return _time(number(key), c.text(key))

    wrong = {key: f"{number(key)} IS NULL OR NOT isfinite({number(key)}) OR {number(key)} < 0" for key in (
        "vcpus", "memorygib", "systemcpus", "systemmemorygib")} | {key: f"{time(key)} IS NULL" for key in ("observedfrom", "observedto")}
    try:
        for key, test in wrong.items():
            found = connection.execute(f"""SELECT row, word FROM (SELECT row_number() OVER () AS row, {c.text(key)} AS word,
                {test} AS wrong FROM {source_of(path)}) WHERE word IS NOT NULL AND wrong LIMIT 1""").fetchone() if c.has(key) else None
            if found:
                raise problem("TRC130", f"{path}, row {found[0]}: {c.name(key)} is no {'time' if 'observed' in key else 'size'}: {found[1]!r}",
                              "correct the file: docs/cost.md lists its columns")
        connection.execute(f"""INSERT INTO hosts SELECT {c.text('instance')}, {c.text('hostname')}, {c.text('instancetype')},
            {number('vcpus')}, {number('memorygib')}, {time('observedfrom')}, {time('observedto')},
            {number('systemcpus')}, {number('systemmemorygib')}, {c.text('volumes')}, false, {c.text('region')} FROM {source_of(path)}""")
    except Exception as error:
        raise read_error(path, error) from None
