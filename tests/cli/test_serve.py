# SPDX-License-Identifier: Apache-2.0
"""tracerd serve and tracerd status, with real users at a real socket."""

import collections
import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import support
from support import DEADLINE_SECONDS, TRACERD, of_kind, text_of, wait_until

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
# Any user may execute it, unlike the one that runs the tests.
PYTHON_OF_ALL = "/usr/bin/python3"
ALICE, BOB, SHARED_GROUP = 20011, 20012, 20019
# Says the pids of its children, some of which live for longer.
STORM = """
import os
pids, long = [], []
for count in range(150):
    pid = os.posix_spawn("/bin/sleep", ["sleep", "0.3" if count % 10 == 0 else "0"], {})
    pids.append(pid)
    if count % 10 == 0:
        long.append(pid)
    else:
        os.waitpid(pid, 0)
for pid in long:
    os.waitpid(pid, 0)
print(*pids)
"""


def become(uid):
    """For a child: this user for good, in a group that Alice and Bob share."""
    os.setgroups([SHARED_GROUP])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


class Client:
    """Speaks the protocol as a user does. The connection is made by a process of that user."""

    def __init__(self, path, uid=0):
        ours, theirs = socket.socketpair(socket.AF_UNIX)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                if uid:
                    become(uid)
                made = socket.socket(socket.AF_UNIX)
                made.connect(path)
                socket.send_fds(theirs, [b"x"], [made.fileno()])
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0, "it can't connect"
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        ours.close()
        theirs.close()
        self.socket = socket.socket(fileno=fds[0])
        self.socket.settimeout(DEADLINE_SECONDS)
        self.data = b""

    def close(self):
        self.socket.close()

    def send(self, request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def line(self):
        while b"\n" not in self.data:
            got = self.socket.recv(65536)
            if not got:
                raise EOFError("the service has closed the connection")
            self.data += got
        line, _, self.data = self.data.partition(b"\n")
        return json.loads(line)

    def ask(self, name, **fields):
        self.send({"request": name, **fields})
        return self.line()

    def rest(self, seconds):
        """All that comes in a while, or up to the end."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if left <= 0:
                break
            self.socket.settimeout(left)
            try:
                got = self.socket.recv(1 << 20)
            except TimeoutError:
                break
            if not got:
                break
            self.data += got
        self.socket.settimeout(DEADLINE_SECONDS)
        return self.data


class ServeCase(support.TestCase):
    """With a service of its own."""

    def setUp(self):
        super().setUp()
        self.socket = self.path("t.sock")
        self.service = None

    def serve(self, *options, **more):
        self.service = self.start(TRACERD, "serve", "--socket", self.socket, *options, stderr=subprocess.PIPE, **more)
        wait_until(lambda: self.answers() or self.service.poll() is not None, "the service answers")
        self.assertIsNone(self.service.poll(), "it has ended")
        return self.service

    def answers(self):
        try:
            probe = socket.socket(socket.AF_UNIX)
            probe.connect(self.socket)
            probe.settimeout(1)
            probe.sendall(b'{"request":"hello"}\n')
            return probe.recv(1) != b""
        except OSError:
            return False
        finally:
            probe.close()

    def client(self, uid=0):
        client = Client(self.socket, uid)
        self.addCleanup(client.close)
        return client

    def subscribe(self, uid=0, **fields):
        client = self.client(uid)
        reply = client.ask("subscribe", **fields)
        self.assertTrue(reply["ok"], reply)
        client.reply = reply
        return client

    def events_of(self, client, data=None):
        """The events of a stream so far, as tracerd's own reader has them."""
        path = self.path("stream")
        with open(path, "wb") as file:
            file.write(client.data if data is None else data)
        return self.dump(path)[1:]

    def read_until(self, client, condition, what):
        def look():
            client.rest(0.2)
            events = self.events_of(client)
            return events if condition(events) else None
        return wait_until(look, what)

    def run_as(self, uid, *words, **more):
        """To its end; its pid."""
        process = subprocess.Popen(words, preexec_fn=lambda: become(uid), stdout=subprocess.DEVNULL, **more)
        process.wait(DEADLINE_SECONDS)
        return process.pid

    def folder_of(self, uid, name):
        path = self.path(name)
        os.mkdir(path)
        os.chown(path, uid, uid)
        return path

    def refused(self, reply, code):
        self.assertFalse(reply["ok"], reply)
        self.assertEqual(reply["code"], code, reply)


class Serve(ServeCase):
    def test_each_user_sees_their_own_and_root_sees_all(self):
        self.serve()
        streams = {uid: self.subscribe(uid) for uid in (ALICE, BOB, 0)}
        pids = {uid: self.run_as(uid, "/bin/sh", "-c", f"/bin/true of-{uid}; exec /bin/echo secret-of-{uid}")
                for uid in (ALICE, BOB)}
        root_pid = self.run_as(0, "/bin/echo", "secret-of-root")
        for uid, stream in streams.items():
            mine = root_pid if uid == 0 else pids[uid]
            events = self.read_until(stream, lambda events, mine=mine: any(
                event["pid"] == mine for event in of_kind(events, "process_exit")), "its own exit")
            processes = {event["pid"] for event in events if "pid" in event and event["kind"].startswith("process_")}
            if uid == 0:
                self.assertLessEqual(set(pids.values()), processes)
                continue
            other = BOB if uid == ALICE else ALICE
            self.assertEqual({event["uid"] for event in events if "uid" in event}, {uid})
            text = json.dumps(events)
            self.assertNotIn(f"secret-of-{other}", text)
            self.assertNotIn("secret-of-root", text)
            self.assertNotIn(pids[other], processes)
            ends = {event["pid"]: event for event in of_kind(events, "process_exit")}
            self.assertEqual(ends[mine]["argv"], ["/bin/echo", f"secret-of-{uid}"])
            self.assertEqual(ends[mine]["exit_code"], 0)
            self.assertEqual(len(ends), 2, "of sh and true")
        hello = self.client(ALICE).ask("hello", version=1)
        self.assertEqual((hello["uid"], hello["sees"], hello["version"]), (ALICE, "own", 1))
        self.assertEqual(self.client().ask("hello")["sees"], "all")

    def test_a_history_gives_each_user_their_own(self):
        file = self.path("history.db")
        config = self.path("tracerd.toml")
        with open(config, "w", encoding="utf-8") as text:
            text.write(f'schema = 1\n[history]\nfile = "{file}"\n')
        self.serve("--config", config)
        # Equal names and ids.
        context = {"pipeline": "rnaseq", "run": "r1", "run_id": "7", "step": "ALIGN", "task": "t"}
        clients = {uid: self.client(uid) for uid in (ALICE, BOB, 0)}
        counts = {ALICE: 6, BOB: 2}
        streams = {uid: self.subscribe(uid) for uid in counts}
        for uid, count in counts.items():
            for number in range(count):
                process = self.start("/bin/sleep", "600", preexec_fn=lambda uid=uid: become(uid))
                reply = clients[uid].ask("attach", pid=process.pid, context=context | {"task_id": str(number)})
                self.assertTrue(reply["ok"], reply)
                process.send_signal(signal.SIGKILL if uid == BOB else signal.SIGTERM)
                process.wait()
        for uid, stream in streams.items():
            self.read_until(stream, lambda events, uid=uid: len(of_kind(events, "task_finish")) == counts[uid], "they end")

        def history_of(uid, **fields):
            reply = clients[uid].ask("history", **fields)
            self.assertTrue(reply["ok"], reply)
            return reply["history"]

        for uid, count in counts.items():
            history = history_of(uid)
            kind, = history["kinds"]
            self.assertEqual((kind["pipeline"], kind["step"], kind["owner_uid"], kind["tasks"]),
                             ("rnaseq", "ALIGN", uid, count))
            self.assertEqual({run["owner_uid"] for run in history["runs"]} - {uid}, set())
        self.assertEqual({kind["owner_uid"] for kind in history_of(0)["kinds"]}, {ALICE, BOB})
        self.assertEqual(history_of(ALICE, pipeline="other")["kinds"], [])
        self.assertEqual(len(history_of(ALICE, pipeline="rnaseq", step="ALIGN", input_bytes=5)["kinds"]), 1)
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        self.service.send_signal(signal.SIGTERM)
        self.assertEqual(self.service.wait(DEADLINE_SECONDS), 0)
        # The next one has it, and so has root's own command.
        self.serve("--config", config)
        self.assertEqual(self.client(BOB).ask("history")["history"]["kinds"][0]["tasks"], counts[BOB])
        printed = json.loads(self.tracerd("history", "--json", "--history", file).stdout)
        self.assertEqual({kind["owner_uid"]: kind["tasks"] for kind in printed["kinds"]}, counts)

    def test_a_history_of_before_is_taken_over(self):
        """One of layout 2, in which ALIGN was named and sleep was not: six of each."""
        file = self.path("history.db")
        shutil.copy(os.path.join(DATA, "history", "layout-2.db"), file)

        def rows_of(query):
            with contextlib.closing(sqlite3.connect(file)) as database, database:
                return database.execute(query).fetchall()

        rows_of(f"UPDATE task SET end_time_s = {int(time.time())}")
        config = self.write("tracerd.toml", f'schema = 1\n[history]\nfile = "{file}"\n')
        for count in (1, 2):
            self.serve("--config", config)
            client, stream = self.client(ALICE), self.subscribe(ALICE)
            for step in ({"step": "ALIGN"}, {}):
                process = self.start("/bin/sleep", "1", preexec_fn=lambda: become(ALICE))
                reply = client.ask("attach", pid=process.pid, context={
                    "pipeline": "rnaseq", "run": "r1", "run_id": "7", "task": "t", "task_id": f"{count} {len(step)}", **step})
                self.assertTrue(reply["ok"], reply)
                process.wait()
            self.read_until(stream, lambda events: len(of_kind(events, "task_finish")) == 2, "they end")
            kinds = client.ask("history")["history"]["kinds"]
            self.assertEqual([(kind["step"], kind["tasks"], kind["wall_ns"]["n"]) for kind in kinds],
                             [("ALIGN", 6 + count, 6 + count), ("sleep", 6 + count, 6)])
            self.service.send_signal(signal.SIGTERM)
            self.assertEqual(self.service.wait(DEADLINE_SECONDS), 0)
            self.assertEqual(rows_of("PRAGMA user_version"), [(3,)])
            self.assertEqual(rows_of("SELECT step, script IS NULL, count(*) FROM task JOIN kind ON kind.id = kind_id "
                                     f"WHERE kind.owner = {ALICE} GROUP BY 1, 2"),
                             [("ALIGN", 1, 6 + count), ("sleep", 0, count), ("sleep", 1, 6)])

    def test_without_a_history_nobody_gets_one(self):
        self.serve()
        for uid in (ALICE, 0):
            self.refused(self.client(uid).ask("history"), "TRC101")

    def test_what_is_of_others_is_refused(self):
        self.serve()
        alice = self.client(ALICE)
        context = {"step": "ALIGN", "task": "t", "task_id": "1"}
        bobs = self.folder_of(BOB, "bobs")
        own = self.folder_of(ALICE, "own")
        os.symlink(bobs, self.path("own", "link"))
        victim = self.start("/bin/sleep", "600", preexec_fn=lambda: become(BOB))
        for key in ({"work_dir": bobs}, {"work_dir": bobs + "/below"}, {"work_dir": self.path("own", "link")},
                    {"work_dir": "/tmp/not-there-yet"}, {"work_dir": own + "/../bobs"}, {"pid": victim.pid},
                    {"pid": victim.pid, "start_ns": 1}, {"pid": 1}, {"below": {"pid": victim.pid}, "argv": ["x"]},
                    {"cgroup": "/"}, {"cgroup": "/system.slice"}, {"container": "0123456789ab"}, {"slurm_job": "12"}):
            with self.subTest(key=key):
                self.refused(alice.ask("announce", key=key, context=context), "TRC102")
        # The answer says nothing of what is in a folder that Alice can't look into.
        os.chmod(bobs, 0o700)
        os.mkdir(bobs + "/there")
        os.symlink("there", bobs + "/link")
        answers = {alice.ask("announce", key={"work_dir": f"{bobs}/{name}"}, context=context)["message"].replace(name, "")
                   for name in ("there", "link", "gone", "there/gone", "link/gone")}
        self.assertEqual({answer.replace("/gone", "/") for answer in answers}, {f"{bobs}/ is not yours"})
        self.refused(alice.ask("attach", pid=victim.pid, context=context), "TRC102")
        self.refused(alice.ask("attach", pid=99999999, context=context), "TRC106")
        # Those who connected have ended: no thread is theirs.
        self.refused(alice.ask("label", tid=victim.pid, context=context), "TRC106")
        self.refused(alice.ask("end_label", label=1), "TRC101")
        self.assertTrue(alice.ask("announce", key={"work_dir": own}, context=context)["ok"])
        self.assertTrue(alice.ask("announce", key={"work_dir": own + "/later/on"}, context=context)["ok"])
        # A guess of a process that Alice had: the number alone is not it.
        mine = self.start("/bin/sleep", "600", preexec_fn=lambda: become(ALICE))
        self.refused(alice.ask("announce", key={"pid": mine.pid, "start_ns": 1}, context=context), "TRC106")
        self.assertTrue(alice.ask("announce", key={"pid": mine.pid}, context=context)["ok"])
        self.assertTrue(alice.ask("attach", pid=mine.pid, context=context)["ok"])
        # Bob in Alice's folder is still Bob's, and gets none of her names.
        os.chmod(own, 0o755)
        stream, root = self.subscribe(ALICE), self.subscribe()
        bob_pid = self.run_as(BOB, "/bin/true", cwd=own)
        alice_pid = self.run_as(ALICE, "/bin/true", cwd=own)
        events = self.read_until(root, lambda events: any(
            event["pid"] == alice_pid for event in of_kind(events, "process_exit")), "both have ended")
        ends = {event["pid"]: event for event in of_kind(events, "process_exit")}
        self.assertIsNone((ends[bob_pid]["context"] or {}).get("task"))
        self.assertEqual(ends[alice_pid]["context"]["task"], "t")
        seen = self.read_until(stream, lambda events: of_kind(events, "process_exit"), "Alice sees hers")
        self.assertEqual({event["uid"] for event in seen if "uid" in event}, {ALICE})

    def test_equal_names_and_ids_of_two_users_are_two_runs(self):
        self.serve()
        streams = {uid: self.subscribe(uid) for uid in (ALICE, BOB)}
        for uid in (ALICE, BOB):
            # Bob gives the names, ids and kind that Alice has given.
            context = {"pipeline": "p", "run": "r1", "run_id": "7", "engine": "x", "task": "t", "task_id": "1",
                       "labels": {"of": f"secret-of-{uid}"}}
            process = self.start("/bin/sleep", "600", preexec_fn=lambda uid=uid: become(uid))
            client = self.client(uid)
            self.assertTrue(client.ask("attach", pid=process.pid, context=context)["ok"])
            if uid == ALICE:
                alices = client, process
            else:
                process.kill()
                process.wait()
                self.assertEqual([one["context"]["labels"] for one in client.ask("totals")["totals"]],
                                 [context["labels"]])
        alices[1].kill()
        alices[1].wait()
        keys = {}
        for uid, stream in streams.items():
            events = self.read_until(stream, lambda events: of_kind(events, "task_finish"), "its own task ends")
            other = BOB if uid == ALICE else ALICE
            self.assertNotIn(f"secret-of-{other}", json.dumps(events))
            self.assertEqual(len(of_kind(events, "task_start")), 1)
            finish, = of_kind(events, "task_finish")
            self.assertEqual(finish["processes"], 1)
            keys[uid] = finish["context"]["run_key"], finish["context"]["task_key"]
        self.assertEqual(len({key for each in keys.values() for key in each}), 4)

    def test_a_user_can_not_have_a_program_compared_with_any_number_of_patterns(self):
        self.serve()
        own = self.start("/bin/sleep", "600", preexec_fn=lambda: become(ALICE))
        alice = self.client(ALICE)

        def announce(n):
            return alice.ask("announce", key={"below": {"pid": own.pid}, "argv": [f"x{n}"]}, context={"task": "t"})
        for n in range(256):
            self.assertTrue(announce(n)["ok"])
        self.refused(announce(256), "TRC101")
        self.assertEqual(alice.ask("status")["status"]["users"][0]["announcements"], 256)

    def test_a_label_is_for_the_threads_of_who_connected(self):
        self.serve()
        script = f"""
import json, os, socket, subprocess, sys
os.setgroups([]); os.setresgid({ALICE}, {ALICE}, {ALICE}); os.setresuid({ALICE}, {ALICE}, {ALICE})
s = socket.socket(socket.AF_UNIX); s.connect({self.socket!r}); f = s.makefile("rw")
def ask(**request):
    f.write(json.dumps(request) + "\\n"); f.flush(); return json.loads(f.readline())
label = ask(request="label", tid=os.getpid(), context={{"step": "S", "task_id": "7"}})
subprocess.run(["/bin/true", "labeled"])
ended = ask(request="end_label", label=label["label"])
subprocess.run(["/bin/true", "after"])
work = ask(request="own_work", context={{"step": "S"}}, work={{"begin_ns": 1, "end_ns": 2, "cpu_ns": 1}})
flushed = ask(request="flush")
totals = ask(request="totals")
print(json.dumps([label, ended, work, flushed, totals]))
"""
        stream = self.subscribe(ALICE)
        got = json.loads(subprocess.run([support.PYTHON, "-c", script], stdout=subprocess.PIPE, check=True,
                                        timeout=DEADLINE_SECONDS).stdout)
        for reply in got:
            self.assertTrue(reply["ok"], reply)
        events = self.read_until(stream, lambda events: len(events) >= got[3]["sequence"], "all that was flushed")
        ends = {event["argv"][1]: event for event in of_kind(events, "process_exit") if event["tool"] == "true"}
        self.assertEqual(ends["labeled"]["context"]["step"], "S")
        self.assertIsNone((ends["after"]["context"] or {}).get("step"))
        totals = got[4]["totals"]
        self.assertEqual([(one["context"]["step"], one["ended"]) for one in totals if one["ended"]], [("S", 1)])
        self.assertEqual([one for one in self.client(BOB).ask("totals")["totals"]], [])

    def test_a_flush_is_exact_and_a_late_client_is_told_of_the_living_first(self):
        self.serve()
        living = self.start("/bin/sleep", "600", preexec_fn=lambda: become(ALICE))
        stream = self.subscribe(ALICE)
        control = self.client(ALICE)
        for count in range(1, 6):
            pids = {self.run_as(ALICE, "/bin/true") for _ in range(3)}
            sequence = control.ask("flush")["sequence"]

            def has_all(events, sequence=sequence):
                return stream.reply["sequence"] - 1 + len(events) >= sequence
            events = self.read_until(stream, has_all, f"flush {count}")
            ends = {event["pid"] for event in of_kind(events, "process_exit")}
            self.assertLessEqual(pids, ends)
        late = self.subscribe(ALICE, living_first=True)
        events = self.read_until(late, lambda events: len(events) >= late.reply["living"], "those that live")
        first = events[:late.reply["living"]]
        self.assertEqual({event["kind"] for event in first} - {"process_start", "run_start", "task_start"}, set())
        self.assertIn(living.pid, {event["pid"] for event in first})
        self.assertEqual({event["uid"] for event in first if "uid" in event}, {ALICE})
        snapshot = control.ask("snapshot")["processes"]
        self.assertEqual({sample["pid"] for sample in snapshot}, {living.pid})

    def test_who_connects_again_misses_nothing(self):
        self.serve()
        first = self.subscribe(ALICE)
        control = self.client(ALICE)
        pids = [self.run_as(ALICE, "/bin/true")]
        sequence = control.ask("flush")["sequence"]
        events = self.read_until(first, lambda events: len(events) >= sequence, "all so far")
        first.close()
        pids += [self.run_as(ALICE, "/bin/true") for _ in range(3)]
        again = self.subscribe(ALICE, **{"from": first.reply["sequence"] + len(events)})
        self.assertEqual(again.reply["missed"], 0)
        self.assertEqual(again.reply["sequence"], first.reply["sequence"] + len(events))
        last = control.ask("flush")["sequence"]
        more = self.read_until(again, lambda events: again.reply["sequence"] - 1 + len(events) >= last, "the rest")
        ends = [event["pid"] for event in of_kind(events + more, "process_exit")]
        self.assertEqual(sorted(ends), sorted(pids))
        self.refused(self.client(ALICE).ask("subscribe", **{"from": 1 << 40}), "TRC101")

    def test_nothing_that_a_client_sends_harms_another(self):
        self.serve()
        good = self.subscribe(ALICE)
        for line in (b"\n", b"garbage\n", b"\x00\x01\xff\n", b"[]\n", b'{"request":"nonsense"}\n',
                     b'{"request":"hello","version":2}\n', b'{"request":"hello\\u0000"}\n',
                     b'{"request":"hello","x":' + b"[" * 10000 + b"]" * 10000 + b"}\n"):
            client = self.client(BOB)
            client.socket.sendall(line)
            reply = client.line()
            self.refused(reply, "TRC141" if b"version" in line else "TRC142")
            self.assertTrue(client.ask("hello")["ok"], "the connection lives")
        self.assertEqual(self.client(BOB).ask("hello", version=2)["versions"], [1])

        def flood():
            client = Client(self.socket, BOB)
            piece = b"x" * (1 << 20)
            try:
                for _ in range(100):
                    client.socket.sendall(piece)
            except OSError:
                pass
            finally:
                client.close()
        floods = [threading.Thread(target=flood) for _ in range(4)]
        for thread in floods:
            thread.start()
        # Half a line, and nothing more; descriptors.
        half = self.client(BOB)
        half.socket.sendall(b'{"request":"hel')
        passing = self.client(BOB)
        socket.send_fds(passing.socket, [b'{"request":"hello"}\n'], [0, 1])
        self.refused(passing.line(), "TRC142")
        pid = self.run_as(ALICE, "/bin/true")
        self.read_until(good, lambda events: any(
            event["pid"] == pid for event in of_kind(events, "process_exit")), "the good client sees its own")
        for thread in floods:
            thread.join(DEADLINE_SECONDS)
        half.socket.sendall(b'lo"}\n')
        self.assertTrue(half.line()["ok"])
        with open(f"/proc/{self.service.pid}/status", encoding="utf-8") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        self.assertLess(peak, 400 << 10, "in KiB, with the loader's own")

    def test_too_many_connections_of_a_user_are_refused_and_others_are_not(self):
        # As many as are free: 16 of 64 are root's.
        self.serve(*self.configured("connections = 64"))
        kept = [self.client(BOB) for _ in range(24)]
        self.refused(self.client(BOB).line(), "TRC142")
        self.assertTrue(self.client(ALICE).ask("hello")["ok"])
        # One for Alice's that is there, too.
        for each in (kept.pop(), kept.pop()):
            each.close()
        time.sleep(1)
        self.assertTrue(self.client(BOB).ask("hello")["ok"])

    def test_limits_that_went_are_read_and_named(self):
        gone = ("connections_of_user", "subscriptions_of_user", "labels_of_user", "announcements_of_user", "mib_of_subscription")
        options = self.configured("\n".join(f"{key} = 10" for key in gone) + "\nmib_of_user = 2")
        checked = self.tracerd("serve", "--check", *options)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        for key in gone:
            self.assertIn(f"[limits] {key} is not used any more", checked.stderr)
        self.serve(*options)
        self.assertTrue(self.client(BOB).ask("subscribe")["ok"])

    def configured(self, limits):
        path = self.path("tracerd.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"schema = 1\n[limits]\n{limits}\n")
        return "--config", path

    def run_much(self):
        """Of Alice, with words that nothing can compress."""
        script = ("import os\nfor _ in range(500):\n"
                  "    os.waitpid(os.posix_spawn('/bin/true', ['true', os.urandom(1900).hex()], {}), 0)")
        return self.start(PYTHON_OF_ALL, "-c", script, preexec_fn=lambda: become(ALICE))

    def test_a_client_that_has_lost_something_and_reads_nothing_is_closed(self):
        self.serve(*self.configured("stalled_s = 1"))
        stuck = self.subscribe(ALICE, capacity_bytes=1)
        quick = self.subscribe(ALICE)
        runner = self.run_much()

        def subscriptions():
            quick.rest(0.1)
            users = self.client().ask("status")["status"]["users"]
            return next(user["subscriptions"] for user in users if user["uid"] == ALICE)
        wait_until(lambda: subscriptions() == 1, "the stuck one is closed")
        stuck.rest(DEADLINE_SECONDS)
        self.assertEqual(runner.wait(DEADLINE_SECONDS), 0)
        self.assertEqual(subscriptions(), 1, "the quick one is still there")

    def test_a_client_that_reads_nothing_loses_its_own_oldest_events(self):
        self.serve(*self.configured("stalled_s = 3600"))
        stuck = self.subscribe(ALICE, capacity_bytes=1)
        quick = self.subscribe(ALICE)
        control = self.client(ALICE)
        runner = self.run_much()
        while runner.poll() is None:
            quick.rest(0.1)
        sequence = control.ask("flush")["sequence"]
        events = self.read_until(quick, lambda events: len(events) >= sequence, "the quick one has all")
        self.assertEqual(len(of_kind(events, "process_exit")), 501)
        self.assertEqual(of_kind(events, "loss"), [])
        status = self.client().ask("status")["status"]
        alice = next(user for user in status["users"] if user["uid"] == ALICE)
        self.assertLess(alice["bytes"], 8 << 20)
        lost = self.read_until(stuck, lambda events: sum(event["count"] for event in of_kind(events, "loss")) +
                               sum(event["kind"] != "loss" for event in events) >= sequence, "all is accounted for")
        losses = of_kind(lost, "loss")
        self.assertGreater(alice["dropped_events"], 0)
        self.assertEqual(sum(event["count"] for event in losses), alice["dropped_events"])
        self.assertEqual({event["cause"] for event in losses}, {"queue_full"})
        self.assertEqual(sum(each["count"] for event in losses for each in event["by_kind"]), alice["dropped_events"])

    def test_status_configuration_and_end(self):
        result = self.tracerd("status", "--socket", self.socket)
        self.assert_fails(result, 1, "TRC140")
        config = self.path("tracerd.toml")
        for text, line in (("schema = 1\n[nonsense]\n", 2), ("schema = 1\n[limits]\nconnections = 0\n", 3),
                           ("schema = 1\n[session]\nfamilies = [\"x\"]\n", 3), ("schema = 1\n[socket]\npath = 1\n", 3),
                           ("schema = 1\n[recordings]\nfolder = \"relative\"\n", 3),
                           ("schema = 1\n[history]\nfile = \"relative\"\n", 3),
                           ("schema = 1\n[history]\nfolder = \"/x\"\n", 3),
                           ("= 1\n", 1), ("", 1)):
            with open(config, "w", encoding="utf-8") as file:
                file.write(text)
            result = self.tracerd("serve", "--check", "--config", config)
            self.assert_fails(result, 1, "TRC115")
            self.assertIn(f"{config}:{line}:", result.stderr)
        records = self.path("records")
        os.mkdir(records)
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'schema = 1\n[recordings]\nfolder = "{records}"\nfile_mib = 1\nfiles = 2\n')
        self.assertEqual(self.tracerd("serve", "--check", "--config", config).returncode, 0)
        service = self.serve("--config", config)
        self.assert_fails(self.tracerd("serve", "--socket", self.socket), 1, "TRC107")
        self.assert_fails(self.tracerd("serve", "--socket", self.path("x" * 120)), 1, "TRC101")
        self.assert_fails(self.tracerd("serve", "--socket", "/proc/t.sock"), 1, "TRC114")
        self.assert_fails(self.tracerd("serve", "--socket", self.path("y.sock"), preexec_fn=lambda: become(ALICE)), 1,
                          "TRC102")
        self.assertIn("traces:", self.tracerd("status", "--socket", self.socket).stdout)
        status = json.loads(self.tracerd("status", "--json", "--socket", self.socket).stdout)
        self.assertEqual(status["pid"], service.pid)
        self.assertTrue(status["more"]["recordings"]["file"].startswith(records))
        other = json.loads(self.tracerd("status", "--json", "--socket", self.socket,
                                        preexec_fn=lambda: become(ALICE)).stdout)
        self.assertEqual([user["uid"] for user in other["users"]], [ALICE])
        self.assertNotIn("more", other)
        stream = self.subscribe()
        service.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(os.path.join(records, "host.tracer.1")), "a new recording begins")
        pid = self.run_as(ALICE, "/bin/true")
        service.send_signal(signal.SIGTERM)
        self.assertEqual(service.wait(DEADLINE_SECONDS), 0)
        stream.rest(DEADLINE_SECONDS)
        events = self.events_of(stream)
        self.assertEqual(events[-1]["kind"], "session_end")
        self.assertIn(pid, {event["pid"] for event in of_kind(events, "process_exit")})
        recorded = self.dump(os.path.join(records, "host.tracer"))
        self.assertIn(pid, {event["pid"] for event in of_kind(recorded, "process_exit")})
        # Nobody listens on what is left: it is replaced.
        self.serve()

    def test_every_mistake_that_would_fail_at_the_start_is_found_before(self):
        config = self.path("tracerd.toml")
        lines = ["schema = 1", "[socket]", f'path = "/{"x" * 100}"', f'admin_path = "/{"x" * 100}"', "[session]",
                 f'engine_rules = "{self.path("none.toml")}"', "[recordings]", f'folder = "{self.path("none")}"',
                 "[limits]", "mib_of_user = 0", "[[share]]", 'owner = "nobody-of-this-name"', 'group = "no-such-group"',
                 "[[share]]", 'owner = "root"', 'group = "no-such-group-either"', "[history]",
                 f'file = "{self.path("none")}/history.db"']
        with open(config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        result = self.tracerd("serve", "--check", "--config", config)
        self.assert_fails(result, 1, "TRC115")
        for line in (3, 4, 6, 8, 10, 12, 13, 16, 18):
            self.assertIn(f"{config}:{line}:", result.stderr)
        self.assertIn("must be two sockets", result.stderr)
        # The unit makes this folder.
        for text, code in (('folder = "/var/lib/tracer"', 0), ('folder = "/tmp/\\u0000x"', 1)):
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"schema = 1\n[recordings]\n{text}\n")
            self.assertEqual(self.tracerd("serve", "--check", "--config", config).returncode, code, text)
        missing = self.tracerd("serve", "--check", "--config", self.folder)
        self.assert_fails(missing, 1, "TRC110")
        self.assertIn("Is a directory", missing.stderr)
        if not os.path.exists("/etc/tracer/tracerd.toml"):
            result = self.tracerd("serve", "--check")
            self.assertEqual(result.returncode, 0)
            self.assertIn("there is no /etc/tracer/tracerd.toml", result.stdout)

    def test_where_no_socket_can_be_the_start_says_why_and_changes_nothing(self):
        disk = self.path("disk")
        os.mkdir(disk)
        for socket in ("t.sock", "folder/t.sock"):
            result = subprocess.run(["unshare", "--mount", "sh", "-c",
                                     'mount -t tmpfs -o ro tmpfs "$1" && exec "$2" serve --socket "$1/$3"', "sh", disk, TRACERD,
                                     socket], capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
            self.assert_fails(result, 1, "TRC114")
            self.assertIn("Read-only file system", result.stderr)
        file = self.write("file", "mine\n")
        for socket, why in ((file, "is there, and is no socket"), (disk, "is there, and is no socket"),
                            (f"{file}/t.sock", "Not a directory")):
            result = self.tracerd("serve", "--socket", socket)
            self.assert_fails(result, 1, "TRC114")
            self.assertIn(why, result.stderr)
        self.assertEqual((text_of(file), os.listdir(disk)), ("mine\n", []))

    def test_the_path_of_a_socket_may_be_relative(self):
        service = self.start(TRACERD, "serve", "--socket", "t.sock", stderr=subprocess.PIPE, cwd=self.folder)
        wait_until(lambda: self.answers() or service.poll() is not None, "the service answers")
        self.assertIsNone(service.poll(), "it has ended")

    def records_to(self, folder, more=""):
        config = self.path("tracerd.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'schema = 1\n[recordings]\nfolder = "{folder}"\n{more}')
        return "--config", config

    def recordings(self):
        return self.client().ask("status")["status"]["more"]["recordings"]

    def test_a_filter_selects_what_is_sent(self):
        self.serve()
        shell = self.start("/bin/sh", "-c", "read line; /bin/true in-it; read line; /bin/true later; exit 0", stdin=subprocess.PIPE,
                           preexec_fn=lambda: become(ALICE))
        tree = [{"include": {"tree": shell.pid}}]
        streams = [self.subscribe(ALICE, filter=tree, living_first=True) for _ in range(2)]
        exits = self.subscribe(0, filter=[{"include": {"argument": "of-*"}}], kinds=["process_exit"])
        of_bob = self.subscribe(BOB, filter=tree, living_first=True)
        self.assertEqual([each.reply["living"] for each in (*streams, of_bob)], [1, 1, 0])
        self.run_as(ALICE, "/bin/true", "of-alice")
        self.run_as(BOB, "/bin/true", "of-bob")
        shell.stdin.write("go\n")
        shell.stdin.flush()
        events = self.read_until(streams[0], lambda events: any(
            event["argv"] == ["/bin/true", "in-it"] for event in of_kind(events, "process_exit")), "its child's end")
        self.assertEqual({event["pid"] for event in of_kind(events, "process_start")} & {shell.pid}, {shell.pid})
        self.assertLessEqual({event["parent_pid"] for event in of_kind(events, "process_exit")}, {shell.pid})
        ends = self.read_until(exits, lambda events: len(of_kind(events, "process_exit")) == 2, "both ends")
        self.assertEqual({event["kind"] for event in ends} - {"loss"}, {"process_exit"})
        self.assertEqual({event["argv"][1] for event in of_kind(ends, "process_exit")}, {"of-alice", "of-bob"})
        # Numbers are those of the stream: where it was cut, it goes on.
        asks = self.client(ALICE)
        first = streams[0].reply
        last = asks.ask("flush", stream=first["stream"])["sequence"]
        streams[0].close()
        shell.communicate("go\n")
        again = self.client(ALICE)
        reply = again.ask("subscribe", stream=first["stream"], **{"from": last + 1})
        self.assertEqual((reply["sequence"], reply["missed"], reply["stream"]), (last + 1, 0, first["stream"]))
        events = self.read_until(again, lambda events: any(
            event["pid"] == shell.pid for event in of_kind(events, "process_exit")), "its end")
        self.assertNotIn("of-alice", json.dumps(events))
        for name, more in (("flush", {}), ("subscribe", {"from": 1}), ("attach", {"pid": os.getpid(), "context": {}})):
            self.refused(self.client(BOB).ask(name, stream=first["stream"], **more), "TRC101")
        of_bob.rest(0.2)
        self.assertNotIn(str(shell.pid), json.dumps([event for event in self.events_of(of_bob) if "pid" in event]))
        for wrong, place in (([{"include": {"tree": 0}}], "filter[0].include.tree"), ("x", "filter"),
                             ([{"exclude": {"nonsense": 1}}], "filter[0]"), (65 * tree, "filter")):
            reply = self.client(ALICE).ask("subscribe", filter=wrong)
            self.refused(reply, "TRC142")
            self.assertIn(f'"{place}" is not', reply["message"])
        self.refused(self.client(ALICE).ask("subscribe", filter=tree, **{"from": 1}), "TRC101")

    def test_a_living_process_is_taken_into_a_stream(self):
        self.serve()
        shells = [self.start("/bin/sh", "-c", "read line; /bin/true in-it; exit 0", stdin=subprocess.PIPE,
                             preexec_fn=lambda: become(ALICE)) for _ in range(2)]
        stream = self.subscribe(ALICE, filter=[{"include": {"tree": shells[0].pid}}])
        asks = self.client(ALICE)
        self.assertTrue(asks.ask("attach", pid=shells[1].pid, context={"run": "r"}, stream=stream.reply["stream"])["ok"])
        for shell in shells:
            shell.communicate("go\n")
        events = self.read_until(stream, lambda events: len(of_kind(events, "process_exit")) == 4, "four ends")
        starts = {event["pid"]: event for event in of_kind(events, "process_start")}
        self.assertIsNotNone(starts[shells[1].pid]["attached_ns"])
        runs = {event["pid"]: (event["context"] or {}).get("run") for event in of_kind(events, "process_exit")}
        self.assertEqual((runs[shells[0].pid], runs[shells[1].pid]), (None, "r"))

    def test_a_missing_folder_of_recordings_is_reported_and_looked_for_again(self):
        folder = self.path("later")
        service = self.serve(*self.records_to(folder))
        self.assertIn(f"{folder}/host.tracer", self.recordings()["problem"])
        self.assertNotIn("?", self.tracerd("status", "--socket", self.socket).stdout)
        self.run_as(ALICE, "/bin/true", "unrecorded")
        self.assertTrue(self.client().ask("flush")["ok"])
        os.mkdir(folder)
        service.send_signal(signal.SIGHUP)
        wait_until(lambda: self.recordings()["problem"] is None, "it records")
        self.run_as(ALICE, "/bin/true", "recorded")
        service.send_signal(signal.SIGTERM)
        self.assertEqual(service.wait(DEADLINE_SECONDS), 0)
        events = self.dump(os.path.join(folder, "host.tracer"))[1:]
        # What it lacks is said where it is: before all else.
        self.assertEqual((events[0]["kind"], events[0]["cause"]), ("loss", "unrecorded"))
        self.assertLess(events[0]["first_ns"], events[0]["last_ns"])
        words = {event["argv"][1] for event in of_kind(events, "process_exit") if (event["argv"] or [""])[0] == "/bin/true"}
        self.assertEqual(words, {"recorded"})

    def test_what_a_full_disk_did_not_take_is_a_stated_gap(self):
        folder = self.path("small")
        os.mkdir(folder)
        service = self.start("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=2m none "$0" && '
                             'head -c 2080000 /dev/zero > "$0/filler" && exec "$@"', folder, TRACERD, "serve", "--socket",
                             self.socket, *self.records_to(folder, "file_mib = 1\nfiles = 3\n"), stderr=subprocess.PIPE)
        wait_until(lambda: self.answers() or service.poll() is not None, "the service answers")
        if service.poll() is not None:
            self.skipTest(f"no tmpfs can be mounted: {service.stderr.read()}")
        place = f"/proc/{service.pid}/root{folder}"
        runner = self.run_much()
        wait_until(lambda: "TRC114" in (self.recordings()["problem"] or ""), "the disk is full")
        self.assertEqual(runner.wait(DEADLINE_SECONDS), 0)
        self.assertLess(self.recordings()["free_bytes"], 2 << 20)
        os.unlink(f"{place}/filler")
        service.send_signal(signal.SIGHUP)
        wait_until(lambda: self.recordings()["problem"] is None, "it records again")
        self.run_as(ALICE, "/bin/true", "recorded")
        self.client().ask("flush")
        service.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(f"{place}/host.tracer.2"), "a next one begins")
        events = self.dump(f"{place}/host.tracer.1")[1:]
        self.assertEqual((events[0]["kind"], events[0]["cause"]), ("loss", "unrecorded"))
        self.assertLess(events[0]["first_ns"], events[0]["last_ns"])
        self.assertIn("recorded", [event["argv"][1] for event in of_kind(events, "process_exit") if event["tool"] == "true"])

    def test_a_clock_that_jumped_removes_no_recordings_at_once(self):
        folder = self.path("records")
        os.mkdir(folder)
        service = self.serve(*self.records_to(folder, "files = 20\nmax_age_hours = 1\n"))
        # For the clock, all of them are a year old: five minutes between two.
        year_ago = time.time() - 365 * 24 * 3600
        for number in range(1, 8):
            path = os.path.join(folder, f"host.tracer.{number}")
            with open(path, "w", encoding="utf-8"):
                pass
            os.utime(path, (year_ago - 300 * number, year_ago - 300 * number))
        service.send_signal(signal.SIGHUP)
        wait_until(lambda: self.recordings()["files_there"] >= 9, "a new one begins, and all others stay")

    def older_recordings(self, folder, count, seconds_between, newest=0.0):
        """What stands there before the service does: the newest was written so many seconds ago."""
        now = time.time()
        for number in range(1, count + 1):
            path = os.path.join(folder, f"host.tracer.{number}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(str(number))
            written = now - newest - number * seconds_between
            os.utime(path, (written, written))

    def begin_a_new_recording(self, service):
        before = os.stat(os.path.join(self.path("records"), "host.tracer")).st_ino
        service.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(os.path.join(self.path("records"), "host.tracer")) and
                   os.stat(os.path.join(self.path("records"), "host.tracer")).st_ino != before, "a new one begins")

    def texts_of_recordings(self, folder):
        """Of those of older_recordings() that are left."""
        numbers = [int(name.rpartition(".")[2]) for name in os.listdir(folder) if name != "host.tracer"]
        found = []
        for number in sorted(numbers):
            with open(os.path.join(folder, f"host.tracer.{number}"), "rb") as file:
                text = file.read(9)
            if text.isdigit():
                found.append(int(text))
        return found

    def test_recordings_that_are_too_old_are_removed_and_counted(self):
        folder = self.path("records")
        os.mkdir(folder)
        service = self.serve(*self.records_to(folder, "files = 20\nmax_age_hours = 1\n"))
        # A quarter of an hour each; the fifth one is older than an hour.
        self.older_recordings(folder, 7, 1000)
        self.begin_a_new_recording(service)
        self.assertEqual(self.texts_of_recordings(folder), [1, 2, 3])
        wait_until(lambda: self.recordings()["removed"] == 4, "all that were removed are counted")
        self.assertEqual(self.recordings()["files_there"], 5)
        # A quarter of an hour is no quarter of 0 hours: nothing begins by itself.
        time.sleep(2.5)
        self.assertEqual(self.recordings()["files_there"], 5)
        self.begin_a_new_recording(service)
        self.assertEqual(self.texts_of_recordings(folder), [1, 2, 3])

    def test_a_clock_that_went_back_removes_no_young_recordings(self):
        folder = self.path("records")
        os.mkdir(folder)
        service = self.serve(*self.records_to(folder, "files = 20\nmax_age_hours = 1\n"))
        self.older_recordings(folder, 7, 300, newest=-365 * 24 * 3600)
        self.begin_a_new_recording(service)
        self.assertEqual(self.texts_of_recordings(folder), [1, 2, 3, 4, 5, 6, 7])
        # There and back again between two of them.
        for name in os.listdir(folder):
            if name != "host.tracer":
                os.unlink(os.path.join(folder, name))
        self.older_recordings(folder, 7, 300)
        year = 365 * 24 * 3600
        for number in (3, 4):
            path = os.path.join(folder, f"host.tracer.{number}")
            os.utime(path, (time.time() + year, time.time() + year))
        self.begin_a_new_recording(service)
        self.assertEqual(self.texts_of_recordings(folder), [1, 2, 3, 4, 5, 6, 7])

    def test_recordings_beyond_those_that_are_kept_are_removed(self):
        folder = self.path("records")
        os.mkdir(folder)
        service = self.serve(*self.records_to(folder, "files = 3\n"))
        self.older_recordings(folder, 7, 1)
        self.begin_a_new_recording(service)
        self.assertEqual(self.texts_of_recordings(folder), [1, 2])
        wait_until(lambda: self.recordings()["removed"] == 5, "all that were removed are counted")

    def test_a_new_recording_begins_with_what_lives_and_no_event_is_in_both_or_in_neither(self):
        folder = self.path("records")
        os.mkdir(folder)
        service = self.serve(*self.records_to(folder, "files = 60\n"))
        sleeper = self.start("sleep", "1000", preexec_fn=lambda: become(ALICE))
        pids = []
        for _ in range(8):
            runner = self.start(PYTHON_OF_ALL, "-c", STORM, preexec_fn=lambda: become(ALICE), stdout=subprocess.PIPE)
            time.sleep(0.1)
            self.begin_a_new_recording(service)
            told, _ = runner.communicate(timeout=DEADLINE_SECONDS)
            pids += [runner.pid, *map(int, told.split())]
        service.send_signal(signal.SIGTERM)
        self.assertEqual(service.wait(DEADLINE_SECONDS), 0)
        names = [f"host.tracer.{number}" for number in range(8, 0, -1)] + ["host.tracer"]
        recordings = [self.dump(os.path.join(folder, name))[1:] for name in names]
        everything = sum(recordings, [])
        self.assertEqual([event["cause"] for event in of_kind(everything, "loss")], [])
        ended = collections.Counter(event["pid"] for event in of_kind(everything, "process_exit"))
        self.assertEqual([pid for pid in pids if pid not in ended], [], "lost")

        def process(event):
            return event["pid"], event["start_ns"]
        for kind in ("process_exit", "process_exec"):
            counts = collections.Counter((*process(event), event["time_ns"]) for event in of_kind(everything, kind))
            self.assertEqual([each for each, count in counts.items() if count != 1], [], f"{kind} is there twice")
        living = set()
        for number, events in enumerate(recordings):
            begun = collections.Counter(map(process, of_kind(events, "process_start")))
            self.assertEqual([each for each, count in begun.items() if count != 1], [], names[number])
            # All that lives, and nothing that has ended before.
            self.assertEqual(living - set(begun), set(), names[number])
            gone = set(map(process, of_kind(events, "process_exit")))
            self.assertEqual(gone - set(begun), set(), names[number])
            living = set(begun) - gone
            first_end = next(index for index, event in enumerate(events) if event["kind"] == "process_exit")
            self.assertIn(sleeper.pid, {event["pid"] for event in of_kind(events[:first_end], "process_start")}
                          if number else {sleeper.pid})
        # Both together are one.
        report = json.loads(self.tracerd("report", "--json", *(os.path.join(folder, name) for name in names[1:3])).stdout)
        ends = of_kind(recordings[1] + recordings[2], "process_exit")
        self.assertEqual(report["certificate"]["exits_seen"], len(ends))

    def test_who_answers_does_not_go_ahead_of_others(self):
        service = self.serve()
        self.client(ALICE).ask("snapshot")

        def nice_of(thread):
            with open(f"/proc/{service.pid}/task/{thread}/stat", encoding="utf-8") as file:
                return int(file.read().rpartition(")")[2].split()[16])
        nices = [nice_of(thread) for thread in os.listdir(f"/proc/{service.pid}/task")]
        self.assertIn(-15, nices)
        self.assertIn(0, nices)

    def test_its_cost_is_that_of_all_its_threads(self):
        service = self.serve()
        client = self.client(ALICE)
        for _ in range(200):
            client.ask("snapshot")
        with open(f"/proc/{service.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        said = client.ask("status")["status"]["cost"]["cpu_ns"]
        # In ticks, of which the last one is not whole.
        self.assertGreaterEqual(said, (int(fields[11]) + int(fields[12]) - 2) * 1_000_000_000 // os.sysconf("SC_CLK_TCK"))

    def test_a_manager_hands_sockets_over_and_is_told_when_it_is_ready(self):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self.socket)
        listening.listen(16)
        os.chmod(self.socket, 0o666)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(self.path("notify"))
        notify.settimeout(DEADLINE_SECONDS)
        # Who connects before it is ready is served later.
        early = self.client(ALICE)
        early.send({"request": "hello"})

        environment = os.environ | {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "tracer.socket",
                                    "NOTIFY_SOCKET": self.path("notify"), "WATCHDOG_USEC": "400000"}
        wrapper = f'import os; os.dup2({listening.fileno()}, 3); os.set_inheritable(3, True)\n' \
                  f'os.environ["LISTEN_PID"] = str(os.getpid())\nos.execv({TRACERD!r}, {[TRACERD, "serve"]!r})'
        config = self.path("c.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write('schema = 1\n[socket]\nadmin_path = ""\n')
        wrapper = wrapper.replace("'serve']", f"'serve', '--config', {config!r}]")
        self.service = self.start(support.PYTHON, "-c", wrapper, env=environment, pass_fds=[listening.fileno()])
        told = []
        while not any("READY=1" in text for text in told):
            told.append(notify.recv(4096).decode())
        self.assertEqual(early.line()["uid"], ALICE)
        for _ in range(3):
            while "WATCHDOG=1" not in notify.recv(4096).decode():
                pass
        self.service.send_signal(signal.SIGTERM)
        self.assertEqual(self.service.wait(DEADLINE_SECONDS), 0)

    def test_what_is_left_of_its_rights(self):
        service = self.serve()
        with open(f"/proc/{service.pid}/status", encoding="utf-8") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertNotIn("0", status["Uid"].split())
        # BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH: not even KILL.
        allowed = 1 << 39 | 1 << 38 | 1 << 19 | 1 << 2
        self.assertEqual(int(status["CapEff"], 16) & ~allowed, 0)


if __name__ == "__main__":
    support.main()
