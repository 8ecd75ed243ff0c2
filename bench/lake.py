#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a lake: what compaction costs, and how long questions to many rows take.

usage: bench/lake.py FOLDER [--rows N] [--hosts N] [--tries N]

Needs libtracer[lake]; PYTHONPATH names the package. In FOLDER, which is kept and used again,
- small: real recordings (tests/data/recordings), as if N hosts had made them. `tracer lake compact` runs over them; then pyarrow writes
  the same rows, from memory, with several encodings.
- large: N rows of `processes`, by tracer's own writer: real rows again and again, with other runs, steps, hosts, times and figures.
  20 million rows take 6 GB. DuckDB is asked through tracer.lake(), with two threads; the first try of each question is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/python"))
RECORDINGS = ("short-processes", "nextflow-24", "nextflow-25", "nextflow-podman", "snakemake", "demo")
CHUNK, RUNS_OF_CHUNK, DAYS = 500_000, 500, 20
QUESTIONS = {
    "exact p95 by tool and step": "SELECT tool, step, quantile_disc(wall_ns, 0.95), count(*) FROM processes GROUP BY tool, step",
    "one run": "SELECT step, count(*), sum(cpu_ns), max(peak_rss_bytes) FROM processes WHERE run = 'run-7777' GROUP BY step",
    "usual()": "",
    "usage_by_user()": "FROM usage_by_user('2026-11')",
}


def tree_bytes(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts)


def in_child(step: str, *words: object) -> tuple[dict, float, int]:
    """What a step of this file says, its CPU seconds, and the most memory that it had, in bytes."""
    child = subprocess.Popen([sys.executable, __file__, f"--step={step}", *map(str, words)], stdout=subprocess.PIPE)
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if status:
        sys.exit(f"{step} failed")
    return json.loads(said or "{}"), used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def make_small(lake: pathlib.Path, hosts: int) -> None:
    from lakes import on_host, put, recording

    lake.mkdir(parents=True)
    for host in range(hosts):
        for name in RECORDINGS:
            put(lake, on_host(recording(name), f"node{host}", f"00000000-0000-4000-8000-{host:012}"))


def step_nothing() -> dict:
    """What it costs to begin."""
    import deltalake, obstore, pyarrow.compute  # noqa: E401, F401

    from tracer.lake import _compact  # noqa: F401

    return {}


def step_compact(lake: str) -> dict:
    from tracer.lake._compact import compact

    step_nothing()
    begin = time.process_time()
    done = compact(lake)
    return {"parts": done.parts, "rows": done.rows, "cpu": time.process_time() - begin}


def step_pyarrow(lake: str) -> dict:
    """CPU seconds and bytes of pyarrow's writing all tables once, by encoding."""
    import pyarrow
    import pyarrow.parquet
    from deltalake import DeltaTable

    tables = {path.name: DeltaTable(str(path)).to_pyarrow_table() for path in sorted(pathlib.Path(lake, "tables").iterdir())}
    # As compaction sorts them.
    found = {}
    file = pathlib.Path(lake, "once.parquet")
    for way in ("its defaults", "zstd 1", "zstd 3", "integers packed by delta, zstd 1", "integers packed by delta, zstd 3", "byte streams split, zstd 3"):
        cpu, size = 0.0, 0
        for rows in tables.values():
            options: dict = {} if way == "its defaults" else {"compression": "zstd", "compression_level": int(way[-1])}
            numbers = [field.name for field in rows.schema if field.type == pyarrow.int64()]
            if "integers" in way or "streams" in way:
                encoding = "DELTA_BINARY_PACKED" if "integers" in way else "BYTE_STREAM_SPLIT"
                texts = [path for path in leaves(rows.schema) if path not in numbers]
                options |= {"use_dictionary": texts, "column_encoding": {name: encoding for name in numbers}}
            begin = time.process_time()
            pyarrow.parquet.write_table(rows, file, **options)
            cpu += time.process_time() - begin
            size += file.stat().st_size
        found[way] = (cpu, size)
        file.unlink()
    return found


def leaves(schema: object) -> list[str]:
    import io

    import pyarrow.parquet

    sink = io.BytesIO()
    pyarrow.parquet.write_table(schema.empty_table(), sink)
    columns = pyarrow.parquet.ParquetFile(sink).schema
    return [columns.column(at).path for at in range(len(columns))]


