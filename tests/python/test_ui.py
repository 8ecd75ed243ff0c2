# SPDX-License-Identifier: Apache-2.0
"""`tracer ui`: who is refused, what its HTTP API answers, and the page while things change."""

import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import pages
from browser import CHROMIUM, Browser
from support import TRACERD, TempDir, begin_service, run_python, wait_until

try:
    import starlette  # noqa: F401
    import uvicorn
except ModuleNotFoundError:
    uvicorn = None

RECORDING = pages.RECORDINGS / "nextflow-25.tracer"
TOKEN = "t" * 32


class Made:
    """A source as _documents.Shown is one, whose rows a test sets."""

    def __init__(self, identity="0", live=True):
        self.identity, self.live, self.name = identity, live, "made up"
        self.rows, self.changed_, self.fails = {}, 0, None
        self.asked = 0

    def about(self):
        return {"source": self.identity, "name": self.name, "kind": "service" if self.live else "recording", "hosts": [pages.HOST],
                "says": ["over_time", "why"] if self.live else []}

    def put(self, kind, **row):
        self.changed_ += 1
        self.rows[(kind, row["id"])] = (self.changed_, row)

    def state(self, since, rows, key, fields=()):
        from tracer import InvalidArgumentError, ServiceError

        self.asked += 1
        if self.fails:
            raise ServiceError(self.fails, "start it")
        if rows and set(rows) - {"runs", "steps", "tasks", "findings", "counts"}:
            raise InvalidArgumentError("there are no such rows", "name others")
        known = int(since) if since.isdecimal() and int(since) <= self.changed_ else 0
        reply = {"since": str(self.changed_), "all": since != str(known), "more": False, "findings": [],
                 "counts": {"processes": 1, "living": 1, "failed": 0, "runs": 1, "tasks": 1, "dropped": 0, "lost": {}}}
        for kind in ("runs", "steps", "tasks"):
            reply[kind] = [row for (of, _), (when, row) in self.rows.items() if of == kind and when > known]
        return json.dumps(reply)

    wall_offset_ns = int(pages.HOST["wall_offset_ns"])

    def changed(self):
        return self.changed_

    def index(self):
        from tracer.view._model import View

        view = View(self._Rows(self))
        view.refresh()
        return view.index

    class _Rows:
        def __init__(self, made):
            self.made = made

        def state(self, since=None, rows=None, key=None, fields=None):
            return json.loads(self.made.state(since or "", [], ""))

    def held(self, key):
        return {"processes": [{"name": "bwa", "tool": "bwa mem", "pid": 7, "start_ns": 1, "cpu_ns": 5}], "files": [], "peers": []}

    def ask(self, name, key):
        if (name, key) == ("over_time", "00000000000000aa"):
            return {"start_unix_ns": 1795857000000000001, "part_ns": pages.SECOND, "parts": 2, "series": [{"memory_bytes": [1, 5 << 20]}]}
        if (name, key) == ("why", "00000000000000aa"):
            at = 100 * pages.SECOND
            return {"critical_path": {"basis": "files", "length_ns_at_least": 4 * pages.SECOND, "length_ns_at_most": 4 * pages.SECOND, "tasks": [
                {"task_key": f"{number:016x}", "name": f"align (S{number})", "begin_ns": at, "last_ns": at + pages.SECOND} for number in (0, 1)]}}
        if (name, key) == ("why", "0000000000000002"):
            return {"neighbors": [{"name": "align (S1)", "together_ns": 2 * pages.SECOND, "task_key": "0000000000000001"}]}
        return None

    def document(self):
        return pages.made_up(30)

    def run(self, tasks, state="running"):
        start = 100 * pages.SECOND
        self.put("runs", **pages.row("main.nf live", start, 5 * pages.SECOND), id="r1", run_key="00000000000000aa", state="running", start_ns=start, tasks=tasks)
        self.put("steps", **pages.row("align", start, 5 * pages.SECOND, step="align", expected=8), id="s1", run_key="00000000000000aa", **{"in": "r1"})
        for task in range(tasks):
            self.task(task, state)

    def past(self, number, wall_s):
        """A run of 8 tasks that is over."""
        key, start = f"{number:015x}f", (2000 + 100 * number) * pages.SECOND
        self.put("runs", **pages.row(f"main.nf past {number}", start, wall_s * pages.SECOND, pipeline="main.nf", run=f"past {number}"), id=key, run_key=key,
                 state="finished", start_ns=start)
        self.put("steps", **pages.row("align", start, wall_s * pages.SECOND, step="align"), id=f"s{key}", run_key=key, **{"in": key})
        for task in range(8):
            at = start + wall_s * task * pages.SECOND // 8
            self.put("tasks", **pages.row(f"align (S{task})", at, wall_s * pages.SECOND // 8, step="align"), id=f"{key}{task}", task_key=f"{number:08x}{task:08x}",
                     run_key=key, state="finished", start_ns=at, **{"in": key})

    def task(self, number, state, **more):
        row = pages.row(f"align (S{number})", 100 * pages.SECOND, 3 * pages.SECOND, step="align", sample=f"S{number}")
        self.put("tasks", **(row | {"id": f"t{number}", "in": "r1", "task_key": f"{number:016x}", "run_key": "00000000000000aa", "state": state,
                                    "living": int(state == "running")} | more))


@unittest.skipUnless(uvicorn, "there is no uvicorn")
class Serving(TempDir):
    def serve(self, *shown, port=0, **options):
        from tracer.view._server import application

        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(16)
        app = application(list(shown), TOKEN, "tracer-x", options.get("hosts", []), options.get("base", ""))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()

        def end():
            server.should_exit = True
            thread.join(10)
            listening.close()

        self.addCleanup(end)
        self.end = end
        self.port = listening.getsockname()[1]
        wait_until(lambda: server.started, "the server")
        return self.port

    def get(self, path, method="GET", host=None, token=TOKEN, **headers):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        client.putrequest(method, path, skip_host=True)
        client.putheader("Host", host or f"127.0.0.1:{self.port}")
        if token:
            client.putheader("Cookie", f"tracer-x={token}")
        for name, value in headers.items():
            client.putheader(name.replace("_", "-"), value)
        client.endheaders()
        reply = client.getresponse()
        body = reply.read()
        client.close()
        return reply, body.decode()

    def status(self, *given, **more):
        return self.get(*given, **more)[0].status


class Api(Serving):
    def setUp(self):
        super().setUp()
        self.made = Made()
        self.made.run(3)
        self.serve(self.made, Made("1", live=False))

    def test_who_is_refused(self):
        self.assertEqual(self.status("/"), 200)
        for path in ("/", "/page.js", "/api/v1/state", "/api/v1/changes", "/api/v1/report/all"):
            self.assertEqual(self.status(path, token=""), 403, path)
            self.assertEqual(self.status(path, token="t" * 31 + "u"), 403, path)
            self.assertEqual(self.status(path, host="evil.example"), 403, path)
            self.assertEqual(self.status(path, host="[:80"), 403, path)
            for origin in ("http://evil.example", "null", "http://["):
                self.assertEqual(self.status(path, Origin=origin), 403, path)
            self.assertEqual(self.status(path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors"), 403, path)
            self.assertEqual(self.status(path, method="POST"), 405, path)
        self.assertEqual(self.status("/", host="localhost:80"), 200)
        self.assertEqual(self.status("/", host="[::1]:80"), 200)
        self.assertEqual(self.status("/?token=wrong", token=""), 403)
        self.assertEqual(self.status("/api/v1/state?token=" + TOKEN, token=""), 403)
        self.assertEqual(self.status("/api/v1/state?since=" + "x" * 5000), 414)
        self.assertEqual(self.made.asked, 0)

    def test_the_token_becomes_a_cookie(self):
        reply, _ = self.get(f"/?token={TOKEN}", token="")
        self.assertEqual((reply.status, reply.headers["location"]), (303, "./"))
        cookie = reply.headers["set-cookie"].lower()
        for word in ("httponly", "samesite=lax", "path=/", TOKEN):
            self.assertIn(word, cookie)

    def test_nothing_runs_but_what_is_its_own(self):
        reply, body = self.get("/")
        self.assertIn("script-src 'self'", reply.headers["content-security-policy"])
        self.assertNotIn("unsafe", reply.headers["content-security-policy"])
        self.assertNotRegex(body, r"<script(?![^>]* src=)|<style| on\w+=|(?:src|href)=\"/")
        self.assertEqual(reply.headers["x-content-type-options"], "nosniff")

    def test_answers(self):
        self.assertEqual([each["source"] for each in json.loads(self.get("/api/v1/sources")[1])["sources"]], ["0", "1"])
        whole = json.loads(self.get("/api/v1/state")[1])
        self.assertEqual((len(whole["tasks"]), whole["all"]), (3, True))
        self.made.task(1, "finished")
        self.assertEqual([row["id"] for row in json.loads(self.get("/api/v1/state?since=" + whole["since"])[1])["tasks"]], ["t1"])
        self.assertEqual(json.loads(self.get("/api/v1/state?key=0000000000000001")[1])["processes"][0]["tool"], "bwa mem")
        self.assertEqual(len(json.loads(self.get("/api/v1/report/all?source=1")[1])["tasks"]), 30)
        self.assertEqual(len(json.loads(self.get("/api/v1/report/00000000000000aa?source=1")[1])["tasks"]), 30)

        self.assertEqual(json.loads(self.get("/api/v1/over_time/00000000000000aa")[1])["parts"], 2)

    def test_runs_of_all_sources(self):
        other = Made("2", live=False)
        for number, wall in ((1, 60), (2, 80)):
            other.past(number, wall)
        # The same run, which the first source has as well.
        other.put("runs", **pages.row("main.nf live", 100 * pages.SECOND, 5 * pages.SECOND), id="r1", run_key="00000000000000aa", state="finished")
        self.end()
        self.serve(self.made, other)
        said = json.loads(self.get("/api/v1/runs")[1])
        wait_until(lambda: not json.loads(self.get("/api/v1/runs")[1])["unread"], "the recording is read")
        said = json.loads(self.get("/api/v1/runs")[1])
        self.assertEqual([(run["name"], run["source"], run["status"], run["wall_ns"] // pages.SECOND) for run in said["runs"]],
                         [("main.nf past 2", "2", "done", 80), ("main.nf past 1", "2", "done", 60), ("main.nf live", "0", "running", 5)])
        self.assertEqual(said["runs"][0]["steps"], [{"name": "align", "tasks": 8, "wall_ns": 10 * pages.SECOND}])
        self.assertEqual(said["runs"][0]["start_unix_ns"], 2200 * pages.SECOND + Made.wall_offset_ns)
        self.assertEqual(said["left_out"], 0)
        # It is read again when it has changed, and not before.
        read = other.asked
        self.get("/api/v1/runs")
        self.assertEqual(other.asked, read)

    def test_errors(self):
        for path, status in (("/api/v1/report/0123?source=1", 404), ("/api/v1/compare?source=1", 404), ("/api/v1/state?source=9", 404), ("/api/v1/nothing", 404), ("/../etc/passwd", 404),
                             ("/api/v1/over_time/00", 404), ("/api/v1/state?rows=walls", 400)):
            reply, body = self.get(path)
            self.assertEqual((reply.status, list(json.loads(body))[0]), (status, "error"), path)
        self.made.fails = "no service listens"
        reply, body = self.get("/api/v1/state")
        self.assertEqual(reply.status, 503)
        self.assertIn("no service listens", json.loads(body)["error"])

    def test_changes(self):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        client.request("GET", "/api/v1/changes", headers={"Cookie": f"tracer-x={TOKEN}"})
        reply = client.getresponse()
        self.assertEqual(reply.headers["content-type"].partition(";")[0], "text/event-stream")

        def event():
            lines = []
            while (line := reply.readline().decode().rstrip("\n")) or not lines:
                if line:
                    lines.append(line.partition(": "))
            return {name: value for name, _, value in lines}

        first = event()
        self.assertEqual(len(json.loads(first["data"])["tasks"]), 3)
        self.made.task(2, "finished")
        second = event()
        self.assertEqual([row["id"] for row in json.loads(second["data"])["tasks"]], ["t2"])
        self.assertNotEqual(first["id"], second["id"])
        self.made.fails = "no service listens"
        self.assertEqual(event()["event"], "lost")
        client.close()

    def test_pages_are_bounded(self):
        from tracer.view._server import MOST_STREAMS

        with contextlib.ExitStack() as open_ones:
            for _ in range(MOST_STREAMS):
                client = open_ones.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)))
                client.request("GET", "/api/v1/changes", headers={"Cookie": f"tracer-x={TOKEN}"})
                client.getresponse().readline()
            self.assertEqual(self.status("/api/v1/changes"), 503)


class Answers(unittest.TestCase):
    """For which recordings are read: at most a twentieth of the time."""

    def setUp(self):
        from tracer.view import _asked

        self.reads, self.took, self.now = [], 0.0, 1000.0
        self.asked = _asked.Asked(self.read)
        clock = unittest.mock.patch.object(_asked, "time", unittest.mock.Mock(monotonic=lambda: self.now))
        clock.start()
        self.addCleanup(clock.stop)

    def read(self, name, key):
        self.reads.append((name, key))
        self.now += self.took
        return {"of": key}

    def test_how_often(self):
        for took, most in ((0.001, 13), (3.0, 2), (60.0, 1)):
            self.reads, self.took = [], took
            self.asked.answer("why", str(took))
            until = self.now + 60
            while self.now < until:
                self.assertEqual(self.asked.answer("why", str(took)), {"of": str(took)})
                self.now += 1
            self.assertLessEqual(len(self.reads), most)

    def test_kept_while_it_is_shown(self):
        for key in range(20):
            self.asked.answer("why", str(key))
        self.assertEqual(len(self.asked._kept), 8)
        self.now += 61
        self.asked.answer("why", "20")
        self.assertEqual(list(self.asked._kept), [("why", "20")])

    def test_what_fails_is_kept_no_longer(self):
        from tracer import ServiceError
        from tracer.view._asked import Asked

        def fail(*asked):
            self.read(*asked)
            raise ServiceError("no", "later")

        asked = Asked(fail)
        for key in range(20):
            wait_until(lambda: not asked._reading.locked(), "the answer before")
            self.assertIsNone(asked.soon("why", str(key)))
            self.assertIsNone(asked.soon("why", str(key)))
        wait_until(lambda: not asked._reading.locked(), "the last answer")
        self.assertEqual(self.reads, [("why", str(key)) for key in range(20)])
        self.assertEqual(len(asked._kept), 8)

    def test_a_view_does_not_wait(self):
        from tracer.view._asked import Asked

        go_on, reads = threading.Event(), []

        def read(name, key):
            reads.append(key)
            go_on.wait(10)
            return {"of": key}

        asked = Asked(read)
        self.assertIsNone(asked.soon("why", "a"))
        self.assertIsNone(asked.soon("why", "b"))
        go_on.set()
        wait_until(lambda: asked.soon("why", "a") == {"of": "a"}, "the answer")
        self.assertEqual(reads, ["a"])


class BelowAPath(Serving):
    def test_proxies_with_and_without_the_prefix(self):
        self.serve(Made(), base="/node/n1/8477", hosts=["ondemand.example"])
        for path in ("/node/n1/8477/", "/", "/node/n1/8477/page.js", "/page.css", "/node/n1/8477/api/v1/sources"):
            self.assertEqual(self.status(path, host="ondemand.example"), 200, path)
        self.assertEqual(self.status("/node/n1/84770/page.js"), 404)
        reply, _ = self.get(f"/node/n1/8477/?token={TOKEN}", token="", host="ondemand.example")
        self.assertIn("path=/node/n1/8477", reply.headers["set-cookie"].lower())


@unittest.skipUnless(CHROMIUM, "there is no chromium")
class Live(Serving):
    def setUp(self):
        super().setUp()
        self.browser = Browser(1440, 900)
        self.addCleanup(self.browser.close)

    def text(self, selector):
        return self.browser.run(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').replace(/\\s+/g, ' ').trim()")

    def open(self, place="#/run/00000000000000aa"):
        self.browser.open(f"http://127.0.0.1:{self.port}/?token={TOKEN}{place}")

    def test_changes_are_drawn(self):
        made = Made()
        made.run(5)
        self.serve(made)
        self.open()
        self.assertEqual(self.text(".counts"), "5 running 0 of 8 expected tasks are over")
        self.assertNotIn("token", self.browser.run("location.href"))
        began = time.monotonic()
        made.task(0, "finished")
        made.task(5, "queued")
        made.task(1, "finished", outcome="failed")
        wait_until(lambda: self.text(".counts") == "1 done 3 running 1 queued 1 failed 2 of 8 expected tasks are over", "the change")
        self.assertLess(time.monotonic() - began, 2)
        self.assertIn("main.nf live has been running for 5.0 s", self.text("h1"))
        self.assertEqual(self.text(".four .cap"), "memory max 5.0 MiB")
        wait_until(lambda: self.text("[aria-label='Held up by']").startswith("Held up by 2 tasks, 4.0 s of 5.0 s"), "the critical path")
        self.browser.run("location.hash = '#/run/00000000000000aa/task/0000000000000002'")
        wait_until(lambda: "bwa mem" in self.text("main"), "its processes")
        wait_until(lambda: "At the same time" in self.text("main"), "its neighbors")
        self.browser.run("document.querySelector('[aria-label=Pause]').click()")
        self.assertEqual(self.text(".chip[role=status]"), "paused")
        self.assertEqual(self.browser.complaints(), [])

    def test_the_expected_end_is_that_of_top(self):
        """By past runs of a recording: the same words in the headlines of the page and of `tracer top`."""
        import types

        from tracer.view import _screen, _start
        from tracer.view._model import View
        from tracer.view._texts import signs_of_locale

        now_ns = int((100 + 25) * pages.SECOND)
        made, recording = Made(), Made("1", live=False)
        start = 100 * pages.SECOND
        run = pages.row("main.nf live", start, 25 * pages.SECOND, pipeline="main.nf", id="r1", run_key="00000000000000aa", state="running", start_ns=start)
        made.put("runs", **run)
        made.put("steps", **pages.row("align", start, 25 * pages.SECOND, step="align", expected=8), id="s1", run_key="00000000000000aa", **{"in": "r1"})
        for number in range(3):
            at = start + 10 * number * pages.SECOND
            made.put("tasks", **pages.row(f"align (S{number})", at, 10 * pages.SECOND if number < 2 else 5 * pages.SECOND, step="align"), id=f"t{number}", start_ns=at,
                     task_key=f"{number:016x}", run_key="00000000000000aa", state="finished" if number < 2 else "running", **{"in": "r1"})
        for number, wall in ((1, 72), (2, 80), (3, 96)):
            recording.past(number, wall)
        clock = types.SimpleNamespace(time_ns=lambda: now_ns + Made.wall_offset_ns, monotonic=time.monotonic)
        with unittest.mock.patch("tracer.view._runs.time", clock):
            self.serve(made, recording)
            self.open()

            def is_said():
                made.put("runs", **run)
                return "left" in self.text("h1")

            wait_until(is_said, "the past is read")
            page = self.text("h1")
            self.assert_readable()
        self.assertRegex(page, r"^main.nf live has been running for 25.0 s, about [\d.]+ s left \([\d.]+ s to [\d.]+ (s|min)\): ")
        said = re.search(r", (about .*?\)):", page).group(1)
        # As of `tracer top --past`.
        earlier = _start._Past([])
        earlier._runs = _start.past_runs(recording.index())
        view = View(Made._Rows(made), clock=lambda: now_ns)
        view.refresh()
        self.assertEqual(earlier.look(view), said)
        headline, _ = _screen._headline(view, _screen.About("live", signs_of_locale(), expected_end=earlier.look(view)))
        self.assertIn(f": {said}", headline)
        left = [float(each) for each in re.findall(r"([\d.]+) s", said)]
        # 5 s of the third task, and five more, of 10 s each.
        self.assertTrue(left[1] <= 55 <= left[2] and abs(left[0] - 55) < 8, said)

    def test_it_comes_back_by_itself(self):
        made = Made()
        made.run(2)
        port = self.serve(made)
        self.open()
        made.fails = "no service listens"
        wait_until(lambda: "disconnected" in self.text("header"), "the service's end")
        made.fails = None
        made.task(2, "running")
        wait_until(lambda: "live" in self.text("header") and self.text(".counts").startswith("3 running"), "the service is back")
        self.end()
        wait_until(lambda: "disconnected" in self.text("header"), "the server's end")
        made.task(3, "running")
        self.serve(made, port=port)
        wait_until(lambda: "live" in self.text("header") and self.text(".counts").startswith("4 running"), "the server is back")

    def assert_readable(self):
        """As axe-core judges, on large and small screens, light and dark."""
        axe = pages.VIEWS / "node_modules/axe-core/axe.min.js"
        if not axe.exists():
            return
        for width in (1440, 390):
            self.browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            self.browser.frames()
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
            for theme in ("light", "dark"):
                self.browser.scheme(theme)
                self.browser.run(axe.read_text("utf-8") + ";0")
                found = self.browser.run("axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations.map((each) => "
                                         "[each.id, each.nodes.map((node) => node.html.slice(0, 200))]))")
                self.assertEqual(found, [], (width, theme))
        self.browser.send("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)
        self.browser.frames()

    def test_below_a_path(self):
        made = Made()
        made.run(2)
        self.serve(made, base="/node/n1")
        self.browser.open(f"http://127.0.0.1:{self.port}/node/n1/?token={TOKEN}#/run/00000000000000aa")
        self.assertEqual(self.text(".counts"), "2 running 0 of 8 expected tasks are over")
        self.assertEqual(self.browser.complaints(), [])

    def test_a_recording_beside_a_service(self):
        made = Made()
        made.run(2)
        self.serve(made, Made("1", live=False))
        self.open("")
        self.browser.run("(() => { const choice = document.querySelector('select'); choice.value = '1'; choice.dispatchEvent(new Event('change', {bubbles: true})); location.hash = '#/run/'; })()")
        wait_until(lambda: self.text(".counts") == "30 done", "the recording")

    def test_hostile_names_of_runs_are_text(self):
        made, other = Made(), Made("1", live=False)
        made.run(1)
        other.name = "<img src=x onerror=window.bad=1>"
        for at, name in enumerate(("<script>window.bad=1</script>", "\u202egnp.exe\u200b\x1b[31m", "x" * 10240, "javascript:window.bad=1")):
            for number in (2 * at + 1, 2 * at + 2):
                other.past(number, 60)
                (_, run), (_, step) = other.rows[("runs", f"{number:015x}f")], other.rows[("steps", f"s{number:015x}f")]
                run.update(name=name, run=name, pipeline=name)
                step.update(name=name, step=name)
        self.serve(made, other)
        self.open("#/runs")
        wait_until(lambda: self.browser.run("document.querySelectorAll('.spark').length") == 4, "the lines")
        self.assertIsNone(self.browser.run("window.bad ?? null"))
        self.assertEqual(self.browser.run("document.querySelectorAll('main img, main script').length"), 0)
        for hidden in "\u202e\u200b\x1b":
            self.assertNotIn(hidden, self.browser.run("document.body.innerText"))
        self.assert_readable()
        self.assertEqual(self.browser.complaints(), [])

    def test_two_recordings_side_by_side(self):
        from tracer.view._documents import shown_of

        files = [str(pages.RECORDINGS / f"{name}.tracer") for name in ("nextflow-24", "nextflow-25", "snakemake")]
        self.serve(*shown_of(files))
        self.open("#/compare/0/1")
        wait_until(lambda: self.browser.run("document.querySelectorAll('tbody tr').length") > 5, "the steps")
        printed = subprocess.run([TRACERD, "compare", *files[:2]], capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C.UTF-8"}).stdout
        self.assertIn(self.text("h1").rstrip("."), printed)
        rows = self.browser.run("[...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))")
        listed = 0
        for name, counts, wall_a, wall_b, change, word, _, *others in rows:
            line = next((line for line in printed.splitlines() if line.startswith(name + " ") and f" {counts} " in line), None)
            if line is not None:  # The table leaves out what took next to nothing.
                listed += 1
                for cell in (wall_a, wall_b, change, word, *others):
                    self.assertIn(cell, line)
        self.assertGreater(listed, 8)
        self.assert_readable()
        self.browser.run("(() => { const b = document.querySelectorAll('.choice select')[1]; b.value = '2'; b.dispatchEvent(new Event('change')); })()")
        wait_until(lambda: "27.8 s" in self.text("h1"), "the other one")
        self.assertEqual(self.browser.complaints(), [])

    def test_runs_of_all_sources_are_listed(self):
        made, recording = Made(), Made("1", live=False)
        made.run(2)
        for number, wall in ((1, 60), (2, 80), (3, 70)):
            recording.past(number, wall)
        self.serve(made, recording)
        self.open("#/runs")
        rows = "[...document.querySelectorAll('.runname a')].map((link) => link.textContent).join()"
        wait_until(lambda: self.browser.run(rows) == "main.nf past 3,main.nf past 2,main.nf past 1,main.nf live", "all runs")
        self.assertEqual(self.text(".counts"), "3 ended 1 running")
        self.assertEqual(self.text(".many h2"), "main.nf: run by run")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.many tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()).join()).join(';')"),
                         "whole run,,70.0 s,70.0 s;align,,8.8 s,8.8 s")
        self.assertEqual(self.browser.run("document.querySelector('.spark').getAttribute('aria-label')"), "60.0 s, 80.0 s, 70.0 s")
        self.assert_readable()
        self.browser.run("document.querySelector('.counts button:last-child').click()")
        wait_until(lambda: self.browser.run(rows) == "main.nf live", "those that run")
        self.browser.run("document.querySelector('.counts button:last-child').click()")
        # Its source is shown with it.
        self.browser.run("[...document.querySelectorAll('.runname a')].find((link) => link.textContent === 'main.nf past 2').click()")
        wait_until(lambda: self.browser.run("document.querySelector('select').value") == "1", "the recording is chosen")
        self.assertEqual(self.browser.complaints(), [])


def extension():
    try:
        import tracer._core  # noqa: F401
    except ImportError:
        return False
    return True


@unittest.skipUnless(extension(), "the package is not built")
class Command(TempDir):
    def begin(self, *arguments, **environment):
        process = subprocess.Popen([sys.executable, "-m", "tracer", "ui", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=os.environ | {"XDG_RUNTIME_DIR": str(self.folder)} | environment)

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process, process.stdout.readline().strip()

    def test_export(self):
        page = self.folder / "page.html"
        done = subprocess.run([sys.executable, "-m", "tracer", "ui", "--export", str(page), str(RECORDING)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        text = page.read_text("utf-8")
        self.assertIn("main.nf second_run succeeded (status 0) in 7.4 s", text)
        self.assertEqual(page.stat().st_mode & 0o777, 0o600)
        if not CHROMIUM:
            return
        browser = Browser(1440, 900)
        self.addCleanup(browser.close)
        browser.open(str(page) + "#/run/988658150593c4ce/task/3705d365d05c6793")
        shown = browser.run("document.querySelector('main').innerText")
        # Of the recording's own events: a tree, and how each ended.
        self.assertIn("nested.sh", shown)
        self.assertIn("status 0", shown)
        whole = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
        self.assertEqual([each.get("step") for each in whole["over_time"]["series"]][:1], [None])
        self.assertEqual(sum(whole["over_time"]["series"][0]["cpu_ns"]), whole["runs"][0]["cpu_ns"])
        self.assertEqual(list(whole["why"]), ["3fe841e6a02b194c"])
        self.assertGreater(browser.run("[...document.querySelectorAll('.tree')].filter((node) => node.style.paddingLeft !== '0px').length"), 5)
        self.assertEqual(browser.complaints(), [])

    @unittest.skipUnless(uvicorn, "there is no uvicorn")
    def test_serves_a_recording(self):
        process, address = self.begin(str(RECORDING), "--port", "0")
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/\?token=[\w-]{32}$")
        port, token = re.search(r":(\d+)/\?token=(.*)", address).groups()
        client = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        client.request("GET", f"/?token={token}")
        reply = client.getresponse()
        reply.read()
        cookie = reply.headers["set-cookie"].partition(";")[0]
        client.request("GET", "/api/v1/report/all", headers={"Cookie": cookie})
        whole = json.loads(client.getresponse().read())
        kept = json.loads(pages.report("nextflow-25"))
        self.assertEqual({name: whole[name] for name in kept if name not in ("cost",)}, {name: kept[name] for name in kept if name not in ("cost",)})
        self.assertEqual(whole["hosts"][0]["name"], "node1")
        client.request("GET", "/api/v1/state?key=3705d365d05c6793", headers={"Cookie": cookie})
        held = json.loads(client.getresponse().read())
        self.assertGreater(len(held["processes"]), 50)
        client.request("GET", "/api/v1/why/3705d365d05c6793", headers={"Cookie": cookie})
        self.assertEqual(json.loads(client.getresponse().read())["subject"], "task")
        client.request("GET", "/api/v1/over_time/988658150593c4ce", headers={"Cookie": cookie})
        self.assertLessEqual(json.loads(client.getresponse().read())["parts"], 400)
        client.close()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 0)
        # No other user's work is shown, not even to root.
        self.assertNotIn("every user", process.stderr.read())

    @unittest.skipUnless(uvicorn, "there is no uvicorn")
    def test_a_second_one_takes_another_port(self):
        _, first = self.begin(str(RECORDING), "--port", "0")
        port = re.search(r":(\d+)/", first).group(1)
        second, address = self.begin(str(RECORDING), "--port", port)
        self.assertNotIn(f":{port}/", address)
        second.kill()
        self.assertIn(f"port {port} is in use", second.stderr.read())

    @unittest.skipUnless(uvicorn, "there is no uvicorn")
    def test_socket(self):
        place = self.folder / "ui.sock"
        process, address = self.begin(str(RECORDING), "--socket", str(place))
        self.assertIn("?token=", address)
        self.assertEqual(place.stat().st_mode & 0o777, 0o600)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(place))
            client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8477\r\nConnection: close\r\n\r\n")
            self.assertIn(b"403", client.recv(100))
        again = subprocess.run([sys.executable, "-m", "tracer", "ui", str(RECORDING), "--socket", str(place)], capture_output=True, text=True, timeout=60)
        self.assertEqual(again.returncode, 2)
        self.assertIn("in use", again.stderr)
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        self.assertFalse(place.exists())

    @unittest.skipUnless(uvicorn, "there is no uvicorn")
    def test_the_token_outlives_a_restart(self):
        process, first = self.begin(str(RECORDING), "--socket", str(self.folder / "ui.sock"))
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        self.assertEqual(self.begin(str(RECORDING), "--socket", str(self.folder / "ui.sock"))[1], first)

    @unittest.skipUnless(uvicorn and CHROMIUM, "there is no uvicorn or chromium")
    def test_a_service(self):
        """What runs is drawn; the service ends, comes back, and the page is whole again."""
        import tracer

        if not tracer.check():
            self.skipTest("needs the right to trace")
        config, place = self.folder / "tracerd.toml", str(self.folder / "tracer.sock")
        config.write_text("schema = 1\n")

        def service():
            begun = subprocess.Popen([TRACERD, "serve", "--foreground", "--config", str(config), "--socket", place], stderr=subprocess.DEVNULL)
            self.addCleanup(begun.wait)
            self.addCleanup(begun.kill)

            def answers():
                with socket.socket(socket.AF_UNIX) as client:
                    try:
                        client.connect(place)
                        client.sendall(b'{"request":"hello","version":1}\n')
                        return bool(client.recv(65536))
                    except OSError:
                        return False

            wait_until(answers, "an answer of the service")
            return begun

        serving = service()
        browser = Browser(1440, 900)
        self.addCleanup(browser.close)
        _, address = self.begin(place, "--port", "0")
        browser.open(address)

        def texts():
            return browser.run("document.querySelector('main').innerText")

        def work(name):
            session = tracer.connect(place)
            self.addCleanup(session.close)
            worker = subprocess.Popen(["sleep", "60"])
            self.addCleanup(worker.wait)
            self.addCleanup(worker.kill)
            session.announce(pid=worker.pid, context={"engine": "snakemake", "pipeline": "work", "run": name, "run_id": name, "step": "align",
                                                      "task": "align (S1)", "task_id": "1"})

        work("first")
        wait_until(lambda: "work first" in texts(), "the run")
        browser.run("[...document.querySelectorAll('main a')].find((link) => link.textContent === 'work first').click()")
        wait_until(lambda: "1 running" in texts().replace("\n", " "), "the task")
        serving.kill()
        serving.wait()
        wait_until(lambda: "disconnected" in browser.run("document.querySelector('header').innerText"), "its end")
        service()
        work("second")
        browser.run("location.hash = '#/runs'")
        wait_until(lambda: "work second" in texts() and "live" in browser.run("document.querySelector('header').innerText"), "the service is back")

    @unittest.skipUnless(uvicorn, "there is no uvicorn")
    def test_why_and_over_time_of_what_lives(self):
        """By what the service records: the same as of the recording, read afterwards; and nothing, if it records nothing."""
        import tracer

        if not tracer.check():
            self.skipTest("needs the right to trace")
        recordings, lock = self.folder / "recordings", self.folder / "lock"
        recordings.mkdir()
        place = begin_service(self.folder, self.addCleanup, f'[recordings]\nfolder = "{recordings}"\nby_owner = true\n')
        port, token = re.search(r":(\d+)/\?token=(.*)", self.begin(place, "--port", "0")[1]).groups()
        # As the page's own cookie; its place names it.
        cookie = f"tracer-{hashlib.sha256(port.encode()).hexdigest()[:12]}={token}"

        def get(path):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)) as client:
                client.request("GET", f"/api/v1/{path}", headers={"Cookie": cookie})
                reply = client.getresponse()
                return reply.status, json.loads(reply.read())

        self.assertEqual(get("sources")[1]["sources"][0]["says"], ["over_time", "why"])
        session = tracer.connect(place)
        self.addCleanup(session.close)
        workers = {}
        for name, command in (("holds", ["flock", "--no-fork", lock, "sleep", "300"]), ("waits", ["flock", lock, "true"]), ("sleeps", ["sleep", "300"]),
                              ("writes", ["dd", "if=/dev/zero", f"of={self.folder}/written", "bs=4k", "count=500", "oflag=dsync", "status=none"])):
            workers[name] = subprocess.Popen(command)
            self.addCleanup(workers[name].wait)
            self.addCleanup(workers[name].kill)
            if name == "holds":
                wait_until(lock.exists, "the lock")
                time.sleep(0.2)
            session.announce(pid=workers[name].pid, context={"engine": "snakemake", "pipeline": "work", "run": "one", "run_id": "1", "step": "align",
                                                             "task": name, "task_id": name})

        def keys():
            return {row["task"]: row["task_key"] for row in session.state(None, ["tasks"])["tasks"] if "task" in row}

        wait_until(lambda: len(keys()) == 4, "the tasks")
        of, run = keys(), session.state(None, ["runs"])["runs"][0]["run_key"]
        # While it lives, a few seconds late.
        wait_until(lambda: get(f"why/{of['waits']}")[0] == 200, "an answer")
        wait_until(lambda: get(f"over_time/{run}")[0] == 200, "an answer")
        self.assertNotIn("end_ns", get(f"why/{of['waits']}")[1])
        self.assertEqual(get("why/00000000000000ff")[0], 404)
        self.assertEqual(get("over_time/x")[0], 400)
        # Long enough for the shares below.
        time.sleep(3)
        for name in ("holds", "sleeps"):
            workers[name].terminate()
        for each in workers.values():
            each.wait()
        wait_until(lambda: all("time" in get(f"why/{key}")[1] for key in of.values()), "their ends", 60)
        wait_until(lambda: get(f"over_time/{run}")[1] == session.over_time(run), "the last of it", 60)
        (recording,) = [each for each in tracer.past(socket=place) if each.owner_uid == os.geteuid()]
        for name, cause in (("waits", "lock"), ("sleeps", "sleep"), ("holds", "sleep"), ("writes", "disk")):
            live, after = get(f"why/{of[name]}")[1], recording.why(of[name])
            self.assertEqual(live, after)
            self.assertEqual(live, session.why(of[name]))
            self.assertIn(cause, [each["cause"] for each in live["time"]])
            self.assertGreater(live["time"][0]["share"], 0.9 if name != "writes" else 0)
            # They lived when they were announced: not known, where no sample says what was before.
            self.assertLessEqual(live.get("written_bytes", 0), 500 * 4096 if name == "writes" else 0)
        self.assertEqual([each["name"] for each in get(f"why/{of['waits']}")[1]["waits_for"]], ["align holds"])
        self.assertEqual(get(f"over_time/{run}")[1], recording.over_time(run))
        self.assertIn(run, json.dumps(session.why()))

    @unittest.skipUnless(uvicorn, "there is no uvicorn")
    def test_a_service_that_records_nothing(self):
        import tracer
        from tracer.view._documents import Shown
        from tracer.view._model import Service

        if not tracer.check():
            self.skipTest("needs the right to trace")
        place = begin_service(self.folder, self.addCleanup)
        source = Service(place)
        self.addCleanup(source.close)
        shown = Shown(0, source, "this host")
        self.assertEqual(shown.about()["says"], [])
        with self.assertRaisesRegex(LookupError, "this service records nothing"):
            shown.ask("why", "00000000000000ff")
        with tracer.connect(place) as session, self.assertRaisesRegex(tracer.InvalidArgumentError, "by_owner = true"):
            session.over_time("00000000000000ff")

    def test_wrong_uses(self):
        for arguments, words in ((["/nowhere.tracer"], "there is no source"), (["--export", "x.html"], "names? one|name one"), ([str(RECORDING), "--base-path", "x"], "begin it with /"),
                                 ([str(RECORDING), "--port", "99999"], "^tracer: TRC\\d+: --port 99999 is no port"), ([str(RECORDING), "--port", "-1"], "--port -1 is no port"),
                                 ([str(RECORDING), "--socket", str(self.folder / ("x" * 108))], "can't listen on .*: AF_UNIX path too long"),
                                 ([str(RECORDING), "--socket", str(self.folder / "none/x")], "can't listen on .*: No such file or directory")):
            done = subprocess.run([sys.executable, "-m", "tracer", "ui", *arguments], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, words)

    def test_without_the_extra(self):
        done = run_python("""
            import sys
            for name in ("starlette", "uvicorn"):
                sys.modules[name] = None
            from tracer.__main__ import main
            sys.exit(main(["ui"]))
        """)
        self.assertEqual(done.returncode, 2)
        self.assertIn("pip install 'libtracer[ui]'", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
