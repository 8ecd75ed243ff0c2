# SPDX-License-Identifier: Apache-2.0
"""Reads tasks into the table `tasks`, from recordings, folders of recordings, or tables in CSV and Parquet."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from .._errors import InvalidArgumentError
from ._database import columns_of, problem, quoted, read_error, source_of, table_of
from ._formats import text_of

__all__ = ["create", "note_zones", "read_hosts", "read_tasks", "recordings_in"]

_ECS = "nullif(regexp_extract(cgroup, '(?:/ecs/(?:[^/]+/)?|ecstasks-)([0-9a-f]{32})(?:/|$|\\.slice)', 1), '')"
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
    connection.execute("""CREATE TABLE tasks (task BIGINT, source VARCHAR, pipeline VARCHAR, run VARCHAR, step VARCHAR,
        sample VARCHAR, tool VARCHAR, name VARCHAR, hash VARCHAR, ecs VARCHAR, "user" VARCHAR, folder VARCHAR,
        instance VARCHAR, instance_type VARCHAR, zone VARCHAR, region VARCHAR, price_model VARCHAR, status VARCHAR,
        t0 BIGINT, t1 BIGINT, command_us BIGINT, cpus DOUBLE, memory_gib DOUBLE, used_cpus DOUBLE, used_gib DOUBLE,
        sent_bytes DOUBLE, attempt INTEGER, key VARCHAR, exit_code INTEGER, requested_us BIGINT, input_bytes DOUBLE,
        unusable INTEGER)""")
    connection.execute("CREATE MACRO amount_of(number) AS CASE WHEN number >= 0 AND number < 1e18 THEN number END")
    # Nextflow writes both raw numbers and words: 1 GB is 2^30 bytes, 1h 2m 3s is 3,723,000 ms.
    size = "'^([0-9.]+) ?([KMGTP]?)(?:i?B)?$'"
    connection.execute(f"""CREATE MACRO bytes_of(word) AS amount_of(try_cast(regexp_extract(word, {size}, 1) AS DOUBLE)
        * power(1024, position(regexp_extract(word, {size}, 2) IN ' KMGTP') - 1))""")
    parts = " + ".join(f"coalesce(try_cast(regexp_extract(word, '(?:^| )([0-9.]+){unit}(?: |$)', 1) AS DOUBLE), 0) * {ms}"
                       for unit, ms in (("d", 86400000), ("h", 3600000), ("m", 60000), ("s", 1000), ("ms", 1)))
    # Up to 30 years.
    connection.execute(f"""CREATE MACRO ms_of(word) AS
        CASE WHEN regexp_full_match(word, '[0-9.]+(d|h|m|s|ms)( [0-9.]+(d|h|m|s|ms))*') AND ({parts}) <= 1e12 THEN {parts} END""")
    connection.execute("CREATE TABLE tools (task BIGINT, tool VARCHAR, cpu DOUBLE, memory DOUBLE)")
    connection.execute("""CREATE TABLE hosts (instance VARCHAR, host_name VARCHAR, instance_type VARCHAR, vcpus DOUBLE,
        memory_gib DOUBLE, t0 BIGINT, t1 BIGINT, system_cpus DOUBLE, system_gib DOUBLE, volumes VARCHAR, sampled BOOLEAN,
        region VARCHAR)""")
    connection.execute("CREATE TABLE recordings (source VARCHAR, host_name VARCHAR, instance VARCHAR)")


def recordings_in(folder: str) -> list[str]:
    """By name; of one that was continued in other files (--rotate), the oldest part first."""
    parts = [(os.path.join(place, match[1]), -int(match[2] or 0), os.path.join(place, name)) for place, _, names in os.walk(folder)
             for name in names if (match := re.fullmatch(r"(.*\.tracer)(?:\.([1-9]\d*))?", name, re.DOTALL))]
    return [path for *_, path in sorted(parts)]


def read_tasks(connection: Any, paths: Sequence[str], notes: list[str]) -> int:
    """The number of tasks, each once. A folder stands for the recordings in it."""
    seen: set[str] = set()
    for path in paths:
        if os.path.realpath(path) in seen:
            raise problem("TRC131", f"{path} is named twice: its tasks would count twice", "name it once")
        seen.add(os.path.realpath(path))
        if os.path.isdir(path):
            files = recordings_in(path)
            if not files:
                raise problem("TRC130", f"no recording (*.tracer) is in {path}", "name a folder that has some, or files")
            for file in files:
                _read_recording(connection, file)
        elif _is_table(path):
            _read_table(connection, path, notes)
        else:
            _read_recording(connection, path)
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
        notes.append(f"{len(repeated)} attempts are in several files: they count once")


def _join_twins(connection: Any, notes: list[str]) -> None:
    """A task that a recording and an engine's table have is one: the table says what was requested, and where it ran."""
    connection.execute("""CREATE TEMP TABLE twins AS SELECT r.task AS recorded, any_value(t.task) AS listed
        FROM tasks AS r JOIN tasks AS t ON t.hash = r.hash AND t.key IS NULL AND t.status IS DISTINCT FROM 'CACHED'
        AND (t.step IS NULL OR r.step IS NULL OR t.step = r.step)
        WHERE r.key IS NOT NULL AND r.hash IS NOT NULL GROUP BY r.task HAVING count(*) = 1""")
    joined = connection.execute("SELECT count(*) FROM twins").fetchone()[0]
    if joined:
        # A bill has the name of the run that its engine's table has.
        connection.execute("""UPDATE tasks SET run = n.listed FROM (SELECT r.run AS recorded, any_value(t.run) AS listed FROM twins
            JOIN tasks AS r ON r.task = recorded JOIN tasks AS t ON t.task = listed WHERE t.run IS NOT NULL GROUP BY r.run
            HAVING count(DISTINCT t.run) = 1) AS n WHERE tasks.key IS NOT NULL AND tasks.run IS NOT DISTINCT FROM n.recorded""")
        both = ", ".join(f'"{name}" = coalesce(tasks."{name}", t."{name}")' for name in (
            "cpus", "memory_gib", "requested_us", "pipeline", "step", "sample", "name", "ecs", "user", "folder", "instance", "status",
            "command_us", "used_cpus", "used_gib", "sent_bytes", "attempt", "exit_code", "instance_type", "zone", "region", "price_model"))
        connection.execute(f"""UPDATE tasks SET {both}, input_bytes = t.input_bytes FROM twins, tasks AS t
            WHERE twins.recorded = tasks.task AND t.task = twins.listed""")
        connection.execute("DELETE FROM tasks WHERE task IN (SELECT listed FROM twins)")
        notes.append(f"{joined} tasks of recordings took their requests from a table with the same hash")
    connection.execute("DROP TABLE twins")


