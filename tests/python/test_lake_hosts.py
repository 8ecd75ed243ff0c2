# SPDX-License-Identifier: Apache-2.0
"""A run whose engine is on one host and whose tasks are on others: two sets of namespaces, each with a service and a name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support import TRACERD, TempDir, can_trace, service_answers, wait_until

import tracer
from tracer.lake._layout import part_of
from tracer.view._documents import shown_of
from tracer.view._lake import ShownLake

HEAD_UID, NODE_UID, OTHER_UID = 60021, 60022, 60023
# Any user may run it.
PYTHON = "/usr/bin/python3"
TASKS = {"align": ("ab", "0" * 28 + "01", 0.3), "sort": ("cd", "0" * 28 + "02", 0.6)}

# What an engine's plugin sends, on a connection that lives as long as the run.
PLUGIN = """
import json, socket, sys, time
client = socket.socket(socket.AF_UNIX); client.connect(sys.argv[1]); lines = client.makefile()
def ask(request, **keys):
    client.sendall(json.dumps({"request": request, **keys}).encode() + b"\\n")
    reply = json.loads(lines.readline()); assert reply["ok"], reply
    return reply
run = {"engine": "nextflow", "run_id": "5d0e", "run": "monday", "pipeline": "rnaseq"}
ask("hello", version=1)
run_key = ask("submit", context=run)["run_key"]
keys = {}
for name, folder in json.loads(sys.argv[2]).items():
    task = run | {"step": name.upper(), "task": f"{name.upper()} (S1)", "task_id": "/".join(folder.split("/")[-2:]), "sample": "S1"}
    keys[name] = ask("submit", context=task)["task_key"]
    ask("announce", key={"work_dir": folder}, context=task)
print("submitted", flush=True)
sys.stdin.readline()
for key in keys.values():
    ask("withdraw", task_key=key, state="succeeded", exit_code=0)
