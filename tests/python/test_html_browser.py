# SPDX-License-Identifier: Apache-2.0
"""The page in a browser without a network: it complains of nothing, shows what it should, and stays fluid."""

import shutil
import subprocess
import unittest

import recordings
import tracer
from browser import CHROMIUM, Browser
from recordings import TestCase
from test_html import NAMES

# What the browser draws at most, whatever the recording is.
MOST_NODES = 3000


def brightness(picture):
    _, _, rows = picture
    values = [sum(pixel) / 3 for row in rows for pixel in row]
    return sum(values) / len(values)


def colors(picture):
    return {pixel for row in picture[2] for pixel in row}


@unittest.skipUnless(CHROMIUM, "there is no chromium")
class InBrowser(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def show(self, processes, per_task=0, text="", most_processes=20000, name="made.tracer"):
        from tracer import _report

        report = _report.report_of_path(self.made_up(processes, per_task, text, name), None, most_processes)
        page = self.path("page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(report.html())
        self.browser.scheme("light")
        self.browser.open(page)
        return report

    def assert_quiet(self):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual([url for url in self.browser.requests() if not url.startswith("file://")], [])
        self.assertEqual(len(self.browser.requests()), 1)

    def texts(self, selector):
        return self.browser.run(f"[...document.querySelectorAll({selector!r})].map((node) => node.textContent)")

    def test_it_shows_the_report(self):
        report = self.show(1000, 10)
        self.assert_quiet()
        self.assertEqual(self.texts("h1"), ["made.tracer"])
        self.assertEqual(self.texts("h2"), ["Where the time of all processes went, but for waiting for children", "What ran", "Over time", "20 failed",
                                            "Certificate"])
        self.assertEqual((self.texts(".tile b")[1], self.texts(".minor b")[2]), ("20", "1000"))
        self.assertEqual(self.texts("[role=tab]"), ["tree", "tools", "steps", "tasks", "samples", "processes"])
        self.assertIn("Complete.", self.texts(".verdict")[0])
        self.assertEqual(len(self.texts(".time .label")), len(report.timeline.tools))
        self.assertEqual(self.browser.run("document.querySelectorAll('.time svg').length"), 2 * len(report.timeline.tools))
        self.assertIn("complete: 1000 of 1000", self.texts("#certificate pre")[0])
        # The run, its 5 steps: the tasks would not fit.
        self.assertEqual([text.strip() for text in self.texts(".row .name")][0], "▾runpipeline run")
        self.assertEqual(len(self.texts(".row")), 6)

    def show_with_findings(self):
        """A recording with failures whose texts are hostile, and more than are shown at once."""
        path = self.path("found.tracer")
        text = ""
        for i in range(7):
            tool = self.path(f"tool{i}<img src=x onerror=evil=1>")
            shutil.copy("/bin/false", tool)
            text += f"{recordings.TRACERD} task --name task{i} -- bash -c \"'{tool}'; true\"\n"
        subprocess.run([recordings.TRACERD, "run", "--no-live", "--no-history", "--record", path, "--run", "r", "--", "bash", "-c", text + "exit 0"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=recordings.DEADLINE_SECONDS)
        report = tracer.read(path).report
        page = self.path("page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(report.html())
        self.browser.scheme("light")
        self.browser.open(page)
        return report

    @unittest.skipIf(recordings.why_no_tracing(), recordings.why_no_tracing())
    def test_findings_are_the_first_section(self):
        report = self.show_with_findings()
        self.assert_quiet()
        self.assertGreater(len(report.findings), 5)
        self.assertEqual(self.texts("h2")[0], f"Findings: {len(report.findings)} notes")
        first = self.texts("#findings > ul > li")
        self.assertEqual(len(first), 5)
        self.assertTrue(first[0].startswith(f"note {report.findings[0].text}"), first[0])
        self.assertIn(f"Try: {report.findings[0].advice}", first[0])
        self.assertEqual(self.texts("#findings summary"), [f"{len(report.findings) - 5} more"])
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        # Words stand out from what is behind them, by day and night.
        contrast = """(() => {
          const parse = (text) => text.match(/[0-9.]+/g).map(Number);
          const light = ([r, g, b]) => { const f = [r, g, b].map((v) => { v /= 255;
            return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
          const back = light(parse(getComputedStyle(document.documentElement).backgroundColor));
          const list = document.querySelector('#findings ul');
          return ['error', 'warning', 'note'].flatMap((kind) => {
            const item = document.createElement('li');
            item.className = kind;
            const strong = document.createElement('strong'), besides = document.createElement('p');
            besides.className = 'besides';
            item.append(strong, besides);
            list.append(item);
            const found = [strong, besides].map((node) => light(parse(getComputedStyle(node).color)));
            item.remove();
            return found.map((one) => (Math.max(one, back) + 0.05) / (Math.min(one, back) + 0.05));
          });
        })()"""
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            self.assertGreaterEqual(min(self.browser.run(contrast)), 4.5, scheme)

    def test_bars_are_as_long_as_the_shares(self):
        report = self.show(1000)
        widths = self.browser.run("[...document.querySelectorAll('.whole .bar i')].map((i) => i.getBoundingClientRect().width)")
        self.assertEqual(len(widths), len(report.total.time))
        for width, each in zip(widths, report.total.time, strict=True):
            self.assertAlmostEqual(width / sum(widths), each.share, delta=0.01)

    def test_light_and_dark(self):
        self.show(1000, 10)
        light = {name: self.browser.picture(name) for name in ("body", ".tiles", ".grid", ".whole .bar", ".time svg")}
        self.browser.scheme("dark")
        dark = {name: self.browser.picture(name) for name in light}
        for name, picture in light.items():
            self.assertEqual(picture[:2], dark[name][:2], name)
            self.assertGreater(len(colors(picture)), 1, f"{name} is blank")
        for name in ("body", ".tiles", ".grid"):
            self.assertGreater(brightness(light[name]), 200, name)
            self.assertLess(brightness(dark[name]), 70, name)
        # Causes have colors of their own, in both.
        for picture in (light[".whole .bar"], dark[".whole .bar"]):
            strong = {pixel for pixel in colors(picture) if max(pixel) - min(pixel) > 60}
            self.assertGreaterEqual(len(strong), 2)
        # By hand, too.
        self.browser.run("document.querySelector('.theme').click()")
        self.assertGreater(brightness(self.browser.picture("body")), 200)
        self.assert_quiet()

    def test_no_part_is_cut_off_or_on_top_of_another(self):
        self.show(1000, 10)
        boxes = self.browser.run("[...document.querySelectorAll('main > *')].map((node) => { const box = "
                                 "node.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; })")
        for (_, _, _, bottom), (left, top, right, _) in zip(boxes, boxes[1:], strict=False):
            self.assertGreaterEqual(top, bottom - 0.5)
            self.assertGreaterEqual(left, 0)
            self.assertLessEqual(right, 1200)
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 1200)

    def test_hostile_names_run_nothing(self):
        self.show(200, 10, NAMES)
        self.assert_quiet()
        self.assertIsNone(self.browser.run("window.evil === undefined ? null : 'ran'"))
        for kind in ("tree", "tools", "steps", "tasks", "processes"):
            self.browser.run(f"document.querySelector('[data-name={kind}]').click()")
            self.browser.frames(3)
            self.assertIn("<img src=x onerror=evil=1>", self.texts("[role=treegrid] .name, [role=grid] .name")[0]
                          if kind != "tree" else "".join(self.texts(".row .name")))
        self.assertEqual(self.browser.run("document.querySelectorAll('img, iframe, object, embed, link').length"), 0)
        self.assertEqual(self.browser.run("document.querySelectorAll('script').length"), 2)
        for text in self.texts("h1, .name, td, pre, .label, .facts"):
            for character in "\u202e\u2066\u2028\x1b\x7f":
                self.assertNotIn(character, text)
        self.assertIn("\\u202e\\u2066", "".join(self.texts(".label")))
        # Nor does what is put in later: the policy stands.
        self.browser.run("(() => { const s = document.createElement('script'); s.textContent = 'window.evil=2'; "
                         "document.body.append(s); })()")
        self.assertIsNone(self.browser.run("window.evil === undefined ? null : 'ran'"))

    def test_keys_walk_and_open_the_tree(self):
        self.show(100, 10)
        self.browser.run("document.querySelector('[role=treegrid]').focus()")

        def press(key):
            for kind in ("rawKeyDown", "keyUp"):
                self.browser.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)
            self.browser.frames(3)

        def rows():
            return self.browser.run("Number(document.querySelector('[role=treegrid]').getAttribute('aria-rowcount'))")

        active = "document.querySelector('.row.active').getAttribute('aria-rowindex')"
        before = rows()
        press("ArrowDown")
        self.assertEqual(self.browser.run(active), "2")
        press("ArrowLeft")
        self.assertLess(rows(), before)
        press("ArrowRight")
        self.assertEqual(rows(), before)
        press("End")
        self.assertEqual(self.browser.run(active), str(before))
        press("Home")
        self.assertEqual(self.browser.run(active), "1")
        press("ArrowLeft")
        self.assertEqual(rows(), 1)
        # All that can be used is reached by the keyboard.
        self.assertEqual(self.browser.run("[...document.querySelectorAll('[role=tab], .top button, input, .lines')]"
                                          ".filter((node) => node.tabIndex < 0).length"), 0)

    def search(self, words):
        self.browser.run("(() => { const box = document.querySelector('input[type=search]'); "
                         f"box.value = {words!r}; box.dispatchEvent(new Event('input')); }})()")
        self.browser.run("new Promise((done) => setTimeout(done, 120))")
        self.browser.frames(3)

    def test_search_finds_what_is_there(self):
        self.show(1000, 10)
        self.browser.run("document.querySelector('[data-name=processes]').click()")
        self.search("--number 777")
        self.assertEqual(self.texts("output"), ["1 of 1000 lines"])
        self.assertIn("tool17 --number 777 input", self.texts("[role=grid] .row")[0])
        self.search("no such thing")
        self.assertEqual(self.texts("output"), ["0 of 1000 lines"])
        self.browser.run("document.querySelector('[data-name=tree]').click()")
        self.search("(S42)")
        # Its run and step above it, its tools below it.
        shown = [text.strip() for text in self.texts("[role=treegrid] .row .name")]
        self.assertEqual(len(shown), 3 + 10)
        self.assertIn("STEP_2 (S42)", shown[2])

    def test_columns_sort(self):
        self.show(1000)
        self.browser.run("document.querySelector('[data-name=processes]').click()")
        heads = self.texts(".grid [role=grid]") and self.texts(".top button")
        at = [text for text in heads].index("pid")
        self.browser.run(f"[...document.querySelectorAll('.top button')][{at}].click()")
        self.browser.frames(3)
        order = self.browser.run("[...document.querySelectorAll('.row')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)"
                                 ".filter((row) => row.closest('[role=grid]').offsetParent).slice(0, 3)"
                                 ".map((row) => row.children[1].textContent)")
        self.assertEqual(order, ["1999", "1998", "1997"])

    STEPS = """(async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      let long = 0;
      const watch = new PerformanceObserver((list) => { long += list.getEntries().length; });
      watch.observe({ entryTypes: ["longtask"] });
      let nodes = 0, frames = 0;
      const step = async (act) => { act(); await frame(); await frame(); frames += 2;
        nodes = Math.max(nodes, document.getElementsByTagName("*").length); };
      const box = () => [...document.querySelectorAll(".lines")].find((each) => each.offsetParent);
      const began = performance.now();
      for (const kind of ["tree", "processes"]) {
        await step(() => document.querySelector(`[data-name=${kind}]`).click());
        if (kind === "tree") await step(() => [...document.querySelectorAll("button")]
          .find((each) => each.textContent === "Expand all").click());
        for (let i = 0; i <= 20; ++i)
          await step(() => { box().scrollTop = (box().scrollHeight - box().clientHeight) * i / 20; });
      }
      const input = document.querySelector("input[type=search]");
      for (const words of ["tool1", "number 19", "nothing at all", ""]) {
        input.value = words;
        input.dispatchEvent(new Event("input"));
        await new Promise((done) => setTimeout(done, 100));
        await step(() => {});
      }
      const length = performance.now() - began;
      watch.disconnect();
      return { nodes, long, length, frames, rows: Number(box().getAttribute("aria-rowcount")) };
    })()"""

    def test_twenty_thousand_processes_are_as_fluid_as_two_hundred(self):
        self.show(200, 2)
        small = self.browser.run(self.STEPS)
        self.assert_quiet()
        self.show(20000, 2, name="big.tracer")
        big = self.browser.run(self.STEPS)
        self.assert_quiet()
        self.assertEqual((small["rows"], big["rows"]), (200, 20000))
        self.assertEqual(small["frames"], big["frames"])
        self.assertLess(big["nodes"], MOST_NODES)
        self.assertLess(big["nodes"], small["nodes"] * 1.5)
        # The same steps: what a hundred times as many processes cost is no multiple of them.
        self.assertLess(big["length"], small["length"] * 4)
        self.assertLess(big["long"], small["long"] + 15)

    def test_the_last_of_twenty_thousand_is_there(self):
        self.show(20000)
        self.browser.run("document.querySelector('[data-name=processes]').click()")
        self.browser.run("document.querySelector('[role=grid]').focus()")
        self.browser.run("(() => { const box = [...document.querySelectorAll('.lines')].find((each) => each.offsetParent); "
                         "box.scrollTop = box.scrollHeight; })()")
        self.browser.frames(4)
        last = self.browser.run("Math.max(...[...document.querySelectorAll('.lines')].filter((each) => each.offsetParent)"
                                ".flatMap((box) => [...box.querySelectorAll('.row')].map((row) => Number(row.ariaRowIndex))))")
        self.assertEqual(last, 20000)

    def test_it_prints(self):
        self.show(1000, 10)
        pages = self.browser.send("Page.printToPDF", printBackground=True)["data"]
        import base64

        pdf = base64.b64decode(pages)
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.browser.send("Emulation.setEmulatedMedia", media="print")
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        self.browser.frames(2)
        self.assertEqual(self.browser.run("getComputedStyle(document.querySelector('.tools')).display"), "none")
        self.assertEqual(self.browser.run("getComputedStyle(document.querySelector('.lines')).overflowY"), "visible")
        heights = self.browser.run("[document.querySelector('.space').getBoundingClientRect().height, "
                                   "document.querySelectorAll('.row').length * 26]")
        self.assertAlmostEqual(heights[0], heights[1], delta=2)
        self.browser.run("dispatchEvent(new Event('afterprint'))")
        self.browser.send("Emulation.setEmulatedMedia", media="")

    def test_in_the_frame_of_a_notebook(self):
        frame = tracer.read(self.made_up(100, 10, NAMES))._repr_html_()
        page = self.path("notebook.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(f"<!DOCTYPE html><meta charset=utf-8><title>notebook</title><body>{frame}</body>")
        self.browser.open(page, ready="document.querySelector('iframe') !== null")
        self.browser.run("new Promise((done) => setTimeout(done, 500))")
        self.browser.frames(5)
        self.assertEqual([text for text in self.browser.complaints()], [])
        picture = self.browser.picture("iframe")
        self.assertGreater(len(colors(picture)), 10)
        # From inside nothing outside is reached.
        self.assertIsNone(self.browser.run("document.querySelector('iframe').contentDocument"))
        self.assertIsNone(self.browser.run("window.evil === undefined ? null : 'ran'"))

    def test_without_scripts_there_is_the_text(self):
        self.browser.send("Emulation.setScriptExecutionDisabled", value=True)
        try:
            page = self.path("page.html")
            with open(page, "w", encoding="utf-8") as file:
                file.write(tracer.read(self.made_up(100)).report.html())
            self.browser.send("Page.navigate", url="file://" + page)
            picture = None
            for _ in range(50):
                picture = self.browser.picture()
                if len(colors(picture)) > 5:
                    break
            self.assertGreater(len(colors(picture)), 5)
        finally:
            self.browser.send("Emulation.setScriptExecutionDisabled", value=False)


if __name__ == "__main__":
    unittest.main()
