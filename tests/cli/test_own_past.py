# SPDX-License-Identifier: Apache-2.0
"""A service that records by owner: each event is in the recording of one owner, who reads it without a right to its file."""

import collections
import contextlib
import fcntl
import glob
import json
import os
import signal
import socket
import stat
import subprocess
import time

import keeper
import support
from support import DEADLINE_SECONDS, TRACERD, of_kind, text_of, wait_until
from test_serve import ALICE, BOB, SHARED_GROUP, ServeCase, become

EVERYBODYS = ("loss", "snapshot_end", "session_end")
# Of nobody, but of Alice's subordinate user ids.
SUBORDINATE = 2_000_000_000


def identity(event):
    """What tells it from others, also where something of it is masked: of several with one, all are counted."""
    names = ["kind", "time_ns", "pid", "start_ns", "finding_key", "cgroup_id", "state"]
    context = event.get("context") or {}
    keys = [context.get(name) for name in ("run_key", "task_key")] if event["kind"].startswith(("run_", "task_")) else []
    return json.dumps([event.get(name) for name in names] + keys)


class PastCase(ServeCase):
    def configure(self, more="", share=""):
        self.recordings = self.path("recordings")
        os.makedirs(self.recordings, exist_ok=True)
        config = self.path("tracerd.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'schema = 1\n[recordings]\nfolder = "{self.recordings}"\nby_owner = true\n{more}{share}')
        return config

    def serve_past(self, more="", share=""):
        return self.serve("--config", self.configure(more, share))

    def end_service(self):
        self.service.send_signal(signal.SIGINT)
        self.assertEqual(self.service.wait(DEADLINE_SECONDS), 0, text_of_pipe(self.service))

    def files_of(self, uid):
        """The oldest first."""
        return sorted(glob.glob(f"{self.recordings}/{uid}/host.tracer*"), key=lambda path: (len(path), path), reverse=True)

    def owners(self):
        return sorted(int(name) for name in os.listdir(self.recordings))

    def events_in(self, uid):
        return [event for path in self.files_of(uid) for event in self.dump(path)[1:]]

    def environment(self):
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TRACER_SOCKET": self.socket, "TRACER_SOURCE": "service"}

    def ask_as(self, uid, *words):
        """tracerd as this user."""
        return subprocess.run([TRACERD, *words], capture_output=True, text=True, env=self.environment(), cwd="/",
                              preexec_fn=lambda: become(uid) if uid else None, timeout=DEADLINE_SECONDS)

    def run_named(self, uid, run, command, pipeline="rnaseq"):
        """A run of this user with a name, to its end."""
        folder = self.path(f"home-{uid}")
        if not os.path.exists(folder):
            os.mkdir(folder)
            os.chown(folder, uid, uid)
        words = [TRACERD, "run", "--pipeline", pipeline, "--run", run, "--no-history", "--", "/bin/sh", "-c", command]
        result = subprocess.run(words, env=self.environment() | {"HOME": folder}, cwd=folder, preexec_fn=lambda: become(uid),
                                capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        return result

    def runs_of(self, uid):
        result = self.ask_as(uid, "runs", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["runs"]

    def run_listed(self, uid, run, finished=True):
        def look():
            return [each for each in self.runs_of(uid) if each.get("run") == run and each["finished"] >= finished] or None
        return wait_until(look, f"run {run} is listed")[0]

    def passed(self, uid, since=None):
        """The reply to `recordings`, and its descriptors."""
        client = self.client(uid)
        client.send({"request": "recordings", "since": since})
        data, fds = b"", []
        while b"\n" not in data:
            got, more, _, _ = socket.recv_fds(client.socket, 65536, 253)
            self.assertTrue(got)
            data += got
            fds += more
        for fd in fds:
            self.addCleanup(os.close, fd)
        return json.loads(data), fds

    def status(self):
        return self.client().ask("status")["status"]["more"]["recordings"]


def text_of_pipe(process):
    return process.stderr.read() if process.stderr else ""


class OwnPast(PastCase):
    def test_each_event_is_in_the_recording_of_one_owner(self):
        with open("/etc/subuid", "rb") as file:
            subordinate = file.read()
        with contextlib.ExitStack() as restore:
            def put_back():
                with open("/etc/subuid", "wb") as file:
                    file.write(subordinate)
            restore.callback(put_back)
            with open("/etc/subuid", "ab") as file:
                file.write(f"{ALICE}:{SUBORDINATE}:65536\n".encode())
            self.check_union()

    def check_union(self):
        share = f'[[share]]\nowner = "{BOB}"\ngroup = "{SHARED_GROUP}"\n'
        self.serve_past(share=share)
        everything = self.subscribe(0, capacity_bytes=64 << 20)
        secret = "echo secret-of-%s; cat /etc/passwd > /dev/null; sleep 1.2"
        runs = [subprocess.Popen(["/bin/sh", "-c", secret % uid], stdout=subprocess.DEVNULL,
                                 preexec_fn=lambda uid=uid: become(uid) if uid else None)
                for uid in (ALICE, BOB, 0, SUBORDINATE + 7)]
        for process in runs:
            process.wait()
        # Of root, begun by Alice, as by sudo: a process that lives before it changes its user.
        setuid = subprocess.Popen(["setpriv", "--reuid", str(BOB), "--regid", str(BOB), "--clear-groups", "/bin/sh", "-c",
                                   secret % "root-as-bob"], stdout=subprocess.DEVNULL)
        setuid.wait()
        for run in ("a", "b"):
            self.assertEqual(self.run_named(ALICE, run, "sleep 0.2; exit 0").returncode, 0)
        # As many users as Alice has ids are one.
        for number in range(40):
            subprocess.run(["/bin/true"], preexec_fn=lambda number=number: become(SUBORDINATE + 100 + number), check=True)
        time.sleep(1.5)
        self.end_service()
        everything.rest(DEADLINE_SECONDS)
        truth = self.events_of(everything)
        owners = self.owners()
        self.assertTrue({0, ALICE, BOB} <= set(owners), owners)
        self.assertEqual([uid for uid in owners if uid >= SUBORDINATE], [])
        series = {uid: self.events_in(uid) for uid in owners}
        # It began before the client came, and the client was told what lives.
        begin = min(event["time_ns"] for event in of_kind(truth, "snapshot_end"))
        counts = collections.Counter(identity(event) for event in truth
                                     if event["kind"] not in EVERYBODYS and event["time_ns"] > begin)
        union = collections.Counter(identity(event) for events in series.values() for event in events
                                    if event["kind"] not in EVERYBODYS and event["time_ns"] > begin)
        self.assertEqual(list((counts - union).items())[:9], [], "missing")
        self.assertEqual(list((union - counts).items())[:9], [], "twice, or of nobody")
        for uid, events in series.items():
            for kind in ("snapshot_end", "session_end"):
                self.assertTrue(of_kind(events, kind), (uid, kind))
            others = {owner for event in events for owner in [event.get("uid")]
                      if owner is not None and "process" in event["kind"] and owner != uid
                      and not (uid == ALICE and owner >= SUBORDINATE) and not (uid != 0 and owner == 0)}
            # Root's are those of nobody's range, too.
            self.assertEqual(others, set(), uid)
            for other in (ALICE, BOB):
                if uid != other:
                    self.assertNotIn(f"secret-of-{other};", json.dumps(events), uid)
        kinds_of_root = {event["kind"] for event in series[0]}
        for uid in (ALICE, BOB):
            for kind in ("device_sample", "host_sample"):
                self.assertEqual(of_kind(series[uid], kind), [])
        self.assertIn("host_sample", kinds_of_root)
        # What a subordinate id ran is masked, as on the socket.
        self.assertNotIn(f"secret-of-{SUBORDINATE + 7}", json.dumps(series[ALICE]))
        headers = {uid: self.dump(self.files_of(uid)[-1])[0] for uid in owners}
        self.assertEqual(len({header["session_id"] for header in headers.values()}), 1)

    def test_files_are_roots(self):
        self.serve_past()
        self.run_as(ALICE, "/bin/true")
        wait_until(lambda: self.files_of(ALICE), "her recording begins")
        for path, mode in ((f"{self.recordings}/{ALICE}", 0o700), (self.files_of(ALICE)[0], 0o600)):
            status = os.stat(path)
            self.assertEqual((status.st_uid, stat.S_IMODE(status.st_mode)), (0, mode), path)

    def test_a_user_gets_own_files_and_those_that_are_shared(self):
        self.serve_past(share=f'[[share]]\nowner = "{BOB}"\ngroup = "{SHARED_GROUP}"\n')
        for uid in (ALICE, BOB):
            self.run_as(uid, "/bin/true")
        wait_until(lambda: self.files_of(ALICE) and self.files_of(BOB), "both are recorded")
        time.sleep(4)
        for uid, owners in ((ALICE, {ALICE, BOB}), (BOB, {BOB}), (20013, {BOB}), (0, {0, ALICE, BOB})):
            reply, fds = self.passed(uid)
            self.assertTrue(reply["ok"] and reply["by_owner"], reply)
            seen = {file["owner_uid"] for file in reply["files"]}
            self.assertEqual(seen & {0, ALICE, BOB}, owners, uid)
            self.assertEqual(len(fds), len(reply["files"]))
            for file, fd in zip(reply["files"], fds):
                self.assertEqual(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE, os.O_RDONLY)
                self.assertEqual(os.fstat(fd).st_uid, 0)
                self.assertEqual(os.pread(fd, 6, 0), b"TRACER")
                self.assertGreaterEqual(os.fstat(fd).st_size, file["bytes"])
                self.assertEqual(file["number"], 1)
        newest = max(file["written_ns"] for file in reply["files"])
        self.assertEqual(self.passed(ALICE, newest + 3600 * 10**9)[0]["files"], [])

    def test_what_was_passed_can_not_be_written(self):
        self.serve_past()
        self.run_as(ALICE, "/bin/true")
        wait_until(lambda: self.files_of(ALICE), "her recording begins")
        time.sleep(3.5)
        _, fds = self.passed(ALICE)
        pid = os.fork()
        if pid == 0:
            become(ALICE)
            status = 0
            for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY):
                with contextlib.suppress(OSError):
                    os.open(f"/proc/self/fd/{fds[0]}", flags)
                    status = 1
            for change in (lambda: os.fchmod(fds[0], 0o666), lambda: os.ftruncate(fds[0], 0), lambda: os.write(fds[0], b"x")):
                with contextlib.suppress(OSError):
                    change()
                    status = 2
            os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def test_links_and_other_names_are_not_passed(self):
        self.serve_past()
        self.run_as(ALICE, "/bin/true")
        wait_until(lambda: self.files_of(ALICE), "her recording begins")
        time.sleep(3.5)
        folder = f"{self.recordings}/{ALICE}"
        os.symlink("/etc/shadow", f"{folder}/host.tracer.7")
        os.symlink(f"{self.recordings}/0/host.tracer", f"{folder}/host.tracer.8")
        os.mkfifo(f"{folder}/host.tracer.9")
        os.symlink(f"{self.recordings}/0", f"{self.recordings}/{BOB}")
        reply, _ = self.passed(ALICE)
        self.assertEqual(len(reply["files"]), 1, reply)
        self.assertEqual(self.passed(BOB)[0]["files"], [])
        for since in ("../0", -1, {"x": 1}, [], 1.5):
            self.assertFalse(self.client(ALICE).ask("recordings", since=since)["ok"], since)

    def test_more_files_than_one_reply_has(self):
        self.configure("files = 200\n")
        folder = f"{self.recordings}/{ALICE}"
        os.mkdir(folder)
        source = self.path("a.tracer")
        self.trace("/bin/true", options=("--record", source))
        for number in range(1, 151):
            path = f"{folder}/host.tracer.{number}"
            with open(source, "rb") as file, open(path, "wb") as to:
                to.write(file.read())
            os.utime(path, (time.time() - 60 * number,) * 2)
        self.serve("--config", self.path("tracerd.toml"))
        names, since, batches = [], 0, 0
        while True:
            reply, fds = self.passed(ALICE, since)
            names += [os.fstat(fd).st_ino for fd in fds]
            batches += 1
            if not reply["more"]:
                break
            self.assertEqual(len(fds), 32)
            since = reply["next"]
        self.assertEqual(batches, 5)
        self.assertTrue({os.stat(path).st_ino for path in self.files_of(ALICE)} <= set(names))

    def test_one_who_reads_no_replies_holds_few_descriptors(self):
        self.serve_past()
        self.run_as(ALICE, "/bin/true")
        wait_until(lambda: self.files_of(ALICE), "her recording begins")
        time.sleep(3.5)
        client = self.client(ALICE)
        for _ in range(50):
            client.send({"request": "recordings"})
        time.sleep(0.5)
        fds, replies = [], b""
        while replies.count(b"\n") < 50:
            data, more, _, _ = socket.recv_fds(client.socket, 65536, 253)
            replies += data
            fds += more
        for fd in fds:
            os.close(fd)
        self.assertLessEqual(len(fds), 2)
        self.assertIn("TRC142", replies.decode())
        self.assertTrue(client.ask("recordings")["ok"])

    def test_runs_and_the_latest_run(self):
        self.serve_past()
        self.assertEqual(self.run_named(ALICE, "first", "sleep 0.3").returncode, 0)
        self.assertEqual(self.run_named(BOB, "bobs", "sleep 0.1; exit 3").returncode, 3)
        command = (f"{TRACERD} task --step align --sample S1 -- sleep 0.4; "
                   f"{TRACERD} task --step align --sample S2 -- sh -c 'sleep 0.2; exit 4'; true")
        self.assertEqual(self.run_named(ALICE, "second", command).returncode, 0)
        second = self.run_listed(ALICE, "second")
        self.run_listed(BOB, "bobs")
        self.assertEqual([run["run"] for run in self.runs_of(ALICE)], ["second", "first"])
        self.assertEqual([run["run"] for run in self.runs_of(BOB)], ["bobs"])
        self.assertTrue({"first", "second", "bobs"} <= {run.get("run") for run in self.runs_of(0)})
        self.assertEqual(second["pipeline"], "rnaseq")
        self.assertEqual(second["owner_uid"], ALICE)
        self.assertEqual((second["tasks"]["ok"], second["tasks"]["failed"], second["tasks"]["queued"]), (1, 1, 0), second)
        self.assertFalse(second["failed"])
        self.assertTrue(self.runs_of(BOB)[0]["failed"])
        wall = (second["end_unix_ns"] - second["begin_unix_ns"]) / 1e9
        self.assertTrue(0.6 <= wall <= 20, wall)
        self.assertLess(abs(second["begin_unix_ns"] / 1e9 - time.time()), 60)
        self.assertGreater(second["file_bytes"], 0)
        table = self.ask_as(ALICE, "runs").stdout
        for word in ("second", "first", "rnaseq", "findings", "queued"):
            self.assertIn(word, table)
        self.assertNotIn("bobs", table)
        report = self.ask_as(ALICE, "report", "--json")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("rnaseq second", report.stderr)
        tasks = {row["name"]: row for row in json.loads(report.stdout)["tasks"]}
        self.assertTrue(json.loads(report.stdout)["certificate"]["complete"], report.stdout)
        self.assertEqual(len(tasks), 2, tasks)
        self.assertNotIn('"first"', report.stdout)
        why = self.ask_as(ALICE, "why", "S2")
        self.assertEqual(why.returncode, 0, why.stderr)
        self.assertIn("S2", why.stdout)
        self.assertEqual(self.ask_as(ALICE, "why", "bobs").returncode, 1)
        for words in (["why"], ["why", "--json"], ["files"], ["files", "--json"], ["lineage"], ["report"], ["report", "--html"]):
            result = self.ask_as(ALICE, *words)
            self.assertEqual(result.returncode, 0, (words, result.stderr))
            self.assertIn("rnaseq second, the run of", result.stderr)
            self.assertNotIn("cut", result.stderr)

    def test_of_one_who_sees_others_too_the_own_latest_run(self):
        self.serve_past(share=f'[[share]]\nowner = "{BOB}"\ngroup = "{SHARED_GROUP}"\n')
        self.run_named(ALICE, "own", "sleep 0.1")
        self.run_named(BOB, "bobs", "sleep 0.1")
        self.run_listed(ALICE, "own")
        self.run_listed(ALICE, "bobs")
        result = self.ask_as(ALICE, "report")
        self.assertIn("rnaseq own", result.stderr)
        self.assertIn(str(BOB), self.ask_as(ALICE, "runs").stdout)

    def test_a_run_that_is_not_over_and_one_over_several_files(self):
        self.serve_past("seal_s = 1\nfiles = 60\n")
        folder = self.folder_of(ALICE, "home")
        run = self.start(TRACERD, "run", "--pipeline", "p", "--run", "long", "--no-history", "--", "/bin/sh", "-c",
                         "for i in 1 2 3 4 5 6 7 8 9; do sleep 1; /bin/true $i; done",
                         env=self.environment() | {"HOME": folder}, cwd=folder, preexec_fn=lambda: become(ALICE), stderr=subprocess.DEVNULL)
        listed = self.run_listed(ALICE, "long", finished=False)
        self.assertFalse(listed["finished"])
        run.wait(DEADLINE_SECONDS)
        wait_until(lambda: self.run_listed(ALICE, "long")["finished"], "it is over")
        self.assertGreater(len(self.files_of(ALICE)), 3)
        report = json.loads(self.ask_as(ALICE, "report", "--json").stdout)
        self.end_service()
        trues = [event for event in self.past_of(ALICE) if event["kind"] == "process_exit" and event["tool"] == "true"]
        self.assertEqual(len(trues), 9)
        rows = {row["name"]: row for row in report["tools"]}
        self.assertEqual(rows["true"]["processes"], 9)
        self.assertEqual(len([run for run in report["tree"] if run["level"] == "run"]), 1)

    def past_of(self, uid):
        """As one recording."""
        return support.parse_lines(self.tracerd("dump", f"{self.recordings}/{uid}").stdout)[1:]

    def test_who_holds_most_loses_the_oldest(self):
        self.serve_past("file_mib = 1\nfiles = 2\n")
        self.run_as(BOB, "/bin/true")
        wait_until(lambda: self.files_of(BOB), "his recording begins")
        script = "import os\nfor i in range(40000):\n" \
            "  os.waitpid(os.posix_spawn('/bin/true', ['true', os.urandom(200).hex()], {}), 0)"
        alice = self.start("/usr/bin/python3", "-c", script, preexec_fn=lambda: become(ALICE))
        most = 3 << 20

        def used():
            return sum(os.stat(path).st_blocks * 512 for uid in self.owners() for path in self.files_of(uid))
        peak, status = 0, None
        until = time.monotonic() + 4 * DEADLINE_SECONDS
        while alice.poll() is None and time.monotonic() < until:
            time.sleep(0.5)
            peak = max(peak, used())
            status = self.status()
            if any(owner["removed"] >= 2 for owner in status["owners"] if owner["uid"] == ALICE):
                break
        alice.kill()
        alice.wait()
        removed = {owner["uid"]: owner["removed"] for owner in self.status()["owners"]}
        self.assertGreaterEqual(removed[ALICE], 2, status)
        self.assertEqual(removed[BOB], 0)
        self.assertLess(peak, most + (2 << 20))
        time.sleep(5)
        self.assertLessEqual(used(), most + (1 << 19))
        self.assertTrue(self.files_of(BOB))
        dump = self.tracerd("dump", f"{self.recordings}/{ALICE}")
        self.assertIn("recording_missing_part", dump.stdout)

    def test_of_owners_who_are_gone_what_is_too_much_goes(self):
        self.configure("file_mib = 1\nfiles = 1\n")
        for number in (0, 1, 2):
            folder = f"{self.recordings}/{30000 + number}"
            os.mkdir(folder, 0o700)
            with open(folder + "/host.tracer", "wb") as file:
                file.write(os.urandom((1 << 20) + number * 4096))
        self.serve("--config", self.path("tracerd.toml"))
        wait_until(lambda: sum(len(self.files_of(30000 + number)) for number in (0, 1, 2)) < 2, "two are removed")
        self.assertEqual(self.files_of(30002), [])

    def test_without_by_owner_or_a_service_it_says_what_to_do(self):
        result = self.ask_as(ALICE, "runs")
        self.assertEqual(result.returncode, 1)
        self.assertIn("TRC140", result.stderr)
        self.serve()
        for words in (["runs"], ["report"], ["why"], ["why", "S1"], ["files"], ["lineage"]):
            result = self.ask_as(ALICE, *words)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn("by_owner = true", result.stderr, words)
        self.assertEqual(self.client(ALICE).ask("recordings"), {"ok": True, "by_owner": False, "files": [], "more": False})

    def test_no_run_by_now(self):
        self.serve_past()
        self.run_as(ALICE, "/bin/true")
        self.assertEqual(self.runs_of(ALICE), [])
        self.assertIn("no run", self.ask_as(ALICE, "runs").stdout)
        result = self.ask_as(ALICE, "report")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no run of yours", result.stderr)

    def test_an_older_service(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.socket)
        os.chmod(self.socket, 0o666)
        listener.listen()
        child = os.fork()
        if child == 0:
            while True:
                client, _ = listener.accept()
                client.recv(65536)
                client.sendall(b'{"ok":false,"code":"TRC142","message":"there is no request \\"recordings\\""}\n')
        self.addCleanup(lambda: (os.kill(child, signal.SIGKILL), os.waitpid(child, 0)))
        result = self.ask_as(ALICE, "runs")
        self.assertEqual(result.returncode, 1)
        self.assertIn("earlier version", result.stderr)
        listener.close()


class OwnPastRestart(PastCase):
    """With a service manager that keeps its descriptors, or without one."""

    def keep(self, more):
        config = self.configure(more)
        self.keeper = keeper.Keeper([TRACERD, "serve", "--config", config, "--socket", self.socket], self.folder)
        self.addCleanup(self.keeper.close)
        self.begin()

    def begin(self):
        self.keeper.start()
        self.assertTrue(self.keeper.ready.wait(5 * DEADLINE_SECONDS), text_of(self.keeper.log))

    def check_restarts(self, more, number):
        self.keep(more)
        storm = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]):\n" \
            "  pid = os.posix_spawn('/bin/true', ['true'], {})\n  print(pid)\n  os.waitpid(pid, 0)\n  time.sleep(0.02)"
        stops = {uid: os.path.join(self.folder_of(uid, f"h{uid}"), "stop") for uid in (ALICE, BOB)}
        storms = {uid: self.start("/usr/bin/python3", "-c", storm, stop, preexec_fn=lambda uid=uid: become(uid),
                                  stdout=subprocess.PIPE) for uid, stop in stops.items()}
        for _ in range(6):
            time.sleep(1.3)
            self.keeper.end(number)
            self.begin()
        time.sleep(1)
        pids = {}
        for uid, stop in stops.items():
            open(stop, "w", encoding="utf-8").close()
            pids[uid] = [int(word) for word in storms[uid].communicate(timeout=DEADLINE_SECONDS)[0].split()]
        time.sleep(1)
        self.keeper.end(signal.SIGINT)
        for uid in (ALICE, BOB):
            events = self.events_in(uid)
            self.assertGreater(len(pids[uid]), 100)
            for kind in ("process_exec", "process_exit"):
                found = collections.Counter(event["pid"] for event in of_kind(events, kind) if event["uid"] == uid)
                wrong = {pid: found[pid] for pid in pids[uid] if found[pid] != 1}
                self.assertEqual(wrong, {}, f"{kind}\n{text_of(self.keeper.log)}")
            self.assertEqual({event["uid"] for event in of_kind(events, "process_exit")}, {uid})
            self.assertEqual({event["cause"] for event in of_kind(events, "loss")} &
                             {"service_gap", "unrecorded", "recording_missing_part"}, set())
            # All of them are one recording.
            whole = self.tracerd("dump", f"{self.recordings}/{uid}")
            self.assertEqual([line for line in whole.stderr.splitlines() if "missing" in line], [])
            self.assertNotIn("recording_missing_part", whole.stdout)

    def test_killed(self):
        self.check_restarts("files = 200\n", signal.SIGKILL)

    def test_asked_to_end_with_short_files(self):
        self.check_restarts("files = 200\nseal_s = 1\n", signal.SIGTERM)

    def test_without_a_descriptor_store(self):
        self.serve_past("files = 20\n")
        self.run_named(ALICE, "before", "sleep 0.1")
        self.run_listed(ALICE, "before")
        self.end_service()
        self.serve("--config", self.path("tracerd.toml"))
        self.run_named(ALICE, "after", "sleep 0.1")
        self.run_listed(ALICE, "after")
        self.assertEqual([run["run"] for run in self.runs_of(ALICE)], ["after", "before"])
        self.assertIn("rnaseq after", self.ask_as(ALICE, "report").stderr)
        self.assertEqual(len({self.dump(path)[0]["session_id"] for path in self.files_of(ALICE)}), 2)


if __name__ == "__main__":
    support.main()