def _place(connection: Any) -> None:
    """What a recording says of its machine counts; else its host's name leads to one that somebody has told, or that another
    recording has. A name that machines share leads to none."""
    connection.execute("""CREATE TEMP TABLE named AS SELECT host_name, CASE WHEN count(DISTINCT instance) FILTER (sampled IS FALSE) > 0
            THEN CASE WHEN count(DISTINCT instance) FILTER (sampled IS FALSE) = 1 THEN any_value(instance) FILTER (sampled IS FALSE) END
            WHEN count(DISTINCT instance) = 1 THEN any_value(instance) END AS instance
            FROM hosts WHERE host_name IS NOT NULL AND instance IS NOT NULL GROUP BY host_name;
        UPDATE recordings SET instance = n.instance FROM named AS n WHERE recordings.instance IS NULL AND n.host_name = recordings.host_name;
        UPDATE hosts SET instance = n.instance FROM named AS n WHERE hosts.instance IS NULL AND n.host_name = hosts.host_name;
        UPDATE tasks SET instance = coalesce(tasks.instance, r.instance) FROM recordings AS r WHERE r.source = tasks.source;
        UPDATE tasks SET instance_type = coalesce(tasks.instance_type, h.instance_type), region = coalesce(tasks.region, h.region)
            FROM (SELECT instance, max(instance_type) AS instance_type, max(region) AS region FROM hosts GROUP BY instance) AS h
            WHERE h.instance = tasks.instance AND tasks.source IN (SELECT source FROM recordings);
        DROP TABLE named""")


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
        notes.append(f"{path}: {row[2]} values are no numbers, sizes or times: they count as not known")
    if row[0]:
        notes.append(f"{path}: {row[0]} tasks have no times")
    if row[1]:
        notes.append(f"{path}: {row[1]} tasks end before they begin: their times are not used")
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


