# SPDX-License-Identifier: Apache-2.0
"""A service that seals what it records in an outbox, from which others take it: nothing is missing in it, nothing waits for it."""

import collections
import glob
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import time

import support
import test_restart
from support import DEADLINE_SECONDS, TRACERD, of_kind, text_of, wait_until
from test_own_past import PastCase
from test_serve import ALICE, BOB

GROUP = 20777
OF_UNIT = "-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search,+setuid,+setgid"
# Processes with much to say that nobody can compress.
WRITER = """
import base64, os
while True:
    os.waitpid(os.posix_spawn("/bin/true", ["true", base64.b64encode(os.urandom(3000)).decode()], {}), 0)
"""
NAME = re.compile(r"(?P<host>[a-z0-9._-]+)/(?P<boot>[0-9a-f-]{36})/(?P<owner>all|\d+)/(?P<session>[0-9a-f]{16})-(?P<number>\d{8})"
                  r"\.(?P<kind>tracer|gap)")


def paths_in(outbox):
    return sorted(os.path.relpath(path, outbox) for path in glob.glob(f"{outbox}/**", recursive=True) if os.path.isfile(path))


def parts_in(outbox, owner="all", kind="tracer"):
    """The paths of an owner's parts, or gaps, by their numbers."""
    found = {}
    for path in paths_in(outbox):
        name = NAME.fullmatch(path)
        assert name, path
        if (name["owner"], name["kind"]) == (str(owner), kind):
            found[int(name["number"])] = os.path.join(outbox, path)
    return dict(sorted(found.items()))


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