ask("withdraw", run_key=run_key, state="succeeded")
print("done", flush=True)
"""
BURN = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"


class Host:
    """Namespaces of its own, in which a service runs."""

    def __init__(self, name: str, folder: Path, test: unittest.TestCase) -> None:
        self.name, self.folder = name, folder / name
        self.folder.mkdir()
        self.outbox = self.folder / "recordings" / "outbox"
        self.outbox.mkdir(parents=True)
        (self.folder / "tracerd.toml").write_text(
            f'schema = 1\n[recordings]\nfolder = "{self.folder}/recordings"\nby_owner = true\noutbox = "{self.outbox}"\nseal_s = 1\n')
        self.socket = f"{self.folder}/tracer.sock"
        self._process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--net", "--mount", "sh", "-c",
             'hostname "$0"; "$@" & wait', name, TRACERD, "serve", "--foreground", "--config", str(self.folder / "tracerd.toml"),
             "--socket", self.socket], stderr=subprocess.DEVNULL)
        test.addCleanup(self.end)
        wait_until(lambda: service_answers(self.socket), "an answer of the service")
        [self._init] = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def words(self, uid: int, *words: str) -> list[str]:
        return ["nsenter", "-t", self._init, "-p", "-m", "-u", "-n", "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
                *words]

    def run(self, uid: int, *words: str, cwd: str) -> None:
        subprocess.run(self.words(uid, "sh", "-c", 'cd "$0" && "$@"', cwd, *words), check=True, stdout=subprocess.DEVNULL)

    def parts(self) -> list[str]:
        return [str(path.relative_to(self.outbox)) for path in self.outbox.rglob("*") if part_of(str(path.relative_to(self.outbox)))]


@unittest.skipUnless(can_trace() and shutil.which("unshare") and shutil.which("nsenter"), "needs root, unshare and nsenter")
class TwoHosts(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.folder.chmod(0o755)
        self.lake = self.folder / "lake"
        self.lake.mkdir()

    def tracer(self, *words: object) -> str:
        done = subprocess.run([sys.executable, "-m", "tracer", *map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout

    def runs(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.tracer("lake", "runs", self.lake, "--json"))
        return found

    def work_folders(self, host: str, uid: int) -> dict[str, str]:
        """Of Nextflow, for each task: the user's own on each host, as on NFS."""
        folders = {}
        for name, (above, below, cpu_s) in TASKS.items():
            folder = self.folder / host / "work" / above / below
            folder.mkdir(parents=True)
            os.chown(folder, uid, uid)
            (folder / f"{name}.py").write_text(BURN.format(cpu_s))
            (folder / ".command.run").write_text(
                f"#!/bin/bash\n### ---\n### name: '{name.upper()} (S1)'\n{PYTHON} {name}.py\nexit 0\n")
            os.chown(folder / ".command.run", uid, uid)
            folders[name] = str(folder)
        return folders

    def ship(self, *hosts: Host) -> None:
        for host in hosts:
            self.tracer("lake", "ship", "--once", "--outbox", host.outbox, self.lake)

    def name_users(self, host: Host, **users: int) -> None:
        path = self.lake / "users" / f"{host.name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"schema": 1, "users": {str(uid): name for name, uid in users.items()}}))

    def test_one_run_with_each_task_on_its_name(self) -> None:
        head, node = Host("head", self.folder, self), Host("node-1", self.folder, self)
        submitted, folders = self.work_folders("head", HEAD_UID), self.work_folders("node-1", NODE_UID)
        plugin = subprocess.Popen(head.words(HEAD_UID, PYTHON, "-c", PLUGIN, head.socket, json.dumps(submitted)),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(plugin.wait)
        self.addCleanup(plugin.kill)
        assert plugin.stdout and plugin.stdin
        self.assertEqual(plugin.stdout.readline(), "submitted\n")
        for folder in folders.values():
            node.run(NODE_UID, "bash", ".command.run", cwd=folder)
        # Another user's program on the same node, which is nobody's task.
        node.run(OTHER_UID, PYTHON, "-c", BURN.format(0.2), cwd="/")
        plugin.stdin.write("\n")
        plugin.stdin.close()
        self.assertEqual(plugin.stdout.readline(), "done\n")
        plugin.stdout.close()

        def sealed() -> bool:
            self.ship(head, node)
            self.name_users(head, alice=HEAD_UID)
            self.name_users(node, alice=NODE_UID, bob=OTHER_UID)
            monday = [run for run in self.runs() if run["run"] == "monday"]
            return bool(monday) and monday[0]["status"] == "succeeded" and monday[0]["tasks_ended"] == 2 and len(monday[0]["hosts"]) == 2

        wait_until(sealed, "parts of both hosts", timeout=60)
        [run] = [run for run in self.runs() if run["run"] == "monday"]
        self.assertEqual((run["user"], run["hosts"], run["engine"], run["tasks_failed"]), ("alice", ["head", "node-1"], "nextflow", 0))

        fetched = self.folder / "monday"
        self.tracer("lake", "fetch", self.lake, "monday", fetched)
        report = json.loads(subprocess.run([TRACERD, "report", "--json", fetched], check=True, capture_output=True, text=True).stdout)
        self.assertEqual([(row["run"], row["pipeline"]) for row in report["runs"]], [("monday", "rnaseq")])
        tasks = {row["task"]: row for row in report["tasks"]}
        self.assertEqual(set(tasks), {"ALIGN (S1)", "SORT (S1)"})
        for name, (_, _, cpu_s) in TASKS.items():
            cpu_ns = tasks[f"{name.upper()} (S1)"]["cpu_ns"]
            self.assertGreater(cpu_ns, cpu_s * 1e9)
            self.assertLess(cpu_ns, (cpu_s + 0.35) * 1e9)
        # And by the tables.
        self.tracer("lake", "compact", self.lake)
        lake = tracer.lake(self.lake)
        found = lake.sql("SELECT task, run, run_key, pipeline, host_name, \"user\", cpu_ns FROM tasks_last WHERE task_id IS NOT NULL").fetchall()
        self.assertEqual({row[0]: row[1:] for row in found}, {
            task: ("monday", run["run_key"], "rnaseq", "node-1", "alice", row["cpu_ns"]) for task, row in tasks.items()})
        # As the page lists and opens it.
        [shown] = shown_of([str(self.lake)])
        assert isinstance(shown, ShownLake)
        [row] = [row for row in shown.listed()[0] if row.get("run") == "monday"]
        self.assertEqual((row["run_key"], row["tasks"], row["cpu_ns"], {step["name"] for step in row["steps"]}),
                         (run["run_key"], 2, sum(task["cpu_ns"] for task in tasks.values()), {"ALIGN", "SORT"}))
        self.assertEqual([each.name for each in shown.open(row["run_key"])], ["monday, head", "monday, node-1"])
        [(hosts, ran, cpu_ns)] = lake.sql("SELECT hosts, tasks, cpu_ns FROM runs_over_time('rnaseq')").fetchall()
        self.assertEqual((hosts, ran), (2, 2))
        self.assertGreaterEqual(cpu_ns, sum(row["cpu_ns"] for row in tasks.values()))
        [(step, tool)] = lake.sql("SELECT t.step, max_by(p.tool, p.cpu_ns) FROM processes p JOIN tasks_last t USING (boot_id, task_key) "
                                  "WHERE t.task = 'SORT (S1)' GROUP BY 1").fetchall()
        self.assertEqual(step, "SORT")
        self.assertTrue(lake.sql(f"FROM usual('{step}', '{tool}')").fetchall())
        forgotten = self.folder / "forgotten"
        shutil.copytree(self.lake, forgotten)
        self.tracer("lake", "forget", forgotten, "--run", "monday")
        left = tracer.lake(forgotten)
        self.assertEqual(left.sql("SELECT count(*) FROM tasks WHERE task_id IS NOT NULL").fetchall(), [(0,)])
        self.assertEqual(left.sql("SELECT count(*) FROM processes WHERE array_to_string(argv, ' ') LIKE '%sort.py%'").fetchall(), [(0,)])
        why = subprocess.run([TRACERD, "why", fetched, "SORT (S1)"], check=True, capture_output=True, text=True).stdout
        self.assertIn("on node-1:", why)
        log = subprocess.run([TRACERD, "log", fetched], check=True, capture_output=True, text=True).stdout
        self.assertTrue(all(re.match(r"(head  |node-1)  ", line) for line in log.splitlines()), log)


if __name__ == "__main__":
    unittest.main()
