# SPDX-License-Identifier: Apache-2.0
"""The page of a document: built as it is committed, its figures those of the report, quiet, and readable by everybody."""

import gzip
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import pages
from browser import CHROMIUM, Browser
from support import TempDir
import tracer
from tracer import _core

NODE = shutil.which("node")
MOST_BYTES = 60 * 1024
# Enough of them for every screen.
KEPT = ("nextflow-25", "snakemake", "failures", "network", "proc")


def packages():
    """node_modules of views/, as its lock file says; None: there is no npm, or no way to its registry."""
    here = pages.VIEWS / "node_modules"
    if not (here / "esbuild").is_dir() and shutil.which("npm"):
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=pages.VIEWS, capture_output=True, timeout=300)
    return here if (here / "esbuild").is_dir() else None


@unittest.skipUnless(NODE, "there is no node")
class Built(TempDir):
    @classmethod
    def setUpClass(cls):
        cls.packages = packages()
        if cls.packages is None:
            raise unittest.SkipTest("npm can't fetch what builds the page")

    def test_what_is_committed_is_what_is_built(self):
        subprocess.run([NODE, "build.mjs", str(self.folder)], cwd=pages.VIEWS, check=True)
        for name in ("page.js", "page.css"):
            self.assertEqual((self.folder / name).read_bytes(), (pages.VIEWS / "dist" / name).read_bytes(), f"{name}: run node views/build.mjs")

    def test_types(self):
        done = subprocess.run([NODE, str(self.packages / "typescript/bin/tsc"), "--noEmit"], cwd=pages.VIEWS, capture_output=True, text=True)
        self.assertEqual(done.stdout, "")

    def test_figures(self):
        script = self.folder / "figures.cjs"
        subprocess.run([str(self.packages / ".bin/esbuild"), "test/figures.ts", "--bundle", "--platform=node", f"--outfile={script}",
                        "--log-level=error"], cwd=pages.VIEWS, check=True)
        done = subprocess.run([NODE, str(script), str(pages.ROOT / "tests/data/figures.json")], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)


class Files(unittest.TestCase):
    def test_small(self):
        size = sum(len(gzip.compress((pages.VIEWS / "dist" / name).read_bytes(), 9)) for name in ("page.js", "page.css"))
        self.assertLess(size, MOST_BYTES)

    def test_nothing_is_fetched_from_elsewhere(self):
        for name in ("dist/page.js", "dist/page.css", "page.html"):
            found = set(re.findall(r"https?://[\w./-]+", (pages.VIEWS / name).read_text("utf-8")))
            self.assertLessEqual(found, {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML", "http://www.w3.org/1999/xhtml",
                                         "http://www.w3.org/1999/xlink"}, name)