def step_large(small: str, large: str, rows: str) -> dict:
    import datetime

    import numpy
    import pyarrow
    import pyarrow.compute as compute
    from deltalake import DeltaTable
    from tracer.lake._delta import append, make

    real = DeltaTable(f"{small}/tables/processes").to_pyarrow_table()
    real = real.filter(compute.equal(real["host_name"], real["host_name"][0])).combine_chunks()
    random = numpy.random.default_rng(1)
    table = make(large, "processes", real.schema)
    begin = time.process_time()
    for at in range(table.transaction_version("bench/all") or 0, int(rows) // CHUNK):
        taken = random.integers(len(real), size=CHUNK)
        run = numpy.arange(CHUNK) * RUNS_OF_CHUNK // CHUNK + at * RUNS_OF_CHUNK
        chunk = real.take(pyarrow.array(taken))
        columns = dict(zip(chunk.column_names, chunk.columns))
        moved = pyarrow.array(random.integers(86_400_000_000_000, size=CHUNK))
        for name in ("time_ns", "begin_ns", "start_ns", "end_ns", "time_unix_ns"):
            columns[name] = compute.add(columns[name], moved)
        for name, column in columns.items():
            if name.endswith(("wall_ns", "cpu_ns", "_bytes")) and column.type == pyarrow.int64() and column.null_count < CHUNK:
                columns[name] = compute.add(column, compute.divide(compute.multiply(column, pyarrow.array(random.integers(128, size=CHUNK))), 128))
        times = pyarrow.array((numpy.datetime64("2026-11-01T00:00:00", "us") + random.integers(86_400_000_000, size=CHUNK)), pyarrow.timestamp("us", "UTC"))
        text = pyarrow.string()
        columns |= {
            "date": pyarrow.repeat(pyarrow.scalar(datetime.date(2026, 11, 1 + at % DAYS)), CHUNK), "start_time": times, "end_time": times,
            "host_name": pyarrow.array(run % 50, pyarrow.int64()).cast(text), "pid": pyarrow.array(random.integers(4_000_000, size=CHUNK)),
            "run": compute.binary_join_element_wise("run", pyarrow.array(run).cast(text), "-"),
            "run_key": compute.binary_join_element_wise("key", pyarrow.array(run).cast(text), "-"),
            # A hundred pipelines.
            "step": compute.binary_join_element_wise(compute.fill_null(columns["step"], "step"), pyarrow.array(run % 100).cast(text), "-"),
        }
        if not append(table, pyarrow.table(columns, real.schema), {"bench/all": at + 1}):
            raise SystemExit("another wrote into it")
        print(f"{(at + 1) * CHUNK:,} rows, {time.process_time() - begin:.0f} s of CPU", file=sys.stderr)
    return {}


def step_ask(large: str, tries: str) -> dict:
    import tracer

    lake = tracer.lake(large)
    lake.sql("SET threads = 2")
    step, tool = lake.sql("SELECT step, tool FROM processes WHERE run = 'run-7777' GROUP BY ALL ORDER BY count(*) DESC LIMIT 1").fetchall()[0]
    usual = f"FROM usual('{step}', '{tool}')"
    folder = pathlib.Path(lake.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
    most, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            most[0] = max(most[0], sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    found: dict = {"columns": len(lake.table("processes").columns), "rows": lake.table("processes").count_rows()}
    for name, query in QUESTIONS.items():
        walls, cpus = [], []
        for _ in range(1 + int(tries)):
            begin, used = time.perf_counter(), time.process_time()
            answer = len(lake.sql(query or usual).fetchall())
            walls.append(time.perf_counter() - begin)
            cpus.append(time.process_time() - used)
        found[name] = {"rows": answer, "first": walls[0], "walls": sorted(walls[1:]), "cpu": min(cpus[1:])}
    ended.set()
    watcher.join()
    return found | {"temporary": most[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--hosts", type=int, default=12)
    parser.add_argument("--tries", type=int, default=5)
    options = parser.parse_args()
    small, large = options.folder / "small", options.folder / "large"
    if not small.exists():
        make_small(small, options.hosts)
        _, begun, _ = in_child("nothing")
        said, cpu, memory = in_child("compact", small)
        written = tree_bytes(small / "tables")
        print(f"compaction: {said['parts']} parts, {sum(said['rows'].values()):,} rows: {said['cpu']:.2f} s of CPU ({cpu:.2f} with the start of "
              f"Python, which takes {begun:.2f}), {memory / 2**20:.0f} MiB, {written:,} bytes", flush=True)
    for way, (cpu, size) in in_child("pyarrow", small)[0].items():
        print(f"pyarrow, {way}: {cpu:.2f} s of CPU, {size:,} bytes", flush=True)
    large.mkdir(exist_ok=True)
    in_child("large", small, large, options.rows)
    print(f"large: {tree_bytes(large):,} bytes", flush=True)
    said, _, memory = in_child("ask", large, options.tries)
    for name in QUESTIONS:
        one = said[name]
        print(f"{name}: {one['rows']:,} rows; {one['walls'][0]:.2f} s at least, {one['walls'][-1]:.2f} at most, the first {one['first']:.2f}; "
              f"{one['cpu']:.2f} s of CPU", flush=True)
    print(f"{said['rows']:,} rows of {said['columns']} columns; memory {memory / 2**20:.0f} MiB, temporary files {said['temporary'] / 1e9:.2f} GB")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith("--step="):
        print(json.dumps(globals()[f"step_{sys.argv[1][7:]}"](*sys.argv[2:])))
    else:
        main()
