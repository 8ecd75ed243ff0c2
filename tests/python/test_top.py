# SPDX-License-Identifier: Apache-2.0
"""`tracer top`: what it shows of fixed states, of recordings and of a service, in terminals of several sizes."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import tracer
from recordings import DEADLINE_SECONDS, TRACERD, TestCase
from rich.cells import cell_len
from support import ROOT, TempDir, begin_service, needs_tracing, run_python, wait_until
from tracer.view._model import Service, View, boot_clock_ns
from tracer.view._screen import About, Choices, frame_of, nodes_of
from tracer.view._start import FIELDS, _Past
from tracer.view._texts import ASCII, UTF8, clean, figure_text, letters_of
from tracer.view._top import Top
from view_states import PATHS, S, T0, Fixed, finding_of, pipeline, run_of, step_of, task_of, times

RECORDINGS = ROOT / "tests/data/recordings"
SIZES = ((120, 36), (80, 24), (200, 60), (60, 12))


def text_of(line):
    return "".join(text for text, _ in line)


def view_of(source, now_ns=T0 + 100 * S, **more):
    view = View(source, clock=lambda: now_ns, **more)
    view.refresh()
    return view


def shown(view, width=120, height=36, signs=UTF8, choices=None, **about):
    frame = frame_of(view, choices or Choices(), About("live", signs, **about), width, height)
    return [text_of(line) for line in frame.lines]


class Texts(unittest.TestCase):
    def test_figures_are_those_of_tracerd(self):
        self.assertEqual(figure_text({"wall_ns": 90 * S}, "wall_ns", UTF8), "90.0 s")
        bounds = {"memory_bytes_at_least": 1 << 30, "memory_bytes_at_most": 2 << 30, "requested": {"memory_bytes": 8 << 30}}
        self.assertEqual(figure_text(bounds, "memory_bytes", UTF8), "≥ 1.0 GiB ≤ 2.0 GiB of 8.0 GiB")
        self.assertEqual(figure_text(bounds, "memory_bytes", ASCII, at_most=False, requested=False), ">= 1.0 GiB")
        self.assertEqual(figure_text({}, "cpu_ns", UTF8), "-")
        self.assertEqual(figure_text({"cpu_utilization": 0.5, "requested": {"millicpus": 2000}}, "cpu_utilization", UTF8),
                         "50 % of 200 %")

    def test_letters_are_the_causes_in_their_shares(self):
        self.assertEqual(letters_of({"time": times(CPU=0.5, disk=0.5)}), "CCCCdddd")
        self.assertEqual(letters_of({"time": times(disk=1.0)}), "dddddddd")
        self.assertEqual(letters_of({}), "")

    def test_names_do_not_steer_the_terminal(self):
        for hostile in ("\x1b[2J", "a\u202eb", "x\ny", "\x9b31m", "[bold]x[/bold]", "e" + "\u0301" * 100, "\ud800", "\u200b"):
            with self.subTest(name=ascii(hostile)):
                text = clean(hostile, UTF8)
                self.assertFalse(re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u200b\ud800-\udfff]", text), ascii(text))
                self.assertLess(text.count("\u0301"), 5)
                self.assertTrue(clean(hostile, ASCII).isascii())


class Screens(unittest.TestCase):
    def test_each_line_is_as_wide_as_the_terminal(self):
        names = ("ünïcödé", "日本語のとても長い名前です" * 5, "\x1b[31m" * 9, "[red]x", "a" * 10_000, "\u202eabc", "e\u0301" * 90)
        hostile = Fixed([run_of(name=names[1])], [step_of("1", name) for name in names],
                        [task_of(str(10 + number), name, name) for number, name in enumerate(names)],
                        [finding_of(number, name, task_key=f"{10 + number:016x}") for number, name in enumerate(names)])
        for source in (pipeline(), hostile, Fixed()):
            for panel in ("", "why", "findings", "help"):
                for width, height in SIZES:
                    for signs in (UTF8, ASCII):
                        with self.subTest(panel=panel, width=width, signs=signs.utf8):
                            lines = shown(view_of(source), width, height, signs, Choices(panel=panel), now="10:58:14")
                            self.assertEqual(len(lines), height)
                            self.assertEqual({cell_len(line) for line in lines}, {width})
                            self.assertTrue(signs.utf8 or all(line.isascii() for line in lines))
                            self.assertNotIn("\x1b", "".join(lines))

    def test_wide(self):
        lines = shown(view_of(pipeline()), wall_offset_ns=0, now="10:58:14", paths=PATHS)
        self.assertIn("main.nf amber", lines[0])
        self.assertRegex(lines[0], r"live 10:58:14   complete$")
        self.assertIn("main.nf amber is running, 90.0 s; its time went to disk 60 %, CPU 40 %", lines[1])
        # Five of SORT's twelve will be queued by the engine's word, but are not known by now.
        self.assertIn("5/18 tasks  ✓ 4 done  ▶ 1 running  ‖ 1 stalled  ○ 5 queued  ✗ 1 failed", lines[2])
        self.assertRegex(lines[3], "^─ Needs attention ─+ 1 error, 1 warning, 1 note ─$")
        self.assertRegex(lines[4], r"^✗ \d\d:\d\d SAMTOOLS \(S1\) was killed as memory had run out")
        self.assertRegex(lines[5], r"^! \d\d:\d\d ALIGN \(S2\) stands still")
        self.assertRegex(lines[6], "^─ Held up by ─+ critical path: 2 tasks, ≥ 3.3 min ─$")
        self.assertIn("ALIGN (D1) 90.0 s → SORT (S1) 90.0 s", lines[7])
        table = [line.split() for line in lines[10:]]
        names = [" ".join(words[:4]) for words in table if words]
        self.assertEqual([each for each in names if "amber" in each or "ALIGN" in each or "SORT" in each], [
            "▾ main.nf amber 5/18", "▾ ALIGN 5/6 90.0", "! ALIGN (S1) ✗", "! ▸ ALIGN (S2)",
            "▾ SORT 0/12 90.0", "▸ SORT (S1) ▶", "SORT (Q0) ○ queued", "SORT (Q1) ○ queued", "SORT (Q2) ○ queued"])
        whole = "\n".join(lines)
        self.assertIn("4 done", whole)
        self.assertIn("2 more queued", whole)
        self.assertRegex(whole, r"ALIGN \(S1\) +✗ failed +90\.0 s  CCCCCCdd CPU 75 % +50 % +1\.0 GiB of 8\.0 GiB")
        # It was submitted 40 s after the beginning.
        self.assertRegex(whole, r"SORT \(Q0\) +○ queued +waits for 60\.0 s +- of 8\.0 GiB")
        self.assertIn("C on a CPU  d disk", whole)

    def test_usual(self):
        view = view_of(pipeline())
        view.usual = {"SORT": 26 * 60 * S}
        lines = "\n".join(shown(view, expected_end="about 57.0 min left (40.0 min to 1.2 h)"))
        self.assertRegex(lines, r"elapsed +usual  where time went")
        self.assertRegex(lines, r"SORT \(S1\) +▶ running +90\.0 s  26\.0 min  CCCC")
        self.assertRegex(lines, r"SORT \(Q0\) +○ queued +26\.0 min  waits for 60\.0 s")
        self.assertIn("is running, 90.0 s: about 57.0 min left (40.0 min to 1.2 h); its time", lines)

    def test_narrow_and_ascii(self):
        lines = shown(view_of(pipeline()), 80, 24, ASCII)
        whole = "\n".join(lines)
        self.assertIn("5/18 tasks  4 done  1 running  1 stalled  5 queued  1 failed", whole)
        self.assertRegex(whole, r"ALIGN \(S1\) +failed +90\.0 s CCCCdd CPU 75 % +1\.0 GiB")
        self.assertRegex(whole, r"SORT \(Q0\) +queued +waits for 60\.0 s")
        self.assertIn("1 error, 1 warning, 1 note", whole)
        # The keys are whole.
        self.assertRegex(lines[-1], "q quit +$")

    def test_no_figure_is_cut(self):
        largest = {"wall_ns_at_least": 5999 * S, "cpu_utilization_at_least": 63.99, "memory_bytes_at_least": 999 << 20,
                   "read_bytes_at_least": 999 << 20, "written_bytes_at_least": 999 << 20,
                   "requested": {"millicpus": 64000, "memory_bytes": 999 << 30}}
        tasks = [{key: value for key, value in task_of(str(10 + number), "x", "A", **largest).items()
                  if f"{key}_at_least" not in largest} | {"time": time} for number, time in enumerate((
                      times(local_socket=1.0), times(CPU_or_wait=0.55, local_socket=0.45), times(run_queue=1.0)))]
        waits = task_of("50", "x", "A", state="queued")
        source = Fixed([run_of()], [step_of("1", "A", expected=20000)], [*tasks, waits])
        for width in (60, 76, 80, 99, 100, 110, 120, 130, 140, 149, 150, 170, 200):
            for signs in (UTF8, ASCII):
                with self.subTest(width=width, utf8=signs.utf8):
                    lines = shown(view_of(source, T0 + 5999 * S), width, 40, signs, Choices(toggled={"1/A/over": True}))
                    head = next(number for number, line in enumerate(lines) if "elapsed" in line and "memory" in line)
                    rows = [line for line in lines[head + 1:] if line.strip() and "on a CPU" not in line and "quit" not in line]
                    self.assertGreaterEqual(len(rows), 6)
                    for row in rows:
                        self.assertNotIn(signs.ellipsis, row[20:])

    def test_what_is_too_small_says_so(self):
        lines = shown(view_of(pipeline()), 50, 8)
        self.assertIn("tracer top needs 60 columns and 12 lines", lines[0])
        self.assertEqual({cell_len(line) for line in lines}, {50})

    def test_what_is_blank_is_said_whole(self):
        note = "blank: where time went, files, network; sums are lower bounds, as CAP_BPF is missing. use sudo, or setcap cap_bpf+ep"
        for width, height in SIZES[:3]:
            lines = shown(view_of(pipeline()), width, height, notes=(note,))
            self.assertIn(note, re.sub(" +", " ", " ".join(lines[:8])))

    def test_nothing_has_run(self):
        self.assertIn("nothing has run yet", "\n".join(shown(view_of(Fixed()))))

    def test_before_the_first_answer(self):
        for width, height in SIZES:
            lines = shown(View(Fixed()), width, height)
            self.assertIn("looking for what runs", lines[1])
            self.assertEqual({cell_len(line) for line in lines}, {width})

    def test_tasks_whose_rows_were_not_kept_are_over(self):
        lines = shown(view_of(Fixed([run_of(tasks=700)], [step_of("1", "A", expected=900) | {"tasks": 700}], [
            task_of("11", "a", "A"), task_of("12", "b", "A", state="running", living=1)], dropped=698)))
        self.assertIn("699/900 tasks  ✓ 1 done  ▶ 1 running  698 over and not kept", lines[2])
        self.assertRegex("\n".join(lines), r"▾ A +699/900 ")

    def test_losses_are_in_the_title(self):
        self.assertIn("lost: 12", shown(view_of(Fixed([run_of()], lost={"ring_full": 12})))[0])
        self.assertIn("3 rows left out", shown(view_of(Fixed([run_of()], dropped=3)))[0])
        self.assertRegex(shown(view_of(Fixed([run_of()])), damage="cut off")[0], "live   cut off$")

    def test_why(self):
        view = view_of(pipeline())
        lines = "\n".join(shown(view, choices=Choices(panel="why", cursor="11")))
        for text in ("Why: ALIGN (S1)", "status failed, failed by its engine, elapsed 90.0 s, processes 1, of which 0 live",
                     "CPU             75 %  75.0 s", "disk            25 %  25.0 s", "was killed as memory had run out",
                     "limit 8.0 GiB", "try: ask for more memory"):
            self.assertIn(text, lines)

    def test_what_a_source_says_of_why(self):
        source = pipeline()
        source.why = lambda key: {"critical_path": PATHS[f"{1:016x}"], "neighbors": [{"name": "other\x1b[2J", "together_ns": 5 * S}],
                                  "largest": [{"tool": "bwa mem", "pid": 7, "cpu_ns": 9 * S}]}
        view = View(source)
        view.key = f"{1:016x}"
        view.refresh()
        lines = "\n".join(shown(view, 120, 80, choices=Choices(panel="why", cursor="1")))
        for text in ("critical path, by files: from 3.3 min to 5.0 min", "ran at the same time", r"other\x1b[2J  together 5.0 s",
                     "bwa mem, pid 7  CPU 9.0 s"):
            self.assertIn(text, lines)

    def test_findings_and_help(self):
        lines = "\n".join(shown(view_of(pipeline()), choices=Choices(panel="findings")))
        self.assertLess(lines.index("error: SAMTOOLS"), lines.index("warning: ALIGN (S2)"))
        self.assertIn("note: it is worth knowing", lines)
        self.assertIn("pause: nothing moves", "\n".join(shown(view_of(pipeline()), choices=Choices(panel="help"))))


class Rows(unittest.TestCase):
    def names(self, view, **choices):
        return [node.text or node.row["name"] for node in nodes_of(view, Choices(**choices))]

    def test_a_filter_keeps_what_is_around(self):
        view = view_of(pipeline())
        self.assertEqual(self.names(view, filter="s1"), ["main.nf amber", "ALIGN", "ALIGN (S1)", "SORT", "SORT (S1)"])
        self.assertEqual(self.names(view, filter="failed"), ["main.nf amber", "ALIGN", "ALIGN (S1)"])
        self.assertEqual(self.names(view, filter="nothing like it"), [])

    def test_tasks_of_no_run(self):
        def alone(identity, name, **more):
            task = task_of(identity, name, "st", **more)
            return {key: value for key, value in task.items() if key not in ("in", "run_key")}

        first, second = alone("11", "nap"), alone("12", "nod")
        del second["step"]
        view = view_of(Fixed((), (), [first, second]))
        self.assertEqual([(node.depth, node.row["name"]) for node in nodes_of(view, Choices())], [(0, "st"), (1, "nap"), (0, "nod")])
        self.assertEqual(self.names(view, sort="elapsed"), ["st", "nap", "nod"])
        self.assertEqual(self.names(view, filter="nap"), ["st", "nap"])
        self.assertEqual(self.names(view, filter="nod"), ["nod"])
        lines = shown(view)
        self.assertIn("2 tasks, none of which is running", lines[1])
        self.assertRegex("\n".join(lines), r"▾ st +1/1 .*\n.* nap +✓ done +90\.0 s")
        shown(view, choices=Choices(panel="why", cursor=nodes_of(view, Choices())[0].id))
        for tasks, text in (([first], "1 task, which is not running"), ([alone("13", "x", state="running")], "1 task, which is running"),
                            ([first, alone("13", "x", state="running")], "1 of 2 tasks is running")):
            self.assertIn(text, shown(view_of(Fixed((), (), tasks)))[1])

    def test_tasks_of_a_step_without_a_row_are_below_their_run(self):
        view = view_of(Fixed([run_of()], [step_of("1", "A")], [task_of("11", "a", "A"), task_of("12", "b", "B")]))
        self.assertEqual(self.names(view), ["main.nf amber", "A", "a", "B", "b"])
        self.assertEqual(self.names(view_of(Fixed([run_of()], (), [task_of("12", "b", "B")]))), ["main.nf amber", "B", "b"])

    def test_sorting(self):
        tasks = [task_of("11", "b", "A", wall_ns=5 * S), task_of("12", "a", "A", wall_ns=9 * S), task_of("13", "c", "A", wall_ns=7 * S)]
        view = view_of(Fixed([run_of()], [step_of("1", "A")], tasks))
        for sort, expected in (("start", "bac"), ("name", "abc"), ("elapsed", "acb")):
            self.assertEqual("".join(self.names(view, sort=sort)[2:]), expected)

    def test_what_is_no_more_is_gone_and_what_is_over_is_bounded(self):
        source = Fixed([run_of()], [step_of("1", "A")], [task_of(str(number), f"t{number}", "A") for number in range(10, 30)])
        view = view_of(source, most_rows=5)
        self.assertEqual([row["name"] for row in view.index.tasks_of["1", "A"]], ["t25", "t26", "t27", "t28", "t29"])
        self.assertEqual(view.index.left_out, 15)
        source.change(tasks=[])
        view.refresh()
        self.assertEqual(view.index.tasks_of, {})

    def test_only_the_fields_that_are_shown_are_asked_for(self):
        source = pipeline()
        view_of(source, fields=FIELDS)
        (_, rows, key, fields), = source.asked
        self.assertEqual((rows, key), (None, None))
        self.assertLessEqual({"name", "state", "wall_ns", "time", "submitted_ns"}, set(fields))

    def test_a_service_that_is_gone_is_said_and_rows_stay(self):
        source = pipeline()
        view = view_of(source)
        source.raises = tracer.ServiceError("no service answers", "start it")
        self.assertTrue(view.refresh())
        lines = shown(view, now="10:58:14")
        self.assertIn("no answer 10:58:14", lines[0])
        self.assertIn("no service answers. start it", lines[1])
        self.assertIn("ALIGN (S1)", "\n".join(lines))
        source.raises = None
        self.assertTrue(view.refresh())
        self.assertNotIn("no answer", shown(view)[0])


class OfRecordings(TestCase):
    def test_figures_are_those_of_the_report(self):
        for name in ("nextflow-24", "snakemake", "failures", "slurm", "standing-still"):
            recording = tracer.read(RECORDINGS / f"{name}.tracer")
            report = json.loads(recording.report.to_json())
            view = View(recording)
            view.refresh()
            reported = {row[key]: row for rows, key in (("runs", "run_key"), ("tasks", "task_key")) for row in report[rows]
                        if key in row}
            reported |= {(row.get("run_key"), row["name"]): row for row in report["steps"]}
            choices = Choices(toggled={})
            for _ in range(4):  # All are opened, level by level.
                choices.toggled |= {node.id: True for node in nodes_of(view, choices)}
            frame = frame_of(view, choices, About("recording", UTF8), 200, 400)
            lines = dict(zip((node.id for node in frame.nodes), self.table_of(frame)))
            nodes = [node for node in frame.nodes if node.level in ("run", "step", "task")]
            self.assertTrue(nodes, name)
            for node in nodes:
                row = node.row
                expected = reported[row["run_key"] if node.level == "run" else row["task_key"] if node.level == "task"
                                    else (row.get("run_key"), row["name"])]
                with self.subTest(recording=name, row=row["name"]):
                    for figure in ("wall_ns", "memory_bytes", "cpu_utilization", "read_bytes", "written_bytes"):
                        text = figure_text(expected, figure, UTF8, at_most=False)
                        self.assertIn(text, lines[node.id])
                    if expected.get("time"):
                        first = expected["time"][0]
                        self.assertIn(first["cause"], lines[node.id])

    def test_runs_of_labels_alone_end(self):
        view = View(tracer.read(RECORDINGS / "demo.tracer"))
        view.refresh()
        self.assertEqual([run["state"] for run in view.index.runs], ["finished"])

    def table_of(self, frame):
        lines = [text_of(line) for line in frame.lines]
        head = next(number for number, line in enumerate(lines) if "elapsed" in line and "memory" in line)
        return lines[head + 1:]

    @needs_tracing
    def test_tasks_of_no_run_have_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "l.tracer")
            with tracer.session(record=path) as session:
                session.run(["true"], task="nap", step="st", sample="S1")
            view = View(tracer.read(path), fields=FIELDS)
            view.refresh()
        self.assertEqual([node.row["name"] for node in nodes_of(view, Choices())], ["st", "nap"])

    def test_texts_are_those_of_tracerd(self):
        recording = tracer.read(RECORDINGS / "nextflow-24.tracer")
        view = View(recording)
        view.refresh()
        printed = subprocess.run([TRACERD, "report", "--by", "task", recording.path], capture_output=True, text=True, check=True,
                                 env=os.environ | {"LC_ALL": "C.UTF-8"}, timeout=DEADLINE_SECONDS).stdout
        for rows in view.index.tasks_of.values():
            for row in rows:
                for figure in ("wall_ns", "memory_bytes", "cpu_utilization"):
                    self.assertIn(figure_text(row, figure, UTF8), printed)

    def test_every_recording_can_be_shown(self):
        for path in sorted(RECORDINGS.glob("*.tracer")):
            with self.subTest(recording=path.name):
                view = View(tracer.read(path), fields=FIELDS)
                view.refresh()
                for width, height in SIZES:
                    lines = shown(view, width, height)
                    self.assertEqual({cell_len(line) for line in lines}, {width})


class Past(TempDir):
    def test_recordings_of_earlier_runs_say_what_is_usual(self):
        for number in range(3):
            shutil.copy(RECORDINGS / "nextflow-24.tracer", self.folder / f"{number}.tracer")
        (self.folder / "no-recording.tracer").write_text("none")
        step = "QC:ALIGN"
        live = run_of(pipeline="main.nf") | {"run_key": "1" * 16}
        view = view_of(Fixed([live], [step_of("1", step, expected=4)], [task_of("11", "a", step, sample="S1"),
                                                                        task_of("12", "b", step, state="running", living=1)]))
        past = _Past([str(self.folder)])
        wait_until(lambda: past.look(view), "they are read")
        self.assertRegex(past.look(view), r"^about [\d.]+ \S+ left \([\d.]+ \S+ to [\d.]+ \S+\)$")
        recording = View(tracer.read(RECORDINGS / "nextflow-24.tracer"))
        recording.refresh()
        walls = [row["wall_ns"] for rows in recording.index.tasks_of.values() for row in rows if row["step"] == step]
        self.assertTrue(min(walls) * 0.9 <= view.usual[step] <= max(walls) * 1.1, (view.usual, walls))
        self.assertEqual(_Past([]).look(view), "")


class Keys(unittest.IsolatedAsyncioTestCase):
    async def begin(self, source, size=(120, 36), signs=UTF8, **options):
        app = Top(view_of(source), About("live", signs), period_s=0.05, **options)
        context = app.run_test(size=size)
        pilot = await context.__aenter__()
        self.addAsyncCleanup(context.__aexit__, None, None, None)
        await pilot.pause()
        return app, pilot

    def lines(self, app):
        """As they are drawn."""
        drawn = app.screen.query_one("_Drawn")
        return [drawn.render_line(y).text for y in range(app.size.height)]

    async def test_what_is_drawn_is_the_frame(self):
        for size, signs in (((120, 36), UTF8), ((80, 24), UTF8), ((80, 24), ASCII)):
            app, pilot = await self.begin(pipeline(), size, signs)
            await pilot.pause(0.2)
            self.assertEqual(self.lines(app), [text_of(line) for line in app._frame.lines])
            self.assertIn("main.nf amber", self.lines(app)[0])
            self.assertIn("main.nf", app.export_screenshot())

    async def test_moving_opening_explaining(self):
        source = pipeline()
        source.detail = {"processes": [{"pid": 4711, "tool": "bwa mem", "argv": ["bwa", "mem", "x\x1b[2J"], "start_ns": T0,
                                        "begin_ns": T0, "time_ns": T0 + 90 * S, "cpu_ns": 80 * S}],
                         "files": [{"path": "/data/ref.fa", "read_bytes": 5 << 20, "written_bytes": 0}], "peers": []}
        app, pilot = await self.begin(source)
        await pilot.press("down", "down", "down")
        self.assertEqual(app._node().row["name"], "ALIGN (S2)")
        await pilot.press("right")
        await pilot.pause(0.3)
        self.assertRegex("\n".join(self.lines(app)), r"bwa mem +pid 4711 +90\.0 s  CPU 80\.0 s")
        await pilot.press("w", "pagedown")
        await pilot.pause(0.3)
        whole = "\n".join(self.lines(app))
        self.assertIn("Why: ALIGN (S2)", whole)
        self.assertIn(r"4711  bwa mem x\x1b[2J", whole)
        self.assertIn("/data/ref.fa  read 5.0 MiB, written 0 B", whole)
        await pilot.press("escape", "left", "left", "left")
        self.assertEqual(app._node().row["name"], "ALIGN")
        await pilot.press("left")
        self.assertNotIn("ALIGN (S1)  ", "\n".join(self.lines(app)[9:]))
        await pilot.press("q")
        self.assertEqual(app.return_value, 0)

    async def test_a_command_without_tasks_has_its_processes_below_it(self):
        detail = {"processes": [{"pid": 7, "tool": "gzip", "start_ns": T0, "begin_ns": T0, "time_ns": T0 + 5 * S, "cpu_ns": 4 * S}]}
        app, pilot = await self.begin(Fixed([run_of(name="sh -c")], detail=detail))
        await pilot.pause(0.5)
        self.assertEqual([node.level for node in app._frame.nodes], ["run", "process"])
        self.assertRegex("\n".join(self.lines(app)), r"gzip +pid 7 +5\.0 s  CPU 4\.0 s")

    async def test_filter_sort_pause(self):
        source = pipeline()
        app, pilot = await self.begin(source)
        await pilot.press("slash", "S", "2")
        self.assertIn("filter: S2", self.lines(app)[-1])
        await pilot.press("enter")
        self.assertEqual([node.row["name"] for node in app._frame.nodes], ["main.nf amber", "ALIGN", "ALIGN (S2)"])
        await pilot.press("escape", "s")
        self.assertIn("sort: name", "\n".join(self.lines(app)))
        await pilot.press("space")
        source.change(runs=[run_of(name="another")])
        await pilot.pause(0.3)
        self.assertIn("paused", self.lines(app)[0])
        self.assertIn("main.nf amber", self.lines(app)[0])
        await pilot.press("space")
        await pilot.pause(0.3)
        self.assertIn("another", self.lines(app)[0])

    async def test_what_changes_is_there_within_a_look(self):
        source = pipeline()
        app, pilot = await self.begin(source)
        source.change(tasks=[*source.rows["tasks"], task_of("60", "NEW (S9)", "SORT", state="running", living=1)])
        until = time.monotonic() + 10
        while "NEW (S9)" not in "\n".join(self.lines(app)) and time.monotonic() < until:
            await pilot.pause(0.05)
        self.assertIn("NEW (S9)", "\n".join(self.lines(app)))

    async def test_another_size(self):
        app, pilot = await self.begin(pipeline())
        await pilot.resize_terminal(80, 24)
        await pilot.pause(0.2)
        self.assertEqual({cell_len(line) for line in self.lines(app)}, {80})

    async def test_what_can_not_be_shown_ends_it(self):
        source = pipeline()
        app, pilot = await self.begin(source)
        source.raises = tracer.RecordingError("the file is gone", "find it")
        await pilot.pause(0.3)
        self.assertEqual((app.return_value, str(app.failed.problems[0].what)), (1, "the file is gone"))

    async def test_it_ends_with_its_command(self):
        app, pilot = await self.begin(pipeline(), ended=lambda: 0)
        await pilot.pause(0.3)
        self.assertEqual(app.return_value, 0)


def in_terminal(words, keys=(), size=(80, 24), env=None, until=None, timeout=DEADLINE_SECONDS):
    """(exit status, all that it wrote); `keys`: pressed once `until` was written."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(words[0], words, os.environ | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} | (env or {}))
    import fcntl
    import select
    import struct
    import termios
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    written, pressed, end = b"", False, time.monotonic() + timeout
    try:
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    data = os.read(terminal, 65536)
                except OSError:
                    break
                if not data:
                    break
                written += data
            if not pressed and until is not None and until.encode() in written:
                pressed = True
                for key in keys:
                    os.write(terminal, key.encode())
        else:
            os.kill(pid, 9)
            raise AssertionError(f"it did not end: {written[-2000:]!r}")
    finally:
        os.close(terminal)
        status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status), written.decode(errors="replace")


