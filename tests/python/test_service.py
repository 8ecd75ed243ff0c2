# SPDX-License-Identifier: Apache-2.0
"""Sessions of a user without rights, by a running `tracerd serve`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import unittest
from typing import Any

from support import ROOT, TempDir, begin_service, needs_tracing, wait_until

USER = 20001
# One that another user may execute, for which the module was built.
PYTHON = next((path for path in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
               if not path.startswith("/root/") and os.path.exists(path)), None)

HEAD = """
import json, os, subprocess, sys, tracer
"""


@needs_tracing
@unittest.skipUnless(os.geteuid() == 0 and PYTHON is not None, "needs root, and a Python for other users")
class UserCase(TempDir):
    def configured(self) -> str:
        return ""

    def setUp(self) -> None:
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.socket = begin_service(self.folder, self.addCleanup, self.configured())

    def python(self, code: str, **environment: str) -> Any:
        """What a Python of that user prints, as JSON."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        os.chown(home, USER, USER)
        assert PYTHON is not None
        done = subprocess.run(
            [PYTHON, "-B", "-c", HEAD + textwrap.dedent(code)], capture_output=True, text=True, timeout=60, cwd=home,
            user=USER, group=USER, extra_groups=[],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "TRACER_SOCKET": self.socket,
                 "PYTHONPATH": str(ROOT / "bindings/python"), **environment},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)


class OfAUser(UserCase):
    def test_a_session_with_tasks_is_exact(self) -> None:
        told = self.python("""
            with tracer.session(pipeline="p", sample="S1") as s:
                with s.task("align", task_id="1"):
                    subprocess.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=8"], check=True, stderr=-3)
                subprocess.run(["true"], check=True)
                s.flush()
                tier, why = s.tier, [each.code for each in s.tier_problems]
            report = json.loads(s.report.to_json())
            print(json.dumps({"tier": tier, "why": why, "certificate": report["certificate"],
                              "tasks": [(row["name"], row["processes"]) for row in report["tasks"]],
                              "tools": sorted((row["name"], row["processes"]) for row in report["tools"])}))
        """)
        self.assertEqual((told["tier"], told["why"]), ("service", 2 * ["TRC102"]))
        self.assertEqual(told["certificate"]["tier"], "service")
        self.assertTrue(told["certificate"]["complete"], told["certificate"])
        self.assertEqual(told["certificate"]["exits_seen"], 2)
        self.assertIn(["align", 1], told["tasks"])
        self.assertIn(["dd", 1], told["tools"])
        self.assertIn(["true", 1], told["tools"])

    def test_a_command_is_run_and_counted(self) -> None:
        told = self.python("""
            result = tracer.run(["sh", "-c", "/bin/true; /bin/true; exit 3"])
            print(json.dumps([result.returncode, result.report.certificate.tier, result.report.certificate.complete,
                              result.report.certificate.exits_seen]))
        """)
        self.assertEqual(told, [3, "service", True, 3])

    def test_a_living_process_is_attached_to(self) -> None:
        told = self.python("""
            child = subprocess.Popen(["sh", "-c", "read line; /bin/true; /bin/true; exit 0"], stdin=-1)
            with tracer.attach(pid=child.pid, run="r7") as s:
                pids = [each.pid for each in s.living]
                child.communicate(b"go\\n")
                s.flush()
            print(json.dumps([s.tier, pids == [child.pid], s.report.certificate.exits_seen,
                              s.report.certificate.complete]))
        """)
        self.assertEqual(told, ["service", True, 3, True])

    def test_connect_shows_what_lives_and_what_comes(self) -> None:
        told = self.python("""
            child = subprocess.Popen(["sleep", "100"])
            with tracer.connect() as s:
                starts = s.events(["process_start"], timeout=10, living_first=True)
                before = next(each.pid for each in starts if each.pid == child.pid)
                exits = s.events(["process_exit"], timeout=10)
                child.kill()
                child.wait()
                after = next(each for each in exits if each.pid == child.pid)
                uids = {each.uid for each in s.living}
            print(json.dumps([s.tier, before == child.pid, after.exit_signal, sorted(uids - {os.getuid()})]))
        """)
        self.assertEqual(told, ["service", True, 9, []])

    def test_connect_with_a_filter_shows_only_what_it_takes_in(self) -> None:
        told = self.python("""
            shell = subprocess.Popen(["sh", "-c", "read line; /bin/true in-it; cat"], stdin=-1, stdout=-3)
            with tracer.connect(pid=shell.pid, exclude_tool="cat*") as s, tracer.connect() as all:
                subprocess.run(["/bin/true", "beside-it"], check=True)
                shell.communicate(b"go\\n")
                s.flush()
                all.flush()
                told = [sorted(each["argv"][-1] for each in one.processes.to_dicts() if each["tool"] in ("true", "cat"))
                        for one in (s, all)]
                other = subprocess.Popen(["sleep", "100"])
                s.track(other.pid)
                s.flush()
                living = [each.pid for each in s.living]
                other.kill()
                other.wait()
                s.flush()
                losses = [s.statistics.losses, all.statistics.losses]
                killed = [each["exit_signal"] for each in s.processes.to_dicts() if each["pid"] == other.pid]
            print(json.dumps([told, living == [other.pid], killed, losses]))
        """)
        self.assertEqual(told, [[["in-it"], ["beside-it", "cat", "in-it"]], True, [9], [{}, {}]])

    def test_a_filter_that_nothing_can_have_is_refused(self) -> None:
        told = self.python("""
            told = []
            for filter in ({"pid": 4194304 - 1}, {"cgroup": "/nowhere"}, {"exe": []}, {"pid": "x"}):
                try:
                    tracer.connect(**filter).close()
                except tracer.TracerError as error:
                    told.append(error.code)
                except TypeError:
                    told.append("TypeError")
            print(json.dumps(told))
        """)
        self.assertEqual(told[:3], ["TRC106", "TRC106", "TRC101"])
        self.assertEqual(len(told), 4)

    def test_a_source_can_be_forced_and_a_service_be_missing(self) -> None:
        told = self.python("""
            told = []
            for source, socket in (("kernel", None), ("service", "/nowhere"), (None, "/nowhere")):
                if socket:
                    os.environ["TRACER_SOCKET"] = socket
                try:
                    with tracer.session(source=source) as s:
                        told.append([s.tier, [each.code for each in s.tier_problems]])
                except tracer.TracerError as error:
                    told.append([type(error).__name__, [each.code for each in error.problems]])
            try:
                tracer.connect("/nowhere")
            except tracer.ServiceError as error:
                told.append(error.code)
            print(json.dumps(told))
        """)
        self.assertEqual(told, [["NotPermittedError", 2 * ["TRC102"]], ["ServiceError", ["TRC140"]],
                                ["proc", [*2 * ["TRC102"], "TRC140"]], "TRC140"])


