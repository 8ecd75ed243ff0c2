# SPDX-License-Identifier: Apache-2.0
"""`tracer notify`: one message for each finding and run, to a webhook on loopback and to commands."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import tracer
from recordings import DEADLINE_SECONDS
from support import ROOT, TempDir, begin_service, needs_tracing, wait_until
from tracer.view._model import View
from tracer.view._notify import Deliverer, Idle, Message, Sent, Wanted, follow, messages_of, to_command, to_webhook
from view_states import S, T0, Fixed, finding_of, pipeline, run_of

NOTIFY = [sys.executable, "-m", "tracer", "notify"]
FAILURES = str(ROOT / "tests/data/recordings/failures.tracer")


class Webhook:
    """Keeps what is posted, and answers with these statuses in turn, then with 200."""

    def __init__(self, *statuses):
        self.got, self.statuses = [], list(statuses)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = outer.statuses.pop(0) if outer.statuses else 200
                outer.got.append((status, json.loads(body)))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *given):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def delivered(self):
        return [message for status, message in self.got if status == 200]


def view_of(source):
    view = View(source, clock=lambda: T0 + 100 * S)
    view.refresh()
    return view


def message(key="k"):
    return Message(key, {"schema": 1, "event": "finding", "text": f"text of {key}"})


class What(unittest.TestCase):
    def test_mistakes(self):
        for wrong in ("", ",", "errors", "finding=", "finding", "run", "error,idel"):
            with self.subTest(on=wrong), self.assertRaises(tracer.InvalidArgumentError):
                Wanted.of(wrong)
        for wrong in ("ftp://x", "file:///etc/passwd", "x", "", "http://", "http:///hook", "https://:80/", "http://h:port/", "http://h:99999/",
                      "http://h/a b", "http://h/a\nb", "http://h/ä", "http://[::1/", "http://a..b/", f"http://{'a' * 64}/"):
            with self.subTest(webhook=wrong), self.assertRaises(tracer.InvalidArgumentError):
                to_webhook(wrong)
        for right in ("http://h", "https://h:8443/hook?a=b", "http://[::1]:80/", "http://127.0.0.1/a%20b"):
            to_webhook(right)

    def test_findings_and_runs(self):
        source = pipeline()
        source.rows["runs"].append(run_of("2", "main.nf old", "finished", failed=1))
        view = view_of(source)
        self.assertEqual([each.content["text"] for each in messages_of(view, Wanted.of("error"), "node1")],
                         ["error on node1: SAMTOOLS (S1) was killed as memory had run out"])
        (stalled,) = messages_of(view, Wanted.of("finding=stalled"), "node1")
        self.assertEqual((stalled.content["event"], stalled.content["finding"]["code"]), ("finding", "stalled"))
        (ended,) = messages_of(view, Wanted.of("run-end"), "node1")
        self.assertEqual(ended.content["text"], "main.nf old is over on node1 after 90.0 s; 1 failure began in it")
        self.assertEqual((ended.content["event"], ended.content["status"], ended.content["run"]["name"]), ("run_end", "done", "main.nf old"))

    def test_a_text_does_not_steer_what_shows_it(self):
        source = Fixed(findings=[finding_of(1, "a\x1b[2J\u202eb")])
        (one,) = messages_of(view_of(source), Wanted.of("error"), "h")
        self.assertEqual(one.content["text"], r"error on h: a\x1b[2J\u202eb")

    def test_idle(self):
        cpu, now = [0, 0], [1000.0]
        idle = Idle(3600, "4.10", lambda: tuple(cpu), lambda: now[0])

        def look(view, busy, seconds):
            cpu[0] += busy
            cpu[1] += 100
            now[0] += seconds
            return idle.look(view, "node1")

        nothing, living = view_of(Fixed()), view_of(pipeline())
        self.assertIsNone(look(nothing, 0, 3500))
        self.assertIsNone(look(living, 0, 200))  # A task runs.
        self.assertIsNone(look(nothing, 50, 3600))  # Somebody computes.
        since = now[0]
        self.assertIsNone(look(nothing, 1, 3599))
        one = look(nothing, 1, 1)
        when = time.strftime("%A %H:%M", time.localtime(since))
        self.assertEqual(one.content["text"], f"node1 has worked for nobody since {when}, 4.10 USD an hour")
        self.assertEqual((one.content["since_unix_s"], one.content["usd_per_hour"]), (int(since), "4.10"))
        self.assertEqual(look(nothing, 0, 100).key, one.key)  # Not said again.


class Idling(TempDir):
    """Of a host with one CPU, which is looked at every 2 s."""

    def setUp(self):
        super().setUp()
        self.busy_s, self.now = 0.0, 1_000_000.0
        self.path = str(self.folder / "sent.json")
        self.nothing, self.living = view_of(Fixed()), view_of(pipeline())
        self.begin()

    def begin(self, after_s=3600):
        self.sent = Sent(self.path)
        self.idle = Idle(after_s, None, lambda: (int(100 * self.busy_s), int(100 * self.now)), lambda: self.now, self.sent)

    def pass_(self, minutes, busy=lambda number: 0.0, view=None):
        """What is said in it, as follow() would have it sent."""
        said = []
        for number in range(30 * minutes):
            self.now += 2
            self.busy_s += 2 * busy(number)
            one = self.idle.look(view or self.nothing, "h")
            if one is not None and one.key not in self.sent:
                self.sent.add(one.key)
                said.append(one.content["since_unix_s"])
        return said

    def test_what_a_host_does_now_and_then_is_not_work(self):
        since = int(self.now)
        # All of its CPU for 2 s in a minute.
        self.assertEqual(self.pass_(61, lambda number: number % 30 == 0), [since])
        self.assertLessEqual(len(self.idle._looks), 12)

    def test_what_goes_on_is_work(self):
        self.assertEqual(self.pass_(180, lambda number: 0.06), [])
        busy_until = self.now
        (since,) = self.pass_(80)
        self.assertTrue(busy_until <= since <= busy_until + 660)

    def test_work_that_comes_in_bursts_is_work(self):
        # A minute of every ten.
        self.assertEqual(self.pass_(180, lambda number: number % 300 < 30), [])

    def test_a_short_time_has_a_short_window(self):
        since = int(self.now)
        self.begin(60)
        self.assertEqual(self.pass_(2), [since])
        self.begin(60)
        self.assertEqual(self.pass_(10, lambda number: 0.5), [])

    def test_a_restart_neither_repeats_nor_changes_it(self):
        since = int(self.now)
        self.pass_(40)
        self.begin()
        self.assertEqual(self.pass_(21, lambda number: number < 5), [since])
        for _ in range(3):
            self.begin()
            self.assertEqual(self.pass_(65), [])

    def test_work_between_two_starts_ends_it(self):
        self.pass_(65)
        self.now += 3600
        self.busy_s += 3000
        self.begin()
        again = self.now
        (since,) = self.pass_(75)
        self.assertTrue(again <= since <= again + 660)

    def test_a_boot_ends_it(self):
        self.pass_(30)
        again, before = self.now, int(100 * self.now)
        self.sent = Sent(self.path)
        self.idle = Idle(3600, None, lambda: (0, int(100 * self.now) - before), lambda: self.now, self.sent)
        self.assertEqual(self.pass_(61), [int(again)])

    def test_what_lives_ends_it_also_in_the_file(self):
        self.pass_(30)
        self.assertIsNotNone(Sent(self.path).idle)
        self.pass_(1, view=self.living)
        self.assertIsNone(Sent(self.path).idle)
        since = int(self.now)
        self.begin()
        self.assertEqual(self.pass_(61), [since])

    def test_a_clock_that_is_set_back(self):
        ticks = iter(range(0, 10**9, 200))
        self.idle = Idle(3600, None, lambda: (0, next(ticks)), lambda: self.now, self.sent)
        self.pass_(30)
        self.now -= 86400
        since = int(self.now)
        (said,) = self.pass_(61)
        self.assertAlmostEqual(said, since, delta=2)
        self.assertLessEqual(len(self.idle._looks), 12)

    def test_the_file_is_seldom_written(self):
        with unittest.mock.patch.object(self.sent, "_write") as write:
            self.pass_(60)
            self.assertLessEqual(write.call_count, 7)
            self.pass_(60, view=self.living)
            self.assertLessEqual(write.call_count, 8)


class Delivering(TempDir):
    def deliverer(self, send, path=None):
        self.now = 0.0
        return Deliverer(send, Sent(path), lambda: self.now)

    def test_each_once_in_order_and_again_until_it_is_taken(self):
        hook = Webhook(500, 429)
        self.addCleanup(hook.close)
        deliverer = self.deliverer(to_webhook(hook.url))
        for key in ("a", "b", "a"):
            deliverer.add(message(key))
        for _ in range(5):
            deliverer.deliver()
            self.now += 2
        deliverer.add(message("a"))
        deliverer.deliver()
        self.assertEqual([each["text"] for each in hook.delivered], ["text of a", "text of b"])
        self.assertEqual((len(hook.got), deliverer.waiting, deliverer.lost), (4, 0, 0))

    def test_it_waits_ever_longer_and_gives_up_after_a_day(self):
        times = []

        def send(_):
            times.append(self.now)
            raise OSError("down")

        deliverer = self.deliverer(send)
        deliverer.add(message())
        while deliverer.waiting:
            deliverer.deliver()
            self.now += 1
        gaps = [later - before for before, later in zip(times, times[1:])]
        self.assertEqual(gaps[:4], [1, 2, 4, 8])
        self.assertEqual(max(gaps), 300)
        self.assertGreater(times[-1], 24 * 3600)
        self.assertEqual(deliverer.lost, 1)

    def test_what_is_refused_is_not_tried_again(self):
        for status in (400, 404, 302):
            hook = Webhook(status)
            self.addCleanup(hook.close)
            deliverer = self.deliverer(to_webhook(hook.url))
            deliverer.add(message("a"))
            deliverer.add(message("b"))
            deliverer.deliver()
            self.assertEqual(([each["text"] for each in hook.delivered], deliverer.lost), (["text of b"], 1))

    def test_what_speaks_no_http_is_tried_again(self):
        for answer in (b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x01\x00\x02\x02\x16", b"HTTP/1.1 200 " + b"x" * 70_000, b""):
            with self.subTest(answer=answer[:20]), socket.create_server(("127.0.0.1", 0)) as server:
                def once(server=server, answer=answer):
                    peer, _ = server.accept()
                    with peer:
                        peer.recv(65536)
                        peer.sendall(answer)

                thread = threading.Thread(target=once)
                thread.start()
                deliverer = self.deliverer(to_webhook(f"http://127.0.0.1:{server.getsockname()[1]}/"))
                deliverer.add(message())
                deliverer.deliver()
                thread.join()
                self.assertEqual((deliverer.waiting, deliverer.lost), (1, 0))

    def test_a_queue_does_not_keep_it_from_stopping(self):
        got, stop = [], threading.Event()

        def send(one):
            got.append(one.key)
            if len(got) == 3:
                stop.set()

        deliverer = self.deliverer(send)
        for number in range(250):
            deliverer.add(message(str(number)))
        deliverer.deliver(stop)
        self.assertEqual((len(got), deliverer.waiting), (3, 247))
        stop.clear()
        # New messages are looked for between times.
        self.assertTrue(deliverer.deliver(stop))
        self.assertEqual(deliverer.waiting, 147)
        self.assertTrue(deliverer.deliver(stop))
        self.assertFalse(deliverer.deliver(stop))
        self.assertEqual(got, [str(number) for number in range(250)])

    def test_a_restart_repeats_nothing(self):
        path = str(self.folder / "sent.json")
        got = self.folder / "got"
        send = to_command(["sh", "-c", f"cat >> {got}; echo >> {got}"])
        for keys in (("a", "b"), ("a", "b", "c")):
            deliverer = self.deliverer(send, path)
            for key in keys:
                deliverer.add(message(key))
            deliverer.deliver()
        self.assertEqual([json.loads(line)["text"] for line in got.read_text().splitlines()], ["text of a", "text of b", "text of c"])
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        (self.folder / "bad").write_text("{")
        with self.assertRaises(tracer.RecordingError):
            Sent(str(self.folder / "bad"))

    def test_what_is_there_at_first_is_no_news(self):
        source, sent = Fixed(findings=[finding_of(1, "old")]), Sent(None)
        got, stop = [], threading.Event()

        def send(one):
            got.append(one.content["finding"]["text"])
            stop.set()

        view = View(source)
        thread = threading.Thread(target=follow, args=(view, "h", Wanted.of("error"), Deliverer(send, sent), sent, None, None, stop))
        thread.start()
        wait_until(lambda: view.index.findings, "it has looked")
        time.sleep(0.2)
        source.change(findings=[finding_of(1, "old"), finding_of(2, "new")])
        thread.join(DEADLINE_SECONDS)
        self.assertEqual(got, ["new"])


class Commands(TempDir):
    def notify(self, *words, status=0):
        done = subprocess.run([*NOTIFY, *words], capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_of_a_recording(self):
        expected = sorted(each.text for each in tracer.read(FAILURES).findings if each.severity == "error")
        self.assertTrue(expected)
        script = self.folder / "keep"
        script.write_text(f"#!/bin/sh\ncat >> {self.folder}/got\necho >> {self.folder}/got\n")
        script.chmod(0o755)
        self.notify("--on", "error", FAILURES, "--", str(script))
        got = [json.loads(line) for line in (self.folder / "got").read_text().splitlines()]
        self.assertEqual(sorted(each["finding"]["text"] for each in got), expected)
        hook = Webhook(503)
        self.addCleanup(hook.close)
        self.notify("--on", "error,run-end", "--webhook", hook.url, FAILURES)
        self.assertEqual(sorted(each["finding"]["text"] for each in hook.delivered if each["event"] == "finding"), expected)

    def test_sigterm_stops_a_delivery(self):
        done = self.folder / "done"
        script = self.folder / "slow"
        script.write_text(f"#!/bin/sh\necho x >> {done}\nsleep 0.5\n")
        script.chmod(0o755)
        process = subprocess.Popen([*NOTIFY, "--on", "error,warning,finding=first_failure,run-end", FAILURES, "--", str(script)], stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        wait_until(done.exists, "the first message")
        process.terminate()
        self.assertEqual(process.wait(DEADLINE_SECONDS), 1)
        self.assertLessEqual(len(done.read_text().split()), 2)

    def test_mistakes(self):
        for words in (("--on", "error"), ("--on", "error", "--webhook", "http://x", "--", "cat"), ("--on", "x", "--", "cat"),
                      ("--on", "idle", FAILURES, "--", "cat"), ("--", "cat")):
            with self.subTest(words=words):
                self.notify(*words, status=2)
        self.assertIn("TRC140", self.notify("--on", "error", "--socket", str(self.folder / "none"), "--", "cat", status=2).stderr)


@needs_tracing
class OfAService(TempDir):
    def test_a_failure_reaches_the_webhook(self):
        place = begin_service(self.folder, self.addCleanup)
        hook = Webhook()
        self.addCleanup(hook.close)
        process = subprocess.Popen([*NOTIFY, "--on", "error,finding=first_failure,run-end", "--webhook", hook.url, "--socket", place,
                                    "--state", str(self.folder / "sent.json")], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        wait_until(lambda: (self.folder / "sent.json").exists(), "it has looked")
        session = tracer.connect(place)
        self.addCleanup(session.close)
        task = subprocess.Popen(["sh", "-c", "read line; kill -SEGV $$"], stdin=subprocess.PIPE)
        session.announce(pid=task.pid, context={"engine": "snakemake", "run_id": "r1", "task": "align (S1)", "task_id": "7"})
        task.communicate(b"\n")
        wait_until(lambda: any(each.get("finding", {}).get("pid") == task.pid for each in hook.delivered), "a finding about it")
        process.terminate()
        self.assertEqual(process.wait(DEADLINE_SECONDS), 0, process.stderr.read())
        process.stderr.close()
        keys = [each["finding"]["finding_key"] for each in hook.delivered if each["event"] == "finding"]
        self.assertEqual(len(keys), len(set(keys)))


if __name__ == "__main__":
    unittest.main()
