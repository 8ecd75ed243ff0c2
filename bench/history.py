#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Back-tests what a history expects: each task of a table is predicted from tasks that it does not know.
   bench/history.py [--tracerd FILE] tasks.csv

The table has a line for each task: run_id, pipeline, process, status, start, complete (ISO times), realtime (ms), rchar (bytes).
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def history_of(tracerd, folder, tasks):
    """A new history in which these tasks succeeded."""
    file = os.path.join(folder, "history.db")
    for end in ("", "-wal", "-shm"):
        pathlib.Path(file + end).unlink(missing_ok=True)
    subprocess.run([tracerd, "run", "--history", file, "--", "true"], check=True, capture_output=True)
    now = datetime.datetime.now().timestamp()
    with sqlite3.connect(file) as database:
        database.execute("DELETE FROM task")
        for number, task in enumerate(tasks):
            database.execute("INSERT OR IGNORE INTO kind (pipeline, step, engine) VALUES (?, ?, '')",
                             (task["pipeline"], task["process"]))
            kind, = database.execute("SELECT id FROM kind WHERE pipeline = ? AND step = ?",
                                     (task["pipeline"], task["process"])).fetchone()
            database.execute("INSERT INTO task (kind_id, run_key, task_key, end_time_s, outcome, attempt, cpus, tool, wall_ns, "
                             "read_bytes) VALUES (?, ?, ?, ?, 1, 1, 1, '', ?, ?)",
                             (kind, task["run_id"], number, int(now) - len(tasks) + number, task["wall_ns"], task["read_bytes"]))
    database.close()
    return file


def expected_ns(tracerd, file, task):
    """The median that the history expects; None: it is silent."""
    options = ["--input-bytes", str(task["read_bytes"])] if task["read_bytes"] else []
    result = subprocess.run([tracerd, "history", "--json", "--history", file, "--pipeline", task["pipeline"], "--step",
                             task["process"], *options], check=True, capture_output=True, text=True)
    kinds = json.loads(result.stdout)["kinds"]
    return kinds[0]["wall_ns"]["median"] if kinds and "wall_ns" in kinds[0] else None


def report(name, pairs):
    errors = [abs(expected - true) / true for expected, true in pairs if expected is not None and true]
    silent = sum(expected is None for expected, _ in pairs)
    print(f"{name}: median error {100 * statistics.median(errors):.1f} % of {len(errors)} tasks; within 20 %: "
          f"{100 * sum(error <= 0.2 for error in errors) / len(errors):.0f} %; silent on {silent}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tracerd", default=ROOT / "build/dev/tracerd")
    parser.add_argument("tasks", help="a table of tasks")
    arguments = parser.parse_args()
    with open(arguments.tasks, encoding="utf-8", newline="") as table:
        tasks = [row for row in csv.DictReader(table) if row["status"] == "COMPLETED"]
    for task in tasks:
        task["wall_ns"] = int(float(task["realtime"]) * 1e6)
        task["read_bytes"] = int(float(task["rchar"] or 0)) or None
    with tempfile.TemporaryDirectory() as folder:
        held_back = []
        for run in sorted({task["run_id"] for task in tasks}):
            file = history_of(arguments.tracerd, folder, [task for task in tasks if task["run_id"] != run])
            held_back += [(expected_ns(arguments.tracerd, file, task), task["wall_ns"])
                          for task in tasks if task["run_id"] == run]
        report("a whole run held back", held_back)
        # What a user's history has: everything that had ended when the task began, in hourly steps.
        as_of = []
        hours = sorted({task["start"][:13] for task in tasks})
        for hour in hours:
            file = history_of(arguments.tracerd, folder, [task for task in tasks if task["complete"] < hour])
            as_of += [(expected_ns(arguments.tracerd, file, task), task["wall_ns"])
                      for task in tasks if task["start"][:13] == hour]
        report("as it was in the hour of its start", as_of)


if __name__ == "__main__":
    main()