class Outbox(PastCase):
    def configure(self, more="", share=""):
        self.outbox = self.path("recordings", "outbox")
        config = super().configure(f'outbox = "{self.outbox}"\n' + more, share)
        if getattr(self, "of_host", False):
            text = text_of(config).replace("by_owner = true", "by_owner = false")
            self.write("tracerd.toml", text)
        return config

    def end_service(self):
        """What it said."""
        self.service.send_signal(signal.SIGINT)
        _, said = self.service.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(self.service.returncode, 0, said)
        return said

    def serve_host(self, more=""):
        self.of_host = True
        self.serve_past(more)

    def serve_with_group(self, more=""):
        """In mounts of its own, in which the group is there; with the rights that the unit gives."""
        group = self.write("group", text_of("/etc/group") + f"tracer-ship:x:{GROUP}:\n")
        words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"', group, "setpriv", "--inh-caps=-all",
                 f"--bounding-set={OF_UNIT}", TRACERD, "serve", "--socket", self.socket, "--config", self.configure(more)]
        self.service = self.start(*words, stderr=subprocess.PIPE)
        wait_until(lambda: self.answers() or self.service.poll() is not None, "the service answers")

    def new_file(self, count=1):
        """Something happens, and the service is asked for a new file; waits for the part."""
        for _ in range(count):
            before = len(parts_in(self.outbox))
            subprocess.run(["/bin/true"], check=True)
            time.sleep(0.3)
            self.service.send_signal(signal.SIGHUP)
            wait_until(lambda: len(parts_in(self.outbox)) > before, "a part is sealed")

    def test_a_part_has_its_place_and_never_changes(self):
        self.serve_host()
        self.assertEqual(parts_in(self.outbox) if os.path.exists(self.outbox) else {}, {})
        self.new_file(2)
        parts = parts_in(self.outbox)
        self.assertEqual(list(parts), [1, 2])
        before = {path: bytes_of(path) for path in parts.values()}
        for number, path in parts.items():
            header = self.dump(path)[0]
            name = NAME.fullmatch(os.path.relpath(path, self.outbox))
            self.assertEqual((name["boot"], name["session"]), (header["boot_id"], header["session_id"]))
            self.assertEqual(name["host"], re.sub("[^a-z0-9._-]", "-", header["host_name"].lower()))
        # The same file has both names, and takes its room once.
        self.assertTrue(os.path.samefile(parts[1], f"{self.recordings}/host.tracer.2"))
        self.assertEqual(stat.S_IMODE(os.stat(f"{self.recordings}/host.tracer").st_mode), 0o600)
        self.end_service()
        # What was written last is there, too, with its end, and again after the next start.
        parts = parts_in(self.outbox)
        self.assertEqual(list(parts), [1, 2, 3])
        self.assertEqual(self.dump(parts[3])[-1]["kind"], "session_end")
        last = {path: bytes_of(path) for path in parts.values()}
        self.assertEqual({path: last[path] for path in before}, before)
        self.serve_host()
        self.end_service()
        self.assertEqual({path: bytes_of(path) for path in last}, last)
        self.assertEqual(len(paths_in(self.outbox)), 4)
        self.assertEqual(support.TestCase.tracerd(self, "report", self.recordings).returncode, 0)

    def test_what_a_kill_has_left_is_sealed_by_the_next_start(self):
        self.serve_host()
        self.new_file(2)
        self.end_service()
        parts = parts_in(self.outbox)
        before = {path: bytes_of(path) for path in parts.values()}
        # Killed before the part had its mode, before it had its name, and before the hidden one went.
        for number, mode in ((1, 0o600), (2, 0o640), (3, 0o640)):
            hidden = os.path.join(os.path.dirname(parts[number]), "." + os.path.basename(parts[number]))
            os.link(parts[number], hidden)
            if number != 3:
                os.unlink(parts[number])
            os.chmod(hidden, mode)
        self.serve_host()
        self.end_service()
        self.assertEqual({path: bytes_of(path) for path in before}, before)
        self.assertEqual({stat.S_IMODE(os.stat(path).st_mode) for path in before}, {0o640})
        self.assertEqual([path for path in paths_in(self.outbox) if "/." in path], [])

    def test_a_foreign_file_in_the_place_of_a_part_stays_and_is_said(self):
        self.serve_host()
        self.new_file()
        first = parts_in(self.outbox)[1]
        foreign = first.replace("-00000001.", "-00000002.")
        with open(foreign, "w", encoding="utf-8") as file:
            file.write("foreign")
        self.service.send_signal(signal.SIGHUP)
        wait_until(lambda: self.status()["outbox"]["failures"] > 0, "it is counted")
        self.assertIn("File exists", self.status()["outbox"]["problem"])
        self.assertEqual(text_of(foreign), "foreign")
        self.assertEqual(stat.S_IMODE(os.stat(f"{self.recordings}/host.tracer.1").st_mode), 0o600)
        os.unlink(foreign)
        self.service.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(foreign) and os.path.samefile(foreign, f"{self.recordings}/host.tracer.2"), "it is sealed")
        self.end_service()

    def test_modes_and_group(self):
        self.serve_with_group()
        self.run_as(ALICE, "/bin/true")
        wait_until(lambda: self.files_of(ALICE), "her recording begins")
        time.sleep(0.5)
        self.assertNotIn("tracer-ship", self.end_service())
        part = parts_in(self.outbox, ALICE)[1]
        status = os.stat(part)
        self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (0, GROUP, 0o640))
        folder = os.path.dirname(part)
        while len(folder) >= len(self.outbox):
            status = os.stat(folder)
            self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (0, GROUP, 0o2770), folder)
            folder = os.path.dirname(folder)
        # Who has the group, and no other right, takes it.
        taken = subprocess.run(["setpriv", "--reuid", "20888", "--regid", str(GROUP), "--clear-groups", "--inh-caps=-all",
                                "sh", "-c", 'cat "$0" > /dev/null && rm "$0"', os.path.relpath(part, self.outbox)],
                               cwd=self.outbox, capture_output=True, text=True, check=False)
        self.assertEqual(taken.returncode, 0, taken.stderr)

    def test_without_the_group_it_is_roots_and_says_so(self):
        self.serve_host()
        self.new_file()
        part = parts_in(self.outbox)[1]
        self.assertEqual((os.stat(part).st_gid, stat.S_IMODE(os.stat(part).st_mode)), (0, 0o640))
        self.assertIn("there is no group tracer-ship", self.end_service())
        checked = self.tracerd("serve", "--check", "--config", self.path("tracerd.toml"))
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("there is no group tracer-ship", checked.stderr)

    def test_each_owner_has_a_series(self):
        self.serve_past("seal_s = 1\n")
        for _ in range(3):
            for uid in (ALICE, BOB):
                self.run_as(uid, "/bin/true")
            time.sleep(1.5)
        self.end_service()
        session = set()
        for uid in (0, ALICE, BOB):
            parts = parts_in(self.outbox, uid)
            self.assertEqual(list(parts), list(range(1, len(parts) + 1)), uid)
            self.assertGreaterEqual(len(parts), 2, uid)
            session |= {NAME.fullmatch(os.path.relpath(path, self.outbox))["session"] for path in parts.values()}
            if uid:
                owners = {event["uid"] for path in parts.values() for event in of_kind(self.dump(path), "process_exit")}
                self.assertEqual(owners, {uid})
        self.assertEqual(len(session), 1)

    def test_what_has_ended_is_sealed_within_a_minute_and_at_rest_seldom(self):
        self.serve_past()
        self.assertEqual(self.run_named(ALICE, "r1", "true").returncode, 0)
        ended = time.monotonic()
        self.run_as(BOB, "/bin/true")
        until = ended + 62
        while time.monotonic() < until and not parts_in(self.outbox, ALICE):
            time.sleep(0.1)
        took = time.monotonic() - ended
        parts = parts_in(self.outbox, ALICE)
        self.assertEqual(list(parts), [1])
        self.assertLessEqual(took, 60)
        self.assertTrue(of_kind(self.dump(parts[1]), "run_finish"))
        # Of Bob, nothing ended that anybody waits for.
        self.assertEqual(parts_in(self.outbox, BOB), {})

    def test_a_full_part_is_sealed_at_once_and_whole(self):
        self.serve_host("file_mib = 1\nseal_s = 3600\n")
        writer = self.start(support.PYTHON, "-c", WRITER)
        wait_until(lambda: len(parts_in(self.outbox)) >= 3, "files are full")
        writer.kill()
        first = {path: bytes_of(path) for path in parts_in(self.outbox).values()}
        self.end_service()
        parts = parts_in(self.outbox)
        self.assertEqual(list(parts), list(range(1, len(parts) + 1)))
        self.assertEqual({path: bytes_of(path) for path in first}, first)
        told = self.tracerd("report", *parts.values())
        self.assertEqual((told.returncode, re.findall("missing|damaged|cut", told.stderr)), (0, []), told.stderr)

    def test_a_full_outbox_loses_the_oldest_and_says_so(self):
        self.serve_host("file_mib = 1\noutbox_mib = 3\nseal_s = 3600\n")
        writer = self.start(support.PYTHON, "-c", WRITER)
        wait_until(lambda: (max(parts_in(self.outbox, kind="gap") or [0])) >= 3, "parts have gone")
        writer.kill()
        writer.wait()
        time.sleep(1)
        status = self.status()["outbox"]
        parts, gaps = parts_in(self.outbox), parts_in(self.outbox, kind="gap")
        self.assertEqual(len(gaps), 1)
        (last, path), = gaps.items()
        gap = json.loads(text_of(path))
        header = self.dump(next(iter(parts.values())))[0]
        self.assertEqual(list(parts), list(range(last + 1, last + 1 + len(parts))))
        self.assertEqual((gap["schema"], gap["first"], gap["last"], gap["cause"], gap["owner_uid"]), (1, 1, last, "outbox_full", None))
        self.assertEqual((gap["session_id"], gap["host"], gap["boot_id"]),
                         (header["session_id"], header["host_name"], header["boot_id"]))
        began = os.stat(self.path("tracerd.toml")).st_mtime_ns
        self.assertLess(abs(gap["first_unix_ns"] - began), 20e9)
        self.assertTrue(gap["first_unix_ns"] < gap["last_unix_ns"] <= os.stat(parts[last + 1]).st_mtime_ns)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)
        sizes = [os.stat(part).st_size for part in parts.values()]
        self.assertLessEqual(sum(sizes), 3 << 20)
        self.assertEqual((status["parts"], status["bytes"], status["gaps"], status["removed"], status["failures"], status["problem"]),
                         (len(parts), sum(sizes), 1, last, 0, None))
        self.assertEqual((status["folder"], status["most_bytes"]), (self.outbox, 3 << 20))
        self.assertLess(status["oldest_s"], 60)
        told = self.ask_as(0, "status")
        self.assertRegex(told.stdout, rf"outbox {re.escape(self.outbox)}: .* in {len(parts)} parts, the oldest of \d+ s ago; 1 gap; "
                         rf"{last} parts? removed, as it was full\n")
        # What the recording itself keeps is another matter.
        self.assertEqual(self.status()["failures"], 0)

    def test_what_others_take_away_makes_room(self):
        self.serve_host("file_mib = 1\noutbox_mib = 3\nseal_s = 3600\n")
        writer = self.start(support.PYTHON, "-c", WRITER)
        taken = set()
        until = time.monotonic() + DEADLINE_SECONDS
        while len(taken) < 8 and time.monotonic() < until:
            for path in parts_in(self.outbox).values():
                os.rename(path, self.path(os.path.basename(path)))
                taken.add(os.path.basename(path))
            time.sleep(0.05)
        writer.kill()
        self.assertEqual(parts_in(self.outbox, kind="gap"), {})
        self.assertEqual(sorted(int(name[17:25]) for name in taken), list(range(1, len(taken) + 1)))

    def test_an_outbox_that_fails_stops_no_recording_and_lacks_nothing_later(self):
        self.serve_host()
        with open(self.outbox, "w", encoding="utf-8"):
            pass  # A file in its place.
        for _ in range(2):
            subprocess.run(["/bin/true"], check=True)
            time.sleep(0.3)
            self.service.send_signal(signal.SIGHUP)
            time.sleep(1.5)
        status = self.status()
        self.assertEqual((status["problem"], status["failures"], status["files_there"]), (None, 0, 3))
        self.assertGreaterEqual(status["outbox"]["failures"], 2)
        self.assertIn("TRC114", status["outbox"]["problem"])
        self.assertRegex(self.ask_as(0, "status").stdout, "failed 2 times\nit takes nothing now: .*TRC114")
        os.unlink(self.outbox)
        self.new_file()
        wait_until(lambda: list(parts_in(self.outbox)) == [1, 2, 3], "all are sealed")
        wait_until(lambda: self.status()["outbox"]["problem"] is None, "it has no problem")
        self.assertEqual(self.end_service().count("can't be sealed"), 1)

    def test_what_could_not_be_sealed_and_is_gone_is_a_gap(self):
        self.serve_host("files = 1\n")
        with open(self.outbox, "w", encoding="utf-8"):
            pass
        for _ in range(3):
            subprocess.run(["/bin/true"], check=True)
            time.sleep(0.3)
            self.service.send_signal(signal.SIGHUP)
            time.sleep(1.5)
        self.assertEqual((self.status()["removed"], paths_in(self.recordings)), (2, ["host.tracer", "host.tracer.1", "outbox"]))
        os.unlink(self.outbox)
        self.new_file()
        wait_until(lambda: list(parts_in(self.outbox)) == [3, 4], "all that is there is sealed")
        wait_until(lambda: list(parts_in(self.outbox, kind="gap")) == [2], "what is not there is a gap")
        gap = json.loads(text_of(parts_in(self.outbox, kind="gap")[2]))
        self.assertEqual((gap["first"], gap["last"], gap["cause"]), (1, 2, "not_sealed"))

    def test_links_are_not_followed(self):
        elsewhere = self.path("elsewhere")
        os.mkdir(elsewhere)
        self.serve_host()
        self.new_file()
        host = os.path.join(self.outbox, os.listdir(self.outbox)[0])
        shutil.rmtree(host)
        os.symlink(elsewhere, host)
        subprocess.run(["/bin/true"], check=True)
        time.sleep(0.3)
        self.service.send_signal(signal.SIGHUP)
        wait_until(lambda: self.status()["outbox"]["failures"], "it is refused")
        self.assertEqual(os.listdir(elsewhere), [])

    def test_wrong_configurations(self):
        os.makedirs(self.path("recordings"), exist_ok=True)
        folder = f'folder = "{self.path("recordings")}"\n'
        for text, message in ((folder + 'outbox = "x"', "absolute path"),
                              (f'outbox = "{self.path("recordings/outbox")}"', 'set "folder", too'),
                              (folder + f'outbox = "{self.path("recordings")}/"', "another folder"),
                              (folder + f'outbox = "{self.path("none/outbox")}"', "is not there"),
                              (folder + 'outbox = "/dev/shm/outbox"', "another file system"),
                              (folder + f'outbox = "{self.path("recordings/outbox")}"\noutbox_mib = 0', "from 1 to")):
            config = self.write("wrong.toml", f"schema = 1\n[recordings]\n{text}\n")
            self.assert_fails(self.tracerd("serve", "--check", "--config", config), 1, "TRC115")
            self.assertIn(message, self.tracerd("serve", "--check", "--config", config).stderr, text)
        config = self.write("elsewhere.toml", f'schema = 1\n[recordings]\n{folder}outbox = "/dev/shm/outbox"\n')
        result = self.tracerd("serve", "--config", config, "--socket", self.socket)
        self.assert_fails(result, 1, "TRC114")
        self.assertIn(f"{self.path('recordings')}/outbox", result.stderr)
        self.assertFalse(os.path.exists("/dev/shm/outbox"))


