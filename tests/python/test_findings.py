# SPDX-License-Identifier: Apache-2.0
"""Findings of sessions, runs, recordings and reports."""

import os
import subprocess
import sys
import time
import unittest

import recordings
import tracer
from recordings import TestCase

# Its child is killed by a stranger, and it ends well all the same.
KILLED = """
sh -c 'echo $$ > victim; exec sleep 60' &
wait
exit 0
"""
STRANGER = """
until [ -s victim ]; do sleep 0.02; done
read pid < victim
while read name < /proc/$pid/comm; [ $name != sleep ]; do sleep 0.02; done
kill -9 $pid
"""

# Its Python is the session's own process, and ends the workers by SIGTERM.
POOL = """
import multiprocessing, sys, tracer
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with tracer.session() as s, s.task("pool"), multiprocessing.Pool(2) as pool:
        pool.map(abs, range(8))
    print(s.report.failures_seen, [finding.text for finding in s.report.findings])
"""


@unittest.skipIf(recordings.why_no_tracing(), recordings.why_no_tracing())
class Findings(TestCase):
    def await_victim(self):
        """The pid of a process that kills it."""
        stranger = subprocess.Popen(["sh", "-c", STRANGER], cwd=self.folder)
        self.addCleanup(stranger.wait)
        return stranger.pid

    def until(self, condition):
        deadline = time.monotonic() + recordings.DEADLINE_SECONDS
        while not (value := condition()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        return value

    def check(self, findings):
        self.assertTrue(findings)
        for each in findings:
            self.assertIsInstance(each, tracer.Finding)
        killed, = [each for each in findings if each.code == "killed_by_user"]
        self.assertEqual((killed.kind, killed.severity, killed.tool, killed.subject), ("finding", "error", "sleep", "process"))
        self.assertIn("was ended by SIGKILL", killed.text)
        self.assertIsInstance(killed.evidence[0], tracer.Evidence)
        self.assertEqual({each.name: each.text or each.value for each in killed.evidence}["how"], "was ended by SIGKILL")
        self.assertEqual(findings[0].severity, "error")
        self.assertEqual(len({each.finding_key for each in findings}), len(findings))

    def test_of_a_living_session_a_recording_and_a_report(self):
        path = self.path("r.tracer")
        with tracer.session(run="r", record=path, pid=os.getpid(), exclude_pid=self.await_victim()) as s:
            with s.task("one"):
                subprocess.run(["bash", "-c", KILLED], stderr=subprocess.DEVNULL, check=False, cwd=self.folder)
            self.until(lambda: any(each.code == "killed_by_user" for each in s.findings))
            self.check(s.findings)
        for source in (s, tracer.read(path)):
            self.check(source.findings)
            self.assertEqual([each.text for each in source.findings], [each.text for each in source.report.findings])
        report = tracer.read(path).report
        self.assertTrue(repr(report).split("\n\n")[1].startswith("error: "), repr(report))
        task, = [row for row in report.tasks if row.context.task == "one"]
        self.assertEqual(task.task_ledger.wall_ns, sum(
            getattr(task.task_ledger, name) for name in task.task_ledger.__slots__
            if name not in ("wall_ns", "computing_at_most_ns")))
        self.assertTrue(task.bound_by)
        sleep, = [row for row in report.tools if row.name == "sleep"]
        self.assertTrue(sleep.bound_by)

    def test_of_a_command(self):
        self.await_victim()
        result = tracer.run(["bash", "-c", KILLED], stderr=subprocess.DEVNULL, cwd=self.folder)
        self.check(result.findings)

    def test_a_pool_in_a_task_that_ends_its_workers_has_not_failed(self):
        for method in ("fork", "spawn"):
            with self.subTest(method=method):
                script = self.path("pool.py")
                with open(script, "w", encoding="utf-8") as file:
                    file.write(POOL)
                done = subprocess.run([sys.executable, script, method], capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout, "0 []\n")

    def test_the_verdict_of_a_command(self):
        for script, verdict in (("true", r"^bash -c succeeded \(status 0\) in \d"), ("exit 3", r"^bash -c failed \(status 3\) in \d")):
            with self.subTest(script=script):
                result = tracer.run(["bash", "-c", f"/bin/true; {script}"], cwd=self.folder)
                self.assertRegex(result.report.verdict, verdict)
        self.assertIsNone(tracer.read(self.made_up(10)).report.verdict)

    def test_none_are_made_where_they_are_not_wanted(self):
        self.await_victim()
        with tracer.session(findings=False) as s:
            subprocess.run(["bash", "-c", KILLED], stderr=subprocess.DEVNULL, check=False, cwd=self.folder)
        self.assertEqual(s.findings, ())
        self.assertEqual(s.report.findings, ())

    def test_of_a_recording_in_which_nothing_failed(self):
        self.assertEqual(tracer.read(self.made_up(10)).findings, ())


if __name__ == "__main__":
    unittest.main()
