# SPDX-License-Identifier: Apache-2.0
"""A service that is killed, and goes on with what a service manager has kept of it."""

import collections
import glob
import json
import os
import signal
import subprocess
import time
import unittest

import keeper
import support
from support import TRACERD, of_kind, text_of, wait_until

# Of root, a client that gives up its uid can't come back as root.
USER = 20001
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
# Any user may execute it, unlike the one that runs the tests.
PYTHON_OF_ALL = "/usr/bin/python3"
# Children one after the other, at most 500 a second, some of which live for longer, until a file is there. Says of each
# its pid and what wait4() says that it consumed.
STORM = """
import os, sys, time
stop, truth = sys.argv[1:3]
lines, long = [], []
def wait(pid):
    _, status, usage = os.wait4(pid, 0)
    lines.append(f"{pid} {status} {round((usage.ru_utime + usage.ru_stime) * 1e6)}")
count = 0
while not os.path.exists(stop):
    begin = time.monotonic()
    if count % 50 == 0:
        long.append(os.posix_spawn("/bin/sleep", ["sleep", "2.5"], os.environ))
        if len(long) > 8:
            wait(long.pop(0))
    else:
        wait(os.posix_spawn("/bin/true", ["true", str(count)], os.environ))
    count += 1
    time.sleep(max(0, 0.002 - (time.monotonic() - begin)))
for pid in long:
    wait(pid)
open(truth, "w").write("\\n".join(lines) + "\\n")
"""