class Kills(test_restart.Restart):
    def test_kills_leave_no_hole_and_nothing_twice(self):
        self.outbox = self.path("recordings", "outbox")
        self.keep(files=f'files = 600\nseal_s = 1\noutbox = "{self.outbox}"\n')
        storm = self.begin_storm()
        chance = random.Random(47)
        for round_ in range(10):
            time.sleep(chance.uniform(0.2, 2.5))
            self.restart((signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)[round_ % 4])
        time.sleep(0.5)
        truth = self.end_storm(storm)
        parts = parts_in(self.outbox)
        self.assertEqual(list(parts), list(range(1, len(parts) + 1)), "no number is missing")
        self.assertGreater(len(parts), 10)
        self.assertEqual(len(paths_in(self.outbox)), len(parts), "one session, no gap")
        joined = self.tracerd("dump", *parts.values())
        self.assertEqual(joined.returncode, 0, joined.stderr)
        told, events = set(), []
        for event in support.parse_lines(joined.stdout):
            if event["kind"] == "process_start" and (event["pid"], event["start_ns"]) in told:
                continue
            if event["kind"] == "process_start":
                told.add((event["pid"], event["start_ns"]))
            events.append(event)
        exits = self.assert_all_once(events, truth, "the outbox")
        self.assertEqual(len(exits), len(truth))
        self.assertEqual(collections.Counter(event["cause"] for event in of_kind(events, "loss"))["recording_missing_part"], 0)
        self.assertGreater(len(truth), 300)


# Those of the other file are not run again.
for _name in [name for name in dir(test_restart.Restart) if name.startswith("test_")]:
    setattr(Kills, _name, None)

if __name__ == "__main__":
    support.main()