@unittest.skipUnless(CHROMIUM, "there is no chromium")
class InBrowser(TempDir):
    @classmethod
    def setUpClass(cls):
        os.environ["TZ"] = "UTC"
        cls.browser = Browser(1440, 900)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def size(self, width, height=900):
        self.browser.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.browser.frames()

    def show(self, document, place=""):
        self.browser.scheme("light")
        self.browser.open(pages.written(self.folder, document) + place)

    def go(self, place):
        self.browser.run(f"location.hash = {json.dumps(place)}")
        self.browser.frames(3)

    def texts(self, selector):
        return self.browser.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((node) => node.innerText.replace(/\\s+/g, ' ').trim())")

    def press(self, key):
        code = {"Enter": 13, "Tab": 9, "Escape": 27}.get(key, 0)
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        self.browser.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.browser.frames()

    def assert_quiet(self):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual([each for each in self.browser.requests() if not each.startswith("file://")], [])

    def places(self, document):
        whole = json.loads(document)
        places = {"run": "#/run/" + (whole["runs"][0]["run_key"] if whole["runs"] else ""), "runs": "#/runs", "tools": "#/tools", "hosts": "#/hosts",
                  "nothing": "#/run/x/task/y"}
        if whole["tasks"]:
            places["task"] = f"#/run/{whole['tasks'][0].get('run_key', '')}/task/{whole['tasks'][0]['task_key']}"
        if whole["findings"]:
            places["why"] = f"#/run/{whole['findings'][0].get('run_key', '')}/why/{whole['findings'][0]['finding_key']}"
        return places

    def test_figures_are_those_of_the_text(self):
        """Each step's row of `tracerd report` has the same figures as the page's."""
        for name in ("nextflow-25", "snakemake"):
            self.size(1440)
            self.show(pages.document(name))
            lines = (pages.RECORDINGS / name / "report.txt").read_text("utf-8").splitlines()
            verdict = json.loads(pages.report(name))["verdict"]
            self.assertEqual(self.texts("h1"), [verdict + "."])
            found = 0
            for step, time_, memory in zip(self.texts(".tr:not(.pathrow) .nm .x"), self.texts(".tr:not(.pathrow) .c-time"), self.texts(".tr:not(.pathrow) .c-mem")):
                line = next((each for each in lines if re.match(rf" *{re.escape(step)} +\d+ ", each)), None)
                if line is None:  # The table is brief.
                    continue
                found += 1
                self.assertIn(f" {time_} ", line, step)
                self.assertIn(f" {memory} ", line + " ", step)
            self.assertGreater(found, 4)
            for tile in self.texts(".tile dd"):
                self.assertTrue(any(tile in each for each in lines) or tile == "0", tile)
            self.assert_quiet()

    def test_a_task_has_its_figures(self):
        self.show(pages.document("nextflow-25"), self.places(pages.document("nextflow-25"))["task"])
        whole = json.loads(pages.report("nextflow-25"))["tasks"][0]
        line = next(each for each in (pages.RECORDINGS / "nextflow-25/report.txt").read_text("utf-8").splitlines()[20:] if each.startswith(whole["name"] + " "))
        for tile in self.texts(".tile dd"):
            self.assertTrue(tile in line or tile == "0", (tile, line))
        self.assert_quiet()

    def test_hostile_names_are_text(self):
        names = ["</script><script>window.bad=1</script>", "<img src=x onerror=window.bad=1>", "\u202egnp.exe\u200b\x1b[31m", "x" * 10240, "javascript:window.bad=1",
                 "%SCRIPT%", "a&b<c>\"'"]
        whole = json.loads(pages.made_up(len(names), steps=len(names)))
        for task, step, name in zip(whole["tasks"], whole["steps"], names):
            task.update(name=name, step=name, sample=name, argv=[name], tool=name)
            step.update(name=name, step=name)
        whole["runs"][0].update(name=names[0], run=names[1], pipeline=names[3])
        whole["verdict"] = "".join(names)
        whole["tools"] = [pages.row(name, 1, 2) for name in names]
        whole["findings"] = [{"time_ns": 1, "finding_key": str(i), "code": name, "severity": "error", "confidence": name, "subject": "task", "state": "open", "text": name,
                              "advice": name, "first_ns": 1, "last_ns": 2, "count": 1, "run_key": whole["runs"][0]["run_key"], "task_key": whole["tasks"][i]["task_key"],
                              "evidence": [{"name": name, "text": name}]} for i, name in enumerate(names)]
        whole["containers"] = [{"container_id": name, "name": name, "image": name, "runtime": name, "task": name, "run_key": whole["runs"][0]["run_key"],
                                "task_key": whole["tasks"][i]["task_key"], "begin_ns": whole["tasks"][i]["first_start_ns"]} for i, name in enumerate(names)]
        document = json.dumps(whole)
        for width in (1440, 390):
            self.size(width)
            self.show(document)
            for name, place in self.places(document).items():
                self.go(place)
                self.assertIsNone(self.browser.run("window.bad ?? null"), name)
                self.assertEqual(self.browser.run("document.querySelectorAll('main img, main script').length"), 0)
                self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width, name)
                shown = self.browser.run("document.body.innerText + document.title")
                for hidden in "\u202e\u200b\x1b":
                    self.assertNotIn(hidden, shown)
            self.assert_quiet()

    def test_nothing_is_cut_or_wider_than_the_window(self):
        for name in (*KEPT, "containers"):
            document = pages.document(name) if name != "containers" else self.with_containers()
            self.show(document)
            for width in (1440, 1024, 390):
                self.size(width)
                for screen, place in self.places(document).items():
                    self.go(place)
                    self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width, (name, screen))
        self.assert_quiet()

    def test_by_keyboard_alone(self):
        self.size(1440)
        self.show(pages.document("nextflow-25"))
        seen = []
        for _ in range(60):
            self.press("Tab")
            here = self.browser.run("(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent).slice(0, 60)")
            if here in seen[:1]:
                break
            seen.append(here)
            if here == "Tasks of QC:ALIGN":
                self.press("Enter")
                self.assertEqual(len(self.texts(".tr.task")), 4)
                self.assertTrue(self.browser.run("document.activeElement.matches(':focus-visible')"))
        for wanted in ("Skip to the run", "Runs", "Tools", "Hosts", "Find a task, tool or sample", "Light or dark", "Steps", "Tasks of MERGE", "S1"):
            self.assertTrue(any(each.lower() == wanted.lower() for each in seen), (wanted, seen))
        self.press("/")
        self.browser.send("Input.insertText", text="odd")
        self.browser.frames()
        self.assertEqual(len(self.texts(".tr.task")), 3)
        self.press("Escape")
        self.press("h")
        self.assertEqual(self.texts("h1"), ["1 host"])
        self.press("?")
        self.assertTrue(self.browser.run("document.querySelector('dialog').open"))
        self.press("Escape")

    def test_print(self):
        self.size(1000)
        self.show(pages.document("nextflow-25"))
        self.browser.send("Emulation.setEmulatedMedia", media="print", features=[])
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.bar, .tabbar')].map((node) => getComputedStyle(node).display)"), ["none", "none"])
        pdf = self.browser.send("Page.printToPDF", printBackground=True)["data"]
        self.assertGreater(len(pdf), 10_000)

    def test_in_the_frame_of_a_notebook(self):
        """It reaches nothing outside, and its links stay inside."""
        page = html.escape(_core.page_of(pages.document("nextflow-25"), "", ""))
        notebook = self.folder / "notebook.html"
        notebook.write_text(f'<!DOCTYPE html><meta charset="utf-8"><iframe sandbox="allow-scripts" width="1200" height="700" srcdoc="{page}"></iframe>', "utf-8")
        self.size(1300)
        self.browser.open(str(notebook), ready="document.querySelector('iframe') !== null")
        for place, other in (((217, 33), "Tools"), ((274, 33), "Hosts")):
            before = self.browser.picture("iframe")
            for _ in range(100):
                for kind in ("mousePressed", "mouseReleased"):
                    self.browser.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
                self.browser.frames(3)
                changed = sum(ours != theirs for ours, theirs in zip(self.browser.picture("iframe")[2][30:], before[2][30:]))
                if changed > 20:
                    break
            self.assertGreater(changed, 20, other)
        self.assertEqual(self.browser.complaints(), [])

    def test_without_a_script(self):
        self.browser.send("Emulation.setScriptExecutionDisabled", value=True)
        try:
            path = pages.written(self.folder, pages.document("nextflow-25"), text="the <text>")
            self.browser.send("Page.navigate", url="file://" + path)
            time.sleep(0.5)
        finally:
            self.browser.send("Emulation.setScriptExecutionDisabled", value=False)
        self.assertIn("<noscript><pre>the &lt;text&gt;</pre></noscript>", Path(path).read_text("utf-8"))

    def test_used_over_time(self):
        series = {"start_unix_ns": 1795857000000000001, "part_ns": pages.SECOND, "parts": 4, "series": [
            {"host": "node01", "cpu_ns": [0, 2 * pages.SECOND, pages.SECOND, 0], "memory_bytes": [1 << 20, 5 << 20, 3 << 20, 0], "tasks": [0, 1, 2, 1]},
            {"host": "node02", "cpu_ns": [0, 0, pages.SECOND, 0]}, {"step": "align", "host": "node01", "cpu_ns": [0, 9 * pages.SECOND, 0, 0]}]}
        self.show(pages.document("nextflow-25", over_time=series))
        self.assertEqual([text for text in self.texts(".four .cap")], ["CPUs in use max 2.00 CPUs", "memory max 5.0 MiB", "tasks at once max 2"])
        self.assert_quiet()

    def test_the_last_half_hour(self):
        self.size(1440)
        whole = json.loads(pages.made_up(24, steps=2, days=9))
        self.show(json.dumps(whole))
        self.assertEqual(self.texts(".zoom"), [])
        for row in (*whole["tasks"][-4:], whole["runs"][0]):
            row["last_end_ns"] += 7200 * pages.SECOND
        self.show(json.dumps(whole))
        self.browser.run("document.querySelector('.zoom button:last-child').click()")
        self.browser.frames(3)
        ends = [text.split(":") for text in self.texts(".axis span")]
        minutes = [60 * int(text[0]) + int(text[1]) for text in (ends[0], ends[-1])]
        self.assertLessEqual((minutes[1] - minutes[0]) % 1440, 30)
        self.assertGreater((minutes[1] - minutes[0]) % 1440, 15)
        self.assert_quiet()

    def with_containers(self):
        return tracer.read(pages.RECORDINGS / "nextflow-podman.tracer").report._shown.document("nextflow-podman.tracer", False)

    def test_containers(self):
        """Each from its start to its end, as its events say."""
        recording = tracer.read(pages.RECORDINGS / "nextflow-podman.tracer")
        starts, ends = ({each.container_id: each for each in recording.select({kind})} for kind in ("container_start", "container_finish"))
        document = self.with_containers()
        whole = json.loads(document)
        self.assertEqual({each["container_id"]: (each["begin_ns"], each["end_ns"], each["gone_ns"], each["task_key"]) for each in whole["containers"]},
                         {each: (starts[each].time_ns, end.end_ns, end.time_ns, end.context.task_key) for each, end in ends.items()})
        self.assertEqual(len(whole["containers"]), 14)
        self.size(1440)
        self.show(document)
        self.browser.run("document.querySelector('.seg button:last-child').click()")
        self.browser.frames()
        labels = self.browser.run("[...document.querySelectorAll('.containers')].map((node) => node.getAttribute('aria-label'))")
        self.assertEqual(sorted(labels), sorted(f"container {each['container_id'][:12]}, {_core.format_duration(each['end_ns'] - each['begin_ns'])}" for each in whole["containers"]))
        one = whole["containers"][0]
        self.go(f"#/run/{one['run_key']}/task/{one['task_key']}")
        self.assertIn(f"{one['container_id'][:12]} - podman", " ".join(self.texts("[aria-label='Container'] tbody td")))
        self.go("#/tools")
        self.assertEqual(len(self.texts("[aria-label='Containers: table'] tbody tr")), 14)
        self.assert_quiet()

    def test_steps_run_by_run(self):
        whole = json.loads(pages.made_up(24, steps=2))
        first = whole["runs"][0]
        whole["runs"].append({**first, "run_key": "00000000000000bb", "first_start_ns": first["first_start_ns"] + 10**12})
        whole["tasks"] += [{**task, "run_key": "00000000000000bb", "task_key": "b" + task["task_key"][1:], "wall_ns": 2 * task["wall_ns"]} for task in whole["tasks"]]
        self.show(json.dumps(whole), "#/runs")
        whole_run = self.texts("tbody tr td:nth-child(3)")[0]
        self.assertEqual(self.texts(".many tbody tr td:not(:nth-child(2))"), ["whole run", whole_run, whole_run, "step 0", "25.5 s", "51.0 s", "step 1", "25.5 s", "51.0 s"])
        self.assert_quiet()

    def test_many_tasks_are_drawn_soon(self):
        for tasks, most_s in ((1000, 1.0), (20000, 2.5)):
            self.show(pages.made_up(tasks, days=9))
            first = self.browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
            self.assertLess(first, most_s * float(os.environ.get("TRACER_SLOW_MACHINE", "1")), tasks)
            self.assertLess(self.browser.run("document.querySelectorAll('*').length"), 4000)
            self.assertEqual(self.texts(".counts button"), [f"{tasks} done"])
            self.assert_quiet()

    def test_axe(self):
        axe = (packages() or Path("/nowhere")) / "axe-core/axe.min.js"
        if not axe.exists():
            self.skipTest("npm can't fetch axe-core")
        source = axe.read_text("utf-8")
        for name in (*KEPT, "containers"):
            document = pages.document(name) if name != "containers" else self.with_containers()
            for screen, place in self.places(document).items():
                for width in (1440, 390):
                    self.size(width)
                    for theme in ("light", "dark"):
                        self.show(document, place)
                        self.browser.scheme(theme)
                        if screen == "run":
                            self.browser.run("document.querySelectorAll('.tw[aria-expanded]').forEach((node) => node.click())")
                            self.browser.frames()
                        self.browser.run(source + ";0")
                        found = self.browser.run("axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations.map((each) => "
                                                 "[each.id, each.nodes.map((node) => node.html.slice(0, 200))]))")
                        self.assertEqual(found, [], (name, screen, width, theme))


if __name__ == "__main__":
    unittest.main()
