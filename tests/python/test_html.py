# SPDX-License-Identifier: Apache-2.0
"""The page of a report, and the command that writes it: its structure, and that nobody's names can change it."""

import base64
import collections
import contextlib
import hashlib
import html.parser
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import unittest
import unittest.mock

import recordings
import tracer
from recordings import TestCase
from tracer import _core

HOSTILE = ("</script><script>window.evil=1</script><img src=x onerror=evil=1>\"'`&amp;{{x}}%DATA%%SCRIPT%<!--]]>"
           "\u202e\u2066\u2028\u2029\x1b[31m\x00\x7f\r\n")
# As a program's argument and in a context there is no NUL.
NAMES = HOSTILE.replace("\x00", "")


class Outline(html.parser.HTMLParser):
    """The elements, their attributes and texts."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self._open = [], {}, []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


class Page(TestCase):
    def page(self, *arguments, **more):
        return tracer.read(self.made_up(*arguments, **more)).report.html()

    def data(self, page):
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))

    def test_it_asks_for_nothing(self):
        page = self.page(100, 10)
        outline = Outline(page)
        self.assertEqual({tag for tag, _ in outline.elements},
                         {"html", "head", "meta", "title", "style", "body", "div", "noscript", "pre", "script"})
        for tag, attributes in outline.elements:
            self.assertFalse({"src", "href", "srcset", "action", "data"} & set(attributes), (tag, attributes))
        style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
        script = re.findall(r"<script>(.*?)</script>", page, re.S)[-1]
        for text in (style, script):
            addresses = {each for each in re.findall(r"https?://[^\"'` ]*", text) if not each.startswith("http://www.w3.org/")}
            self.assertEqual(addresses, set())
        self.assertNotIn("@import", style)

    def test_the_policy_lets_only_its_own_style_and_script_run(self):
        page = self.page(10)
        outline = Outline(page)
        (policy,) = [each["content"] for each in outline.of("meta") if each.get("http-equiv") == "Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
        script = re.findall(r"<script>(.*?)</script>", page, re.S)[-1]
        for text in (style, script):
            self.assertIn("sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(), policy)

    def test_hostile_names_are_texts_and_nothing_else(self):
        plain = [tag for tag, _ in Outline(self.page(100, 10)).elements]
        page = self.page(100, 10, NAMES)
        self.assertEqual([tag for tag, _ in Outline(page).elements], plain)
        self.assertEqual(page.count("<script"), 2)
        self.assertNotIn("<img", page)
        text = re.search(r"<script type=.*?</script>", page, re.S).group()[:-len("</script>")]
        self.assertFalse(re.search(r"[<>&]", text.split(">", 1)[1]))
        self.assertEqual(self.data(page)["hosts"][0]["name"], tracer.read(self.path("made.tracer")).host.host_name)

    def test_bytes_that_are_not_utf_8(self):
        page = self.page(100, 10, b"\xff\xfe\xc3(\xed\xa0\x80")
        page.encode("utf-8")
        self.assertTrue(self.data(page)["tasks"])

    def test_the_figures_are_those_of_the_report(self):
        path = self.made_up(1000, 10)
        report = tracer.read(path).report
        data = self.data(report.html())
        made = json.loads(report.to_json())
        self.assertEqual({name: data[name] for name in made}, made)
        self.assertEqual((data["totals"]["processes"], data["totals"]["failed"], data["totals"]["cpu_ns"]), (1000, 20, 50_500_000_000))
        self.assertEqual(data["hosts"][0]["wall_offset_ns"], str(report.host.wall_offset_ns))

    def test_processes_stand_with_their_tasks(self):
        recording = os.path.join(os.path.dirname(__file__), "../data/recordings/nextflow-25.tracer")
        read = tracer.read(recording)
        data = self.data(read.report.html())
        ended = collections.defaultdict(list)
        for event in read.select({"process_exit"}):
            ended[event.context.task_key or event.context.run_key].append(event.pid)
        self.assertGreater(len(ended), 10)
        held = {key: [each for each in value["processes"] if "end_ns" in each] for key, value in data["held"].items()}
        self.assertEqual({key: sorted(each["pid"] for each in all_) for key, all_ in held.items() if all_},
                         {key: sorted(pids) for key, pids in ended.items()})
        self.assertLessEqual({task["task_key"] for task in data["tasks"]}, set(held))
        one = next(iter(held.values()))[0]
        self.assertEqual(one["wall_ns"], one["end_ns"] - one["begin_ns"])
        loose = self.data(self.page(50, 0))["held"]
        self.assertEqual({key: len(value["processes"]) for key, value in loose.items()}, {"": 50})

    def test_resources_over_time_are_those_of_the_only_run(self):
        folder = os.path.join(os.path.dirname(__file__), "../data/recordings")
        for name in ("nextflow-25", "snakemake"):
            read = tracer.read(os.path.join(folder, name + ".tracer"))
            (run,) = read.report.runs
            self.assertEqual(self.data(read.report.html())["over_time"], read.over_time(run.context.run_key))

    def test_those_with_most_cpu_time_are_listed(self):
        path = self.made_up(100)
        few = json.loads(_core.report_of_files([path], 10).document("", True))["held"]
        (listed,), every = few.values(), self.data(tracer.read(path).report.html())["held"]
        most = sorted((each["cpu_ns"] for held in every.values() for each in held["processes"]), reverse=True)[:10]
        self.assertEqual([each["cpu_ns"] for each in listed["processes"]], most)

    def test_an_empty_recording_has_a_page(self):
        page = self.page(0)
        self.assertEqual((self.data(page)["tools"], self.data(page)["held"]), ([], {}))

    def test_figures_and_times_as_large_as_they_can_be(self):
        recording = tracer.read(self.made_up(3, 1, extreme=True))
        self.assertGreater(self.data(recording.report.html())["totals"]["wall_ns"], 2 ** 63)
        self.assertEqual(set(recording._repr_mimebundle_()), {"text/plain", "text/html"})

    def test_without_a_page_a_notebook_still_shows_the_text(self):
        recording = tracer.read(self.made_up(10))
        with unittest.mock.patch.object(_core, "page_of", side_effect=ZeroDivisionError("why")):
            bundle = recording._repr_mimebundle_()
            self.assertEqual(set(bundle), {"text/plain"})
            self.assertTrue(bundle["text/plain"].startswith(repr(recording)))
            self.assertIn("the page can't be shown: ZeroDivisionError: why", bundle["text/plain"])
        with unittest.mock.patch("tracer._report.report_of", side_effect=ZeroDivisionError("why")):
            self.assertEqual(recording._repr_mimebundle_(), {"text/plain": "<tracer.Recording: ZeroDivisionError: why>"})

    def test_it_stays_small(self):
        path = self.made_up(20000, 2)
        self.assertLess(len(tracer.read(path).report.html()), 12 << 20)
        self.assertLess(len(self.page(100, 10, name="small.tracer")), 300 << 10)

    def test_in_a_notebook_it_is_in_a_frame_that_reaches_nothing(self):
        frame = tracer.read(self.made_up(100, 10, NAMES))._repr_html_()
        outline = Outline(frame)
        ((tag, attributes),) = outline.elements
        self.assertEqual((tag, attributes["sandbox"]), ("iframe", "allow-scripts"))
        self.assertNotIn("src", attributes)
        self.assertTrue(attributes["srcdoc"].startswith("<!DOCTYPE html>"))
        self.assertEqual(Outline(attributes["srcdoc"]).of("html"), [{"lang": "en"}])


class Command(TestCase):
    def tracer(self, *words, **options):
        return subprocess.run([sys.executable, "-m", "tracer", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=recordings.DEADLINE_SECONDS, check=False, **options)

    def test_it_writes_a_page(self):
        path, page = self.made_up(100, 10), self.path("report.html")
        result = self.tracer("report", path, "-o", page)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), tracer.read(path).report.html())
        self.assertEqual(os.listdir(self.folder).count("report.html"), 1)
        self.assertEqual(len(os.listdir(self.folder)), 2)

    def test_without_a_name_it_is_beside_the_recording(self):
        self.made_up(10)
        for name, page in (("made.tracer", "made.html"), ("r42.S1", "r42.S1.html"), ("r42.S2", "r42.S2.html"),
                           ("made", "made.html"), ("page.html", "page.html.html")):
            if not os.path.exists(self.path(name)):
                os.link(self.path("made.tracer"), self.path(name))
            before = set(os.listdir(self.folder)) - {page}
            self.assertEqual(self.tracer("report", self.path(name)).returncode, 0)
            self.assertEqual(set(os.listdir(self.folder)) - before, {page})
        self.assertEqual(len(tracer.read(self.path("page.html")).processes.to_dicts()), 10)

    def test_it_does_not_overwrite_the_recording(self):
        path = self.made_up(10)
        os.symlink(path, self.path("link"))
        os.link(path, self.path("other"))
        for words in ((path, "-o", path), (path, "-o", self.path("link")), (self.path("link"), "-o", path),
                      (path, "-o", self.path("other")), (path, "--text", "-o", path), ("-", "-o", path)):
            with self.subTest(words=words), open(path, "rb") as file:
                result = self.tracer("report", *words, stdin=file)
                self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
                self.assertIn(b"TRC101", result.stderr)
                self.assertIn(b"Fix:", result.stderr)
                self.assertNotIn(b"Traceback", result.stderr)
                self.assertEqual(len(tracer.read(path).processes.to_dicts()), 10)

    def test_standard_input_and_output(self):
        with open(self.made_up(10), "rb") as file:
            result = self.tracer("report", "-", "-o", "-", stdin=file)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith(b"<!DOCTYPE html>"))

    def test_figures_and_times_as_large_as_they_can_be(self):
        for options in ((), ("--text",)):
            result = self.tracer("report", self.made_up(3, 1, extreme=True), "-o", "-", *options)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_text(self):
        path = self.made_up(10)
        result = self.tracer("report", path, "--text")
        self.assertEqual(result.stdout.decode(), repr(tracer.read(path)) + "\n")
        result = self.tracer("report", path, "--text", "-o", self.path("report.txt"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        with open(self.path("report.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), repr(tracer.read(path)) + "\n")

    def test_an_older_page_is_replaced_whole_and_keeps_its_mode(self):
        page = self.path("report.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write("old")
        os.chmod(page, 0o640)
        before = os.stat(page).st_ino
        self.assertEqual(self.tracer("report", self.made_up(10), "-o", page).returncode, 0)
        after = os.stat(page)
        self.assertNotEqual(after.st_ino, before)
        self.assertEqual(stat.S_IMODE(after.st_mode), 0o640)

    def test_a_new_page_is_for_its_owner_only(self):
        for words, page in (((), "made.html"), (("--text", "-o", self.path("text")), "text")):
            self.assertEqual(self.tracer("report", self.made_up(10), *words, umask=0o022).returncode, 0)
            self.assertEqual(stat.S_IMODE(os.stat(self.path(page)).st_mode), 0o600)

    @unittest.skipUnless(os.geteuid() == 0, "only root must not follow links of others")
    def test_root_follows_no_link_that_somebody_may_have_planted(self):
        with open(self.path("precious"), "w", encoding="ascii") as file:
            file.write("precious")
        os.mkfifo(self.path("pipe"))
        for target in ("precious", "pipe", "nothing"):
            link, own = self.path("to-" + target), self.path("own-to-" + target)
            os.symlink(self.path(target), link)
            os.chown(link, 65534, 65534, follow_symlinks=False)
            os.symlink(link, own)
            for name in (link, own):
                with self.subTest(name=name):
                    result = self.tracer("report", self.made_up(10), "-o", name)
                    self.assertEqual(result.returncode, 1)
                    self.assertIn(b"TRC114", result.stderr)
        with open(self.path("precious"), encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")
        self.assertFalse(os.path.exists(self.path("nothing")))
        os.chown(self.path("to-precious"), 0, 0, follow_symlinks=False)
        self.assertEqual(self.tracer("report", self.made_up(10), "-o", self.path("to-precious")).returncode, 0)

    def test_an_error_leaves_an_older_page_as_it_is(self):
        page, bad = self.path("report.html"), self.path("bad.tracer")
        for path, content in ((page, "old"), (bad, "no recording at all")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        result = self.tracer("report", bad, "-o", page)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"TRC111", result.stderr)
        self.assertIn(b"Fix:", result.stderr)
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")

    def test_errors_have_a_code_and_a_fix(self):
        for words, status, code in ((("report", self.path("absent")), 1, b"TRC110"),
                                    (("report", self.made_up(10), "-o", self.path("no/such/folder.html")), 1, b"TRC114"),
                                    (("report",), 2, b"TRC101"), (("report", "a", "--moon"), 2, b"TRC101"),
                                    (("moon",), 2, b"TRC101"), ((), 2, b"TRC101")):
            with self.subTest(words=words):
                result = self.tracer(*words)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn(code, result.stderr)
                self.assertIn(b"Fix:", result.stderr)
                self.assertNotIn(b"Traceback", result.stderr)
                self.assertEqual(result.stdout, b"")

    def test_a_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        path = self.made_up(1000, 10)
        for words in (("-o", "/dev/full"), ("-o", "-"), ("--text",), ("--text", "-o", "/dev/full"), ("--text", "-o", "-")):
            with self.subTest(words=words):
                result = subprocess.run(["sh", "-c", '"$0" -m tracer report "$@" > /dev/full', sys.executable, path, *words],
                                        stderr=subprocess.PIPE, timeout=recordings.DEADLINE_SECONDS, check=False)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(b"TRC114", result.stderr)
                self.assertIn(b"Fix:", result.stderr)
                self.assertNotIn(b"Traceback", result.stderr)
                self.assertNotIn(b"Exception ignored", result.stderr)
        self.assertTrue(os.path.exists("/dev/full"))

    def test_no_standard_output(self):
        for words in (("-o", "-"), ("--text",)):
            result = subprocess.run(["sh", "-c", '"$0" -m tracer report "$@" >&-', sys.executable, self.made_up(10), *words],
                                    stderr=subprocess.PIPE, timeout=recordings.DEADLINE_SECONDS, check=False)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertTrue(result.stderr.startswith(b"tracer: TRC114"), result.stderr)

    def test_a_reader_that_has_had_enough(self):
        # More than a pipe holds.
        path = self.made_up(2000, 1)
        for words, first in ((("-o", "-"), b"<!DOCTYPE "), (("--text",), b"made.trace")):
            result = subprocess.run(["sh", "-c", '"$0" -m tracer report "$@" | head -c 10', sys.executable, path, *words],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=recordings.DEADLINE_SECONDS,
                                    check=False)
            self.assertEqual((result.stdout, result.stderr), (first, b""))

    def test_an_interrupt_while_standard_input_gives_nothing(self):
        with subprocess.Popen([sys.executable, "-m", "tracer", "report", "-", "-o", self.path("x.html")],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            # The library has a descriptor of its own of standard input.
            def reads():
                folder = f"/proc/{process.pid}/fd"
                targets = []
                for name in os.listdir(folder):
                    with contextlib.suppress(FileNotFoundError):  # It opens and closes others meanwhile.
                        targets.append(os.readlink(os.path.join(folder, name)))
                return targets.count(os.readlink(os.path.join(folder, "0"))) > 1

            until = time.monotonic() + recordings.DEADLINE_SECONDS
            while not reads() and time.monotonic() < until:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(recordings.DEADLINE_SECONDS), -signal.SIGINT)
            self.assertEqual(process.stderr.read(), b"")
        self.assertFalse(os.path.exists(self.path("x.html")))

    def test_a_name_that_is_not_utf_8(self):
        path = os.fsencode(self.folder) + b"/\xff\xfe.tracer"
        recordings.make(path, 10)
        result = self.tracer("report", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(path[:-7] + b".html", encoding="utf-8") as file:
            self.assertIn("<title>\\xff\\xfe.tracer</title>", file.read())

    def test_damage_is_said(self):
        path = self.made_up(5000)
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        result = self.tracer("report", path, "-o", self.path("x.html"))
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"the recording has no end", result.stderr)


if __name__ == "__main__":
    unittest.main()
