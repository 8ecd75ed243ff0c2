# SPDX-License-Identifier: Apache-2.0
"""Reports of recordings: the same figures as tracerd's, known ones of made-up recordings, and those of real programs."""

import dataclasses
import io
import os
import re
import subprocess
import sys
import threading
import time
import unittest
from tempfile import TemporaryDirectory

import recordings
import tracer
from recordings import TestCase
from tracer import _core, _format, _report

MS = 1_000_000


def rows_of(text):
    """{name: other cells} of a table as text."""
    found = {}
    for line in text.split("\n"):
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) > 4:
            found[cells[0]] = cells[1:]
    return found


class MadeUp(TestCase):
    """Each figure is known: see make_recording.cpp."""

    def test_the_total(self):
        report = tracer.read(self.made_up(1000)).report
        total = report.total
        self.assertEqual(total.processes, 1000)
        self.assertEqual(total.cpu_ns, _report.Figure(10 * sum(range(1, 101)) * MS, "exact"))
        self.assertEqual(total.read_bytes, _report.Figure(1_000_000, "exact"))
        self.assertEqual(total.written_bytes, _report.Figure(2_000_000, "exact"))
        self.assertEqual(total.wall_ns, 1999 * MS)
        self.assertEqual(total.failed.value, 20)
        self.assertAlmostEqual(total.cpu_utilization, total.cpu_ns.value / total.wall_ns)
        shares = {each.cause: each for each in total.time}
        self.assertEqual(shares["disk"].time_ns, 1000 * 300 * MS)
        self.assertAlmostEqual(shares["disk"].share, 0.3)
        self.assertAlmostEqual(sum(each.share for each in total.time), 1)
        self.assertEqual(report.failures_seen, 20)
        self.assertEqual(len(report.tools), 40)
        self.assertEqual(sum(row.processes for row in report.tools), 1000)
        self.assertEqual([row.cpu_ns.value for row in report.tools],
                         sorted((row.cpu_ns.value for row in report.tools), reverse=True))
        self.assertEqual(report.steps, ())
        self.assertEqual(report.tree, ())

    def test_the_certificate_of_what_is_complete(self):
        certificate = tracer.read(self.made_up(10)).report.certificate
        self.assertTrue(certificate.complete)
        self.assertEqual((certificate.exits_seen, certificate.ended), (10, 10))
        self.assertEqual(dict(certificate.losses), {})
        self.assertFalse(certificate.damage)
        self.assertIn("complete: 10 of 10 ended processes seen, nothing lost", str(certificate))

    def test_the_tree_of_runs_steps_tasks_and_tools(self):
        report = tracer.read(self.made_up(1000, per_task=10)).report
        (run,) = report.tree
        self.assertEqual((run.level, run.row.name, run.row.processes), ("run", "pipeline run", 1000))
        self.assertEqual(sorted(node.row.name for node in run.below), [f"STEP_{i}" for i in range(5)])
        for step in run.below:
            self.assertEqual(step.row.processes, 200)
            self.assertEqual(len(step.below), 20)
            for task in step.below:
                self.assertEqual((task.level, task.row.processes), ("task", 10))
                self.assertEqual(task.row.context.step, step.row.name)
                self.assertEqual(sum(tool.row.processes for tool in task.below), 10)
        self.assertEqual(len(report.tasks), 100)
        self.assertEqual([row.name for row in report.steps], [f"STEP_{i}" for i in range(5)])

    def test_the_timeline_has_all_cpu_time_where_it_was(self):
        for processes, per_task in ((1, 0), (1000, 10), (20000, 0)):
            with self.subTest(processes=processes):
                report = tracer.read(self.made_up(processes, per_task)).report
                line = report.timeline
                self.assertLessEqual(line.parts, 400)
                self.assertLessEqual(len(line.tools), 31)
                self.assertEqual(sum(sum(row.cpu_ns) for row in line.tools), report.total.cpu_ns.value)
                self.assertEqual(sum(sum(row.lived_ns) for row in line.tools), processes * 1000 * MS)
                for row in line.tools:
                    self.assertEqual({len(row.cpu_ns), len(row.lived_ns), len(row.memory_bytes)}, {line.parts})
                if per_task:
                    self.assertEqual(sum(sum(row.cpu_ns) for row in line.tasks), report.total.cpu_ns.value)
                    self.assertIsNone(line.tasks[-1].name)
        # Process i lives from i ms on, for 1 s: in the middle 1000 of them live at any time.
        middle = line.parts // 2
        lived = sum(row.lived_ns[middle] for row in line.tools)
        self.assertAlmostEqual(lived / line.part_ns, 1000, delta=1)

    def test_the_memory_of_a_tool_that_no_snapshot_saw_is_its_own_peak(self):
        report = tracer.read(self.made_up(1)).report
        self.assertEqual(set(report.timeline.tools[0].memory_bytes), {1 << 20})
        self.assertEqual(report.tools[0].memory_bytes, _report.Figure(1 << 20, "exact"))

    def test_reports_never_change(self):
        report = tracer.read(self.made_up(10)).report
        for part in (report, report.total, report.certificate, report.timeline, report.timeline.tools[0]):
            with self.assertRaises(dataclasses.FrozenInstanceError):
                setattr(part, dataclasses.fields(part)[0].name, None)
            self.assertFalse(hasattr(part, "__dict__"))

    def test_by_what_the_text_is_ordered(self):
        report = tracer.read(self.made_up(100, per_task=10)).report
        for by in ("run", "step", "task", "tool", "process"):
            self.assertIn(by, report.text(by=by).split("\n")[3])
        with self.assertRaises(tracer.InvalidArgumentError) as caught:
            report.text(by="moon")
        self.assertIn("moon", str(caught.exception))

    def test_no_line_is_wider_than_asked_for(self):
        report = tracer.read(self.made_up(100, per_task=10)).report
        for columns in (80, 100, 140):
            table = report.text(columns=columns).split("where time went:")[0]
            self.assertLessEqual(max(map(len, table.split("\n"))), columns)

    def test_other_threads_run_while_it_is_read(self):
        path = self.made_up(20000, 10)
        steps, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                steps[0] += 1
                time.sleep(0)

        worker = threading.Thread(target=count)
        worker.start()
        try:
            while steps[0] < 10:
                time.sleep(0)
            before = steps[0]
            _core.report_of_files([path], 0)
            after = steps[0]
        finally:
            stop.set()
            worker.join()
        self.assertGreater(after - before, 100)