def _read_recording(connection: Any, path: str) -> None:
    from .._recording import read

    recording = read(path)
    host = table_of_recording(connection, recording, "hosts")
    if not host:
        return
    offset = int(host[0]["wall_offset_ns"])
    for name in ("tasks", "programs", "processes", "containers", "host_samples"):
        connection.register(f"recorded_{name}", recording.table(name))
    first = _next(connection)
    try:
        connection.execute(f"""CREATE TEMP TABLE places AS SELECT task_key, any_value(ecs) AS ecs, any_value(cwd) AS cwd FROM (
            SELECT task_key::VARCHAR AS task_key, {_ECS.replace('cgroup', 'cgroup::VARCHAR')} AS ecs, cwd::VARCHAR AS cwd
            FROM recorded_processes WHERE task_key IS NOT NULL) GROUP BY task_key""")
        connection.execute(f"""CREATE TEMP TABLE lives AS SELECT ecs, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns FROM (
            SELECT {_ECS.replace('cgroup', 'cgroup::VARCHAR')} AS ecs, begin_ns, end_ns FROM recorded_containers
            WHERE kind = 'container_finish') WHERE ecs IS NOT NULL GROUP BY ecs""")
        connection.execute(f"""INSERT INTO tasks (task, source, pipeline, run, step, sample, name, hash, ecs, "user", folder,
            status, t0, t1, command_us, cpus, memory_gib, used_cpus, used_gib, sent_bytes, attempt, key, exit_code, requested_us,
            instance) SELECT {first} + row_number() OVER (), {quoted(path)}, pipeline, coalesce(run_id, run), step, sample, task,
            left(lower(replace(task_id, '/', '')), 8), places.ecs, owner_uid::VARCHAR, places.cwd,
            CASE WHEN exit_code = 0 THEN 'COMPLETED' WHEN exit_code IS NOT NULL OR exit_signal IS NOT NULL THEN 'FAILED' END,
            (coalesce(lives.begin_ns, t.begin_ns)::HUGEINT + {offset}) // 1000,
            (coalesce(lives.end_ns, t.end_ns)::HUGEINT + {offset}) // 1000, (t.end_ns - t.begin_ns) // 1000,
            requested_millicpus / 1000, requested_memory_bytes / 1073741824,
            cpu_ns / nullif(coalesce(lives.end_ns, t.end_ns) - coalesce(lives.begin_ns, t.begin_ns), 0),
            coalesce(peak_bytes, peak_at_least_bytes) / 1073741824, network_sent_bytes, attempt, t.task_key::VARCHAR,
            exit_code, requested_time_ns // 1000, NULL FROM (SELECT *, row_number() OVER (PARTITION BY task_key ORDER BY time_ns DESC) AS newest FROM recorded_tasks) AS t
            LEFT JOIN places ON places.task_key = t.task_key::VARCHAR LEFT JOIN lives ON lives.ecs = places.ecs
            WHERE newest = 1 OR t.task_key IS NULL""")
        connection.execute(f"""INSERT INTO tools SELECT task, tool, sum(cpu), sum(memory) FROM (
            SELECT tasks.task, p.tool::VARCHAR AS tool,
            p.cpu_ns::DOUBLE AS cpu, p.peak_rss_bytes::DOUBLE * p.wall_ns::DOUBLE AS memory FROM recorded_programs AS p
            JOIN tasks ON tasks.source = {quoted(path)} AND p.task_key::VARCHAR = tasks.key) WHERE tool IS NOT NULL GROUP BY task, tool""")
        # Only samples of the whole host say what others used of it, and that nobody used the rest.
        name = quoted(str(host[0]["host_name"]))
        connection.execute(f"""INSERT INTO recordings SELECT {quoted(path)}, {name},
                CASE WHEN count(DISTINCT instance_id) = 1 THEN any_value(instance_id)::VARCHAR END FROM recorded_host_samples;
            INSERT INTO hosts (host_name, vcpus, memory_gib) VALUES ({name}, {int(host[0]['cpu_count'])},
                {int(host[0]['memory_bytes'])} / 1073741824);
            INSERT INTO hosts SELECT instance_id::VARCHAR, {name}, instance_type::VARCHAR, nullif(cpus, 0)::DOUBLE, memory_bytes / 1073741824,
                ((since_ns::HUGEINT + {offset}) // 1000)::BIGINT, ((time_ns::HUGEINT + {offset}) // 1000)::BIGINT,
                system_cpu_ns::DOUBLE / (time_ns - since_ns), system_memory_bytes / 1073741824, NULL, true, NULL FROM recorded_host_samples
            WHERE time_ns > since_ns AND system_cpu_ns IS NOT NULL AND system_memory_bytes IS NOT NULL""")
    finally:
        connection.execute("DROP TABLE IF EXISTS places; DROP TABLE IF EXISTS lives")
        for name in ("tasks", "programs", "processes", "containers", "host_samples"):
            connection.unregister(f"recorded_{name}")


def table_of_recording(connection: Any, recording: Any, name: str) -> list[dict[str, Any]]:
    connection.register("recorded", recording.table(name))
    try:
        return table_of(connection, "SELECT * FROM recorded")
    finally:
        connection.unregister("recorded")


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