class OwnPast(UserCase):
    def configured(self) -> str:
        recordings = self.folder / "recordings"
        recordings.mkdir()
        return f'[recordings]\nfolder = "{recordings}"\nby_owner = true\n'

    def test_a_user_reads_the_own_past(self) -> None:
        import tracer

        with tracer.connect(self.socket) as s:
            s.announce(pid=os.getpid(), context={"engine": "snakemake", "pipeline": "p", "run": "of root", "run_id": "1"})
            runs = lambda: s.state(None, ["runs"])["runs"]
            wait_until(runs, "the run")
            roots = runs()[0]["run_key"]
        told = self.python("""
            import time
            ROOTS = os.environ["ROOTS_RUN"]
            with tracer.session(pipeline="p", run="r1", sample="S1") as s:
                subprocess.run(["true"], check=True)
                s.flush()
            runs = []
            for _ in range(100):
                recordings = tracer.past()
                runs = [event.context.run for each in recordings for event in each.select("run_start")]
                trues = [event for each in recordings for event in each.select("process_exit") if event.tool == "true"]
                if "r1" in runs and trues:
                    break
                time.sleep(0.2)
            recording, = recordings
            report = json.loads(recording.report.to_json())
            key = next(event for event in recording.select("run_start") if event.context.run == "r1").context.run_key
            with tracer.connect() as s:
                asked = [s.why(key), s.over_time(key), s.why(ROOTS), s.over_time(ROOTS)]
            print(json.dumps({"runs": runs, "same": asked[:2] == [recording.why(key), recording.over_time(key)], "of_root": asked[2:], "owner": recording.owner_uid, "uids": sorted({each.uid for each in trues}),
                              "again": "true" in {each.tool for each in recording.select("process_exit")},
                              "tools": [row["name"] for row in report["tools"]],
                              "later": tracer.past(since=time.time() + 3600)}))
        """, ROOTS_RUN=roots)
        self.assertTrue(told["same"])
        self.assertEqual(told["of_root"], [None, None])
        self.assertIn("r1", told["runs"])
        self.assertEqual((told["owner"], told["uids"]), (USER, [USER]))
        self.assertTrue(told["again"])
        self.assertIn("true", told["tools"])
        self.assertEqual(told["later"], [])


if __name__ == "__main__":
    unittest.main()