class Damaged(TestCase):
    def test_a_cut_recording_says_so(self):
        path = self.made_up(20000)
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) * 2 // 3)
        report = tracer.read(path).report
        self.assertFalse(report.certificate.complete)
        self.assertTrue(report.certificate.damage.truncated)
        self.assertLess(report.total.processes, 20000)
        self.assertGreater(report.total.processes, 0)
        self.assertIn("the recording has no end", repr(report))
        self.assertIn("NOT complete", repr(report))

    def test_what_is_no_recording_is_refused(self):
        for content, code in ((b"", "TRC11"), (b"\x7fELF" * 100, "TRC111"), (b"{}", "TRC11")):
            path = self.path("bad")
            with open(path, "wb") as file:
                file.write(content)
            with self.assertRaises(tracer.RecordingError) as caught:
                _report.report_of_path(path)
            self.assertTrue(caught.exception.code.startswith(code), caught.exception.code)
        with self.assertRaises(tracer.RecordingError):
            _report.report_of_path(self.path("absent"))

    def test_any_flipped_byte_gives_a_report_or_an_error(self):
        path = self.made_up(300, per_task=10)
        with open(path, "rb") as file:
            whole = file.read()
        for at in range(0, len(whole), max(1, len(whole) // 60)):
            broken = bytearray(whole)
            broken[at] ^= 0x55
            with open(path, "wb") as file:
                file.write(broken)
            try:
                report = _report.report_of_path(path)
            except tracer.TracerError:
                continue
            report.html()
            repr(report)


class Formats(unittest.TestCase):
    def test_what_can_not_be_seen_is_written_out(self):
        self.assertEqual(_format.visible("a\x1b[31m\n\x00"), "a\\x1b[31m\\x0a\\x00")
        self.assertEqual(_format.visible("\u202eabc\u2066\u200b"), "\\u202eabc\\u2066\\u200b")
        self.assertEqual(_format.visible(b"\xff\xfe".decode("utf-8", "surrogateescape")), "\\xff\\xfe")
        self.assertEqual(_format.visible("ünï 日本 <b>"), "ünï 日本 <b>")
        self.assertEqual(_format.visible("x" * 10, 4), "xxxx…")


class Shown(TestCase):
    def test_repr_of_a_recording_and_of_its_report_is_the_table(self):
        recording = tracer.read(self.made_up(100, per_task=10))
        text = repr(recording)
        self.assertEqual(text, repr(recording.report))
        self.assertEqual(text, str(recording.report))
        self.assertIn("run, step, tool, task", text)
        self.assertEqual(rows_of(text)["total"][0], "100")

    def test_at_a_prompt_in_a_terminal_of_80_columns(self):
        import pty

        path = self.made_up(100, per_task=10)
        pid, descriptor = pty.fork()
        if pid == 0:
            try:
                os.environ |= {"COLUMNS": "80", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
                os.execv(sys.executable, [sys.executable, "-c", f"import tracer; print(repr(tracer.read({path!r})))"])
            finally:
                os._exit(99)
        text = b""
        while True:
            try:
                data = os.read(descriptor, 65536)
            except OSError:
                break
            if not data:
                break
            text += data
        os.close(descriptor)
        self.assertEqual(os.waitpid(pid, 0)[1], 0, text)
        table = text.decode().replace("\r\n", "\n").split("at least")[0].split("\n\n")[1]
        self.assertLessEqual(max(map(len, table.split("\n"))), 80)

    def test_without_utf_8_no_sign_is_beyond_ascii(self):
        code = f"import tracer; print(repr(tracer.read({self.made_up(100)!r})))"
        result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                env=os.environ | {"PYTHONIOENCODING": "ascii:strict"})
        self.assertEqual(result.returncode, 0, result.stderr)
        result.stdout.decode("ascii")

    def test_names_can_not_steer_the_terminal(self):
        text = repr(tracer.read(self.made_up(100, 10, "\x1b]0;x\x07\u202e\x9b31m\r")))
        for character in text:
            self.assertTrue(character == "\n" or character >= " ", repr(character))
        for character in "\x7f\x9b\u202e\u2066":
            self.assertNotIn(character, text)

    def test_bytes_that_are_not_utf_8_are_kept_in_values(self):
        report = tracer.read(self.made_up(100, 10, b"\xff\xc3(")).report
        self.assertIn(b"\xff\xc3(", os.fsencode(report.tools[0].name))
        self.assertIn(b"input\xff\xc3(", os.fsencode(report.failures[0].argv[-1]))

    def test_rich_shows_the_same_cells(self):
        try:
            from rich.console import Console
        except ImportError:
            self.skipTest("rich is not installed")
        recording = tracer.read(self.made_up(100))
        console = Console(file=io.StringIO(), width=160, force_terminal=True, color_system="standard")
        console.print(recording)
        colored = console.file.getvalue()
        self.assertIn("\x1b[", colored)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", colored)
        for name, cells in rows_of(repr(recording)).items():
            line = [line for line in plain.split("\n") if line.strip().startswith(name + " ")]
            self.assertTrue(line, name)
            self.assertEqual(re.split(r"\s{2,}", line[0].strip())[1:], cells)

    def test_rich_takes_no_markup_from_names(self):
        try:
            from rich.console import Console
        except ImportError:
            self.skipTest("rich is not installed")
        console = Console(file=io.StringIO(), width=200)
        console.print(tracer.read(self.made_up(100, 0, "[red]x[/red][link=http://x]")))
        self.assertIn("[red]x[/red][link=", console.file.getvalue())

    def test_the_bundle_honours_include_and_exclude(self):
        recording = tracer.read(self.made_up(10))
        self.assertEqual(set(recording._repr_mimebundle_()), {"text/plain", "text/html"})
        self.assertEqual(set(recording._repr_mimebundle_(include=["text/plain"])), {"text/plain"})
        self.assertEqual(set(recording._repr_mimebundle_(include={"text/html", "text/plain"}, exclude={"text/plain"})),
                         {"text/html"})
        self.assertEqual(recording._repr_mimebundle_(include=[]), {})
        self.assertEqual(recording._repr_mimebundle_()["text/plain"], repr(recording))

    def test_where_there_is_no_report_the_text_says_why(self):
        path = self.made_up(10)
        recording = tracer.read(path)
        os.unlink(path)
        self.assertIn("TRC110", repr(recording))
        self.assertEqual(set(recording._repr_mimebundle_()), {"text/plain"})


@unittest.skipIf(recordings.why_no_tracing(), recordings.why_no_tracing())
class Real(TestCase):
    """Beside what tracerd itself prints, and what the programs are known to have done."""

    PROGRAM = ("import os, subprocess, sys\n"
               "x = bytearray(64 << 20)\n"
               "for i in range(20): subprocess.run(['/bin/true'])\n"
               "for i in range(3): subprocess.run(['/bin/false'])\n"
               "with open(sys.argv[1], 'wb') as f: f.write(bytes(5_000_000))\n")

    def setUp(self):
        super().setUp()
        self.recording, self.table = self.traced(sys.executable, "-c", self.PROGRAM, self.path("out"))

    def test_the_same_rows_as_tracerd(self):
        ours = rows_of(repr(tracer.read(self.recording)))
        theirs = rows_of(self.table)
        # What ran before the command did, tracerd leaves out of its own table.
        for name in set(theirs) - {"tracerd", "total", "tool"}:
            self.assertEqual(ours[name], theirs[name])
        self.assertIn("true", theirs)

    def test_the_same_sums_as_the_dump(self):
        events = self.dump(self.recording)
        exits = [event for event in events if event["kind"] == "process_exit"]
        report = tracer.read(self.recording).report
        self.assertEqual(report.total.processes, len(exits))
        self.assertEqual(report.total.cpu_ns.value, sum(event["cpu_ns"] for event in exits))
        self.assertEqual(report.total.written_bytes.value, sum(event["written_bytes"] for event in exits))
        self.assertTrue(report.certificate.complete)

    def test_what_the_program_did(self):
        report = tracer.read(self.recording).report
        tools = {row.name: row for row in report.tools}
        self.assertEqual((tools["true"].processes, tools["false"].processes), (20, 3))
        self.assertEqual(tools["false"].failed.value, 3)
        (failure,) = report.failures
        self.assertEqual((failure.argv, failure.exit_code, failure.count), (("/bin/false",), 1, 3))
        python = next(row for row in report.tools if row.written_bytes and row.written_bytes.value >= 5_000_000)
        self.assertGreaterEqual(python.memory_bytes.value, 64 << 20)
        self.assertEqual(report.host.kernel_release, os.uname().release)


@unittest.skipIf(recordings.why_no_tracing(), recordings.why_no_tracing())
class Living(unittest.TestCase):
    """Sessions that go on while their reports are made."""

    def test_a_session_before_and_after_its_end(self):
        with tracer.session(pipeline="demo", sample="S1") as session:
            for _ in range(5):
                subprocess.run(["/bin/true"], check=True)
            living = session.report
            subprocess.run(["/bin/false"], check=False)
            later = session.report
        ended = session.report
        for report, processes, failed in ((living, 5, 0), (later, 6, 1), (ended, 6, 1)):
            self.assertEqual((report.total.processes, report.total.failed.value), (processes, failed))
            self.assertTrue(report.certificate.complete, str(report.certificate))
            self.assertEqual(report.certificate.tier, "kernel")
            self.assertFalse(report.certificate.damage)
            self.assertEqual(report.title, "demo / S1")
            self.assertIsNotNone(report.cost.cpu_share)
        self.assertIn("complete: 6 of 6", repr(session))
        self.assertIn("srcdoc", session._repr_html_())

    def test_the_cost_of_tracing_includes_its_start(self):
        with TemporaryDirectory() as folder:
            before = time.process_time_ns()
            with tracer.session(record=f"{folder}/r.tracer") as session:
                subprocess.run(["/bin/true"], check=True)
            used = time.process_time_ns() - before
            cost = session.report.cost
            self.assertTrue(0.7 * used < cost.cpu_ns <= used, (cost, used))
            self.assertTrue(0.5 * used < cost.start_cpu_ns < cost.cpu_ns, (cost, used))
            self.assertIn(" to start, then ", str(session.report))
            recorded = tracer.read(f"{folder}/r.tracer").report.cost
            self.assertTrue(0.7 * used < recorded.cpu_ns <= used, (recorded, used))
            self.assertIsNone(recorded.snapshots_cpu_ns)

    def test_a_second_look_reads_only_what_is_new(self):
        def bytes_read():
            with open("/proc/self/io", encoding="ascii") as file:
                return int(file.readline().split()[1])

        with tracer.session() as session:
            for i in range(300):
                subprocess.run(["/bin/true", f"{i} {os.urandom(2000).hex()}"], check=True)
            self.assertEqual(session.report.total.processes, 300)
            written = os.fstat(session._spool.fileno()).st_size
            subprocess.run(["/bin/false"], check=False)
            before = bytes_read()
            report = session.report
            self.assertLess(bytes_read() - before, written / 2)
        self.assertEqual((report.total.processes, report.total.failed.value), (301, 1))

    def test_while_processes_come_and_go_each_report_is_complete(self):
        stop = threading.Event()

        def work():
            while not stop.is_set():
                subprocess.run(["/bin/true"], check=True)

        with tracer.session() as session:
            worker = threading.Thread(target=work)
            worker.start()
            try:
                seen = [session.report for _ in range(10)]
            finally:
                stop.set()
                worker.join()
        for report in seen:
            self.assertTrue(report.certificate.complete, str(report.certificate))
        counts = [report.total.processes for report in seen]
        self.assertEqual(counts, sorted(counts))

    def test_a_command(self):
        result = tracer.run(["/bin/sh", "-c", "/bin/true; /bin/false; exit 0"])
        report = result.report
        self.assertEqual((report.total.processes, report.total.failed.value), (3, 1))
        self.assertTrue(report.certificate.complete, str(report.certificate))
        self.assertEqual(report.command[:2], ("/bin/sh", "-c"))
        self.assertIn("/bin/sh -c", report.title)
        self.assertIn("complete: 3 of 3", repr(result))

    def test_a_command_among_others(self):
        with tracer.session() as session:
            subprocess.run(["/bin/true"], check=True)
            report = session.run(["/bin/sh", "-c", "/bin/true; /bin/true"]).report
            self.assertEqual(report.total.processes, 3)
            self.assertTrue(report.certificate.complete, str(report.certificate))
            self.assertEqual(session.report.total.processes, 4)


if __name__ == "__main__":
    unittest.main()