TOP = [sys.executable, "-m", "tracer", "top"]


class Commands(TempDir):
    def test_without_a_terminal_a_service_or_textual(self):
        done = subprocess.run(TOP, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_SECONDS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs a terminal", done.stderr)
        status, written = in_terminal([*TOP, "--socket", str(self.folder / "none.sock")])
        self.assertEqual(status, 2, written)
        self.assertIn("nothing can be shown of this host: ", written)
        self.assertIn("Fix: ", written)
        done = run_python("""
            import os, sys
            sys.modules["textual"] = None
            os.isatty = lambda fd: True
            from tracer.__main__ import main
            sys.exit(main(["top"]))
        """)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("pip install 'libtracer[ui]'", done.stderr)

    def test_of_a_recording(self):
        status, written = in_terminal([*TOP, str(RECORDINGS / "nextflow-24.tracer")], ["q"], (120, 36), until="QC:ALIGN")
        self.assertEqual(status, 0, written[-2000:])

    def test_a_recording_that_is_cut_off_or_damaged_is_not_complete(self):
        whole = (RECORDINGS / "nextflow-24.tracer").read_bytes()
        at = len(whole) // 2
        for name, content in (("cut off", whole[:at]), ("damaged", whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1:])):
            with self.subTest(name):
                path = self.folder / "part.tracer"
                path.write_bytes(content)
                status, written = in_terminal([*TOP, str(path)], ["q"], (120, 36), until="lower bounds")
                self.assertEqual(status, 0, written[-2000:])
                self.assertNotIn("complete", written)
                self.assertRegex(written, f"recording   {name}")
                self.assertIn(f"{name}: figures are lower bounds. ", written)
                self.assertIn("damaged or cut off; everything else was read", written)

    def test_no_color(self):
        _, written = in_terminal([*TOP, str(RECORDINGS / "nextflow-24.tracer")], ["q"], (120, 36), {"NO_COLOR": "1"}, "QC:ALIGN")
        styles = {number for each in re.findall(r"\x1b\[([\d;]*)m", written) for number in each.split(";")}
        self.assertIn("1", styles)
        self.assertFalse({each for each in styles if re.fullmatch("[349][0-8]|10[0-7]", each)}, styles)

    def test_nothing_heavy_is_imported_for_others(self):
        done = run_python("""
            import sys
            from tracer.__main__ import _parser
            _parser()
            print(*sorted(sys.modules))
        """)
        self.assertEqual(set(done.stdout.split()) & {"textual", "rich", "asyncio", "urllib.request", "tracer.view._top"}, set())