class Restart(support.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or subprocess.run([TRACERD, "check"], capture_output=True).returncode != 0:
            raise unittest.SkipTest("needs root and the right to trace")

    def configure(self, session="", files="files = 60\n"):
        self.socket = self.path("tracer.sock")
        self.recordings = self.path("recordings")
        os.mkdir(self.recordings)
        config = self.path("tracerd.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'schema = 1\n{session}[recordings]\nfolder = "{self.recordings}"\n{files}')
        return config

    def keep(self, binary=TRACERD, session="", **more):
        config = self.configure(session, **more)
        self.keeper = keeper.Keeper([binary, "serve", "--config", config, "--socket", self.socket], self.folder)
        self.addCleanup(self.keeper.close)
        self.begin()

    def begin(self):
        self.keeper.start()
        self.assertTrue(self.keeper.ready.wait(5 * support.DEADLINE_SECONDS), text_of(self.keeper.log))

    def restart(self, number=signal.SIGKILL):
        self.keeper.end(number)
        self.begin()

    def begin_storm(self, *options):
        home = self.path("home")
        os.mkdir(home)
        os.chown(home, USER, USER)
        self.stop, self.truth, self.events = (os.path.join(home, name) for name in ("stop", "truth", "events.json"))
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": home, "TRACER_SOURCE": "service",
                       "TRACER_SOCKET": self.socket}
        return self.start(*AS_USER, TRACERD, "run", "--json", self.events, *options, "--", PYTHON_OF_ALL, "-c", STORM, self.stop,
                          self.truth, env=environment, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end_storm(self, storm):
        open(self.stop, "w", encoding="utf-8").close()
        _, errors = storm.communicate(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(storm.returncode, 0, errors)
        # What ends is in the recording, too.
        self.keeper.end(signal.SIGINT)
        return [tuple(map(int, line.split())) for line in text_of(self.truth).splitlines()]

    def recorded(self):
        events = []
        for path in sorted(glob.glob(self.recordings + "/host.tracer*"), key=lambda path: (len(path), path), reverse=True):
            result = self.tracerd("dump", path)
            events += support.parse_lines(result.stdout)[1:]
        return events

    def assert_all_once(self, events, truth, where):
        """Each process of the storm has one start, one exec and one end, with what wait4() said. Returns the ends."""
        log = text_of(self.keeper.log)
        for kind in ("process_start", "process_exit"):
            counts = collections.Counter((event["pid"], event["start_ns"]) for event in of_kind(events, kind))
            twice = sorted(process for process, count in counts.items() if count != 1)
            self.assertEqual(twice[:9], [], f"{where}: {len(twice)} of {len(counts)} {kind} are there twice\n{log}")
        # A number may be another process's later, of this user or of another one of the host.
        ends = collections.defaultdict(list)
        for event in of_kind(events, "process_exit"):
            if event["uid"] == USER:
                ends[event["pid"]].append(event)
        execs = collections.Counter((event["pid"], event["start_ns"]) for event in of_kind(events, "process_exec"))
        missing, exits = [], []
        for pid, status, cpu_us in truth:
            if not ends[pid]:
                missing.append(pid)
                continue
            event = ends[pid].pop(0)
            exits.append(event)
            self.assertEqual(event["exit_code"], os.waitstatus_to_exitcode(status))
            # Each of the two figures of wait4() is rounded down.
            self.assertGreaterEqual(event["cpu_ns"] // 1000 + 2, cpu_us, event)
            self.assertIn(os.path.basename(event["exe"] or ""), ("true", "sleep"), event)
            self.assertEqual(execs[pid, event["start_ns"]], 1, event)
        self.assertEqual(missing[:9], [], f"{where}: of {len(truth)}, {len(missing)} are missing; "
                         f"losses {of_kind(events, 'loss')}\n{log}")
        more = [event["pid"] for pid, *_ in truth for event in ends[pid]]
        self.assertEqual(more, [], where)
        return exits

    def assert_nothing_lost(self, events):
        # A part of the ring is for what may come in floods: on a busy host, it is full before a slow start has ended.
        causes = {event["cause"] for event in of_kind(events, "loss")}
        floods = {"ring_full_file_use", "ring_full_connection", "ring_full_cgroup_end"}
        self.assertEqual(causes - floods, set(), f"{of_kind(events, 'loss')}\n{text_of(self.keeper.log)}")

    def test_a_service_that_is_killed_again_and_again_misses_nothing(self):
        self.keep()
        storm = self.begin_storm()
        for _ in range(20):
            time.sleep(0.7)
            self.restart()
        time.sleep(0.5)
        truth = self.end_storm(storm)
        self.assertGreater(len(truth), 1000)
        events = support.parse_lines(text_of(self.events))
        seen = self.assert_all_once(events, truth, "the client")
        recorded = self.assert_all_once(self.recorded(), truth, "the recordings")
        self.assertEqual(sum(event["cpu_ns"] for event in seen), sum(event["cpu_ns"] for event in recorded))
        self.assert_nothing_lost(events)
        self.assert_nothing_lost(self.recorded())

    def test_files_of_a_second_are_one_recording_over_restarts(self):
        self.keep(files="files = 600\nseal_s = 1\n")
        whole = self.path("home/whole.tracer")
        storm = self.begin_storm("--record", whole, "--run", "storm")
        for _ in range(3):
            time.sleep(2.5)
            self.restart()
        time.sleep(1.5)
        truth = self.end_storm(storm)
        self.assertGreater(len(os.listdir(self.recordings)), 5)
        reports = [json.loads(self.tracerd("report", "--json", path).stdout) for path in (self.recordings, whole)]
        self.assertNotIn("recording_missing_part", reports[0]["certificate"]["losses"])
        cut, uncut = ([row for row in report["runs"] if row["name"] == "storm"] for report in reports)
        self.assertEqual(cut, uncut)
        self.assertEqual([row["processes"] for row in cut], [len(truth) + 1])
        # The account of a program that ran over a restart is absent.
        exits_ns = sum(event["cpu_ns"] for event in of_kind(support.parse_lines(text_of(self.events)), "process_exit"))
        self.assertTrue(0.7 * exits_ns < cut[0].get("cpu_ns", cut[0].get("cpu_ns_at_least")) <= exits_ns, (cut, exits_ns))

    def test_without_a_store_nothing_counts_twice(self):
        """A process that lives across it, and has executed another program before."""
        config = self.configure(files="files = 600\nseal_s = 1\n")
        self.socket = self.path("tracer.sock")
        burn = "import sys, os, time\n" \
            "def burn():\n    end = time.process_time() + 0.4\n    while time.process_time() < end: pass\n" \
            "burn(); open(sys.argv[1], 'w').close()\n" \
            "while not os.path.exists(sys.argv[2]): time.sleep(0.05)\n" \
            "burn()\n"
        ready, go = self.path("ready"), self.path("go")

        def serve():
            service = self.start(TRACERD, "serve", "--config", config, "--socket", self.socket, stderr=subprocess.PIPE)
            wait_until(lambda: self.tracerd("status", "--socket", self.socket).returncode == 0, "it answers")
            return service

        service = serve()
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", f"i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; "
                                         f'exec {PYTHON_OF_ALL} -c "$0" "$@"', burn, ready, go], os.environ)
        self.addCleanup(lambda: open(go, "w", encoding="utf-8").close())
        wait_until(lambda: os.path.exists(ready), "it has computed")
        time.sleep(5)
        service.kill()
        service.wait()
        service = serve()
        time.sleep(2)
        open(go, "w", encoding="utf-8").close()
        usage = os.wait4(pid, 0)[2]
        truth_ns = round((usage.ru_utime + usage.ru_stime) * 1e9)
        time.sleep(2)
        service.send_signal(signal.SIGINT)
        service.communicate(timeout=support.DEADLINE_SECONDS)
        result = self.tracerd("report", "--json", self.recordings)
        report = json.loads(result.stdout)
        self.assertRegex(result.stderr, r"another session than .*nothing is known from \d\d:\d\d:\d\d until \d\d:\d\d:\d\d\n")
        self.assertEqual(report["certificate"]["losses"]["service_gap"], 1)
        rows = [row for row in report["processes"] if row["pid"] == pid]
        self.assertEqual(len(rows), 1, rows)
        cpu_ns = sum(row.get("cpu_ns", row.get("cpu_ns_at_least", 0)) for row in rows)
        self.assertLessEqual(cpu_ns, truth_ns + 2000)
        self.assertGreater(cpu_ns, 700_000_000)
        self.assertEqual([each for each in report["survivors"] if each["pid"] == pid], [])
        starts = [event for event in self.recorded() if event["kind"] == "process_exit" and event["pid"] == pid]
        self.assertEqual(len(starts), 1)

    def test_a_stop_by_the_manager_hands_over(self):
        self.keep()
        storm = self.begin_storm()
        for _ in range(3):
            time.sleep(0.7)
            self.restart(signal.SIGTERM)
        truth = self.end_storm(storm)
        events = support.parse_lines(text_of(self.events))
        self.assert_all_once(events, truth, "the client")
        self.assert_all_once(self.recorded(), truth, "the recordings")
        self.assert_nothing_lost(events)

    def test_new_recordings_between_kills_miss_nothing(self):
        self.keep()
        storm = self.begin_storm()
        for round_ in range(10):
            time.sleep(0.5)
            os.kill(self.keeper.pid, signal.SIGHUP)
            # Also while the new one has nothing but what lives, or has not begun.
            time.sleep((0, 0.02, 0.1, 0.3)[round_ % 4])
            self.restart()
        time.sleep(0.3)
        truth = self.end_storm(storm)
        told, recorded = set(), []
        for event in self.recorded():
            process = (event.get("pid"), event.get("start_ns"))
            # What lives is told again where a recording begins.
            if event["kind"] == "process_start" and process in told:
                continue
            if event["kind"] == "process_start":
                told.add(process)
            recorded.append(event)
        self.assert_all_once(recorded, truth, "the recordings")
        # No recording lacks what it does not know, and none says so wrongly.
        self.assertNotIn("service_gap", {event["cause"] for event in of_kind(recorded, "loss")}, text_of(self.keeper.log))
        self.assert_all_once(support.parse_lines(text_of(self.events)), truth, "the client")

    def test_an_upgrade_to_other_programs_misses_nothing(self):
        # Another name of a map makes another BPF object, and changes nothing of what its programs do. Its end stays: other
        # texts of the binary may share it.
        other = self.path("tracerd-other")
        with open(TRACERD, "rb") as file:
            code = file.read()
        self.assertIn(b"told_ends", code)
        with open(other, "wb") as file:
            file.write(code.replace(b"told_ends", b"sold_ends"))
        os.chmod(other, 0o755)
        self.keep()
        storm = self.begin_storm()
        for _ in range(10):
            for binary in (other, TRACERD):
                time.sleep(0.7)
                self.keeper.words[0] = binary
                self.restart()
        time.sleep(0.5)
        truth = self.end_storm(storm)
        self.assertEqual(text_of(self.keeper.log).count("with other programs in the kernel"), 20)
        events = support.parse_lines(text_of(self.events))
        self.assert_all_once(events, truth, "the client")
        self.assert_all_once(self.recorded(), truth, "the recordings")
        self.assert_nothing_lost(events)

    def test_tasks_go_on_where_paths_are_hashed(self):
        rules = self.write("engines.toml", """
            schema = 1
            [[rule]]
            name = "lab.job"
            argv = [["sh", "-c", "*", "job-{name}"]]
            begins = "task"
            gives = { task = "{name}" }
        """)
        self.keep(session=f'[session]\nhash_paths = true\nengine_rules = "{rules}"\n')
        job = self.start("sh", "-c", "read line; exit 5", "job-first", stdin=subprocess.PIPE, cwd=self.folder)
        wait_until(lambda: job.pid in {event["pid"] for event in of_kind(self.recorded(), "process_exec")}, "it was recorded")
        self.restart()
        job.communicate("", timeout=support.DEADLINE_SECONDS)
        time.sleep(0.5)
        self.keeper.end(signal.SIGINT)
        events = [event for event in self.recorded() if event.get("pid") == job.pid]
        (exit,) = of_kind(events, "process_exit")
        self.assertEqual({event["context"]["task_key"] for event in of_kind(events, "process_exec")},
                         {exit["context"]["task_key"]}, "its owner is in it before and after")
        self.assertEqual((exit["context"]["task"], exit["exit_code"], exit["argv"]), ("first", 5, ["sh", "-c", "***", "***"]))
        self.assertNotIn(os.path.basename(self.folder), exit["cwd"])

    def test_an_end_leaves_nothing_with_the_manager(self):
        self.keep()
        wait_until(lambda: "tracer.memo" in self.keeper.names(), "all is stored")
        self.assertGreater(len(self.keeper.names()), 50)
        self.keeper.end(signal.SIGINT)
        wait_until(lambda: not self.keeper.names(), "all is dropped")

    def damaged(self, change):
        self.keep()
        wait_until(lambda: "tracer.memo" in self.keeper.names(), "all is stored")
        before = len(self.keeper.names())
        self.keeper.end()
        change()
        self.begin()
        wait_until(lambda: "tracer.memo" in self.keeper.names() and len(self.keeper.names()) == before,
                   f"{before} descriptors, and no other: {len(self.keeper.names())}")
        return text_of(self.keeper.log)

    def test_half_of_the_descriptors_are_a_fresh_start(self):
        log = self.damaged(lambda: self.keeper.release(lambda name: name.endswith("thread_switch")))
        self.assertRegex(log, r"begins anew: .*thread_switch is missing")

    def test_a_damaged_memory_is_a_fresh_start(self):
        def damage():
            for name, fd in self.keeper.held:
                if name == "tracer.spool":
                    os.pwrite(fd, os.urandom(4096), 4096 + 64)

        log = self.damaged(damage)
        self.assertIn("begins anew: the recent events are damaged", log)

    def test_surplus_descriptors_are_dropped(self):
        log = self.damaged(lambda: self.keeper.hold("tracer.surplus", os.open("/dev/null", os.O_RDONLY)))
        self.assertIn("tracer.surplus belongs to nothing", log)
        self.assertIn("goes on with session", log)

    def test_announcements_and_the_session_live_on(self):
        self.keep()
        folder = self.path("task")
        os.mkdir(folder)

        def ask(request):
            import socket
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.socket)
                client.sendall(json.dumps(request).encode() + b"\n")
                return json.loads(client.makefile().readline())

        before = ask({"request": "hello"})["session_id"]
        reply = ask({"request": "announce", "key": {"work_dir": folder},
                     "context": {"run": "r", "step": "align", "task_id": "t1"}})
        self.assertTrue(reply["ok"], reply)
        self.restart()
        self.assertEqual(ask({"request": "hello"})["session_id"], before)
        subprocess.run(["/bin/true"], cwd=folder, check=True)
        ask({"request": "flush"})
        self.keeper.end(signal.SIGINT)
        exits = [event for event in of_kind(self.recorded(), "process_exit")
                 if event["context"] and event["context"].get("task_id") == "t1"]
        self.assertEqual([event["context"]["step"] for event in exits], ["align"])


if __name__ == "__main__":
    support.main()