@needs_tracing
class OfACommand(TempDir):
    def test_it_leaves_the_status_and_the_output(self):
        for code, expected in (("echo said; sleep 2; exit 7", 7), ("echo said; sleep 2; kill -TERM $$", 143)):
            with self.subTest(code=code):
                status, written = in_terminal([*TOP, "--", "sh", "-c", code], size=(120, 36))
                self.assertEqual(status, expected, written[-3000:])
                self.assertIn("said", written)
                self.assertIn("sleep", written.rpartition("\x1b[?1049l")[2])  # The report.

    def test_a_command_that_is_not_there(self):
        status, written = in_terminal([*TOP, "--", "no-such-command-at-all"])
        self.assertEqual(status, 127, written)

    def test_without_rights_it_says_what_is_blank(self):
        status, written = in_terminal([*TOP, "--", "sh", "-c", "sleep 3; exit 5"], size=(120, 36), env={"TRACER_SOURCE": "proc"})
        self.assertEqual(status, 5, written[-3000:])
        self.assertIn("blank: where time went, files, network; sums are lower bounds", written)

    def test_it_goes_on_when_the_view_is_left(self):
        status, written = in_terminal([*TOP, "--", "sh", "-c", "echo before; sleep 4; echo after; exit 3"], ["q"], until="before")
        self.assertEqual(status, 3, written[-3000:])
        self.assertIn("after", written)


@needs_tracing
class OfAService(TempDir):
    def test_a_task_is_queued_runs_and_fails(self):
        place = begin_service(self.folder, self.addCleanup)
        service = Service(place)
        self.addCleanup(service.close)
        view = View(service, fields=FIELDS, clock=boot_clock_ns)
        session = tracer.connect(place)
        self.addCleanup(session.close)
        context = {"engine": "snakemake", "run_id": "r1", "pipeline": "TopTest", "step": "top_align", "task": "top_align (S1)",
                   "task_id": "7"}
        session.submit({key: context[key] for key in ("engine", "run_id", "pipeline")}, expected={"top_align": 3})
        session.submit(context, requested={"millicpus": 2000, "memory_bytes": 1 << 30})

        def whole():
            """Others may run pipelines on this host meanwhile."""
            view.refresh()
            return "\n".join(shown(view, choices=Choices(filter="top_align")))

        wait_until(lambda: re.search(r"top_align \(S1\) +○ queued +waits for [\d.]+ m?s +- of 1\.0 GiB", whole()), "it is queued")
        self.assertRegex(whole(), r"▾ top_align +0/3 ")
        task = subprocess.Popen(["sh", "-c", "read line; false; exit 3"], stdin=subprocess.PIPE)
        session.announce(pid=task.pid, context=context)
        wait_until(lambda: re.search(r"top_align \(S1\) +▶ running", whole()), "it runs")
        task.communicate(b"\n")
        wait_until(lambda: re.search(r"top_align \(S1\) +✗ failed", whole()), "it has failed")
        # A failure below a test is a note.
        self.assertRegex(whole(), "Needs attention|Found")
        self.assertRegex(whole(), r"▾ top_align +1/3 ")

    def test_a_service_that_is_killed_and_back(self):
        ends = []
        place = begin_service(self.folder, ends.append)
        service = Service(place)
        self.addCleanup(service.close)
        view = View(service, fields=FIELDS, clock=boot_clock_ns)
        with tracer.connect(place) as session:
            session.submit({"engine": "snakemake", "run_id": "r1", "task": "top waits", "task_id": "7"})
            wait_until(lambda: (view.refresh(), "top waits" in "\n".join(shown(view)))[1], "it is queued")
        ends.pop()()
        wait_until(lambda: (view.refresh(), view.problem is not None)[1], "nobody answers")
        lines = shown(view)
        self.assertIn("no answer", lines[0])
        self.assertIn("top waits", "\n".join(lines))
        begin_service(self.folder, self.addCleanup)
        wait_until(lambda: (view.refresh(), view.problem is None)[1], "it answers again")
        # It has forgotten what waited.
        self.assertNotIn("top waits", "\n".join(shown(view)))

    def test_first_row_is_there_in_time(self):
        place = begin_service(self.folder, self.addCleanup)
        with tracer.connect(place) as session:
            session.submit({"engine": "snakemake", "run_id": "r1", "task": "top waits", "task_id": "7"})
        begin = time.monotonic()
        in_terminal([*TOP, "--socket", place], ["q"], until="top waits")
        self.assertLess(time.monotonic() - begin, 15)


if __name__ == "__main__":
    unittest.main()
