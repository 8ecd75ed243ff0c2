# SPDX-License-Identifier: Apache-2.0
"""Sessions: what they follow, what they say of themselves, and their end."""

import asyncio
import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import warnings
from pathlib import Path

import tracer
from support import TempDir, descriptors, needs_tracing, threads, wait_until

PYTHON = sys.executable


def exits(source):
    reader = source.open_reader()
    while events := reader.read(512):
        yield from (event for event in events if event.kind == "process_exit")


@needs_tracing
class Life(TempDir):
    def test_what_this_process_starts_is_followed_and_labeled(self):
        with tracer.session(pipeline="rnaseq", run="r42", sample="S1", step="align", labels={"lane": "3"}) as s:
            child = subprocess.Popen(["sh", "-c", "true; exit 3"])
            self.assertEqual(child.wait(), 3)
        (shell,) = [event for event in exits(s) if event.pid == child.pid]
        self.assertEqual((shell.exit_code, shell.tool, shell.argv), (3, "sh -c", ("sh", "-c", "true; exit 3")))
        context = shell.context
        self.assertEqual((context.pipeline, context.run, context.sample, context.step), ("rnaseq", "r42", "S1", "align"))
        self.assertEqual([(each.name, each.value) for each in context.labels], [("lane", "3")])
        self.assertEqual(shell.provenance.sample, "label")
        self.assertEqual(shell.parent_pid, os.getpid())

    def test_others_are_not_followed(self):
        other = subprocess.Popen(["sh", "-c", "read go; /bin/true"], stdin=subprocess.PIPE)
        with tracer.session(pid=other.pid) as s:
            mine = subprocess.Popen(["true"])
            mine.wait()
            other.communicate(b"\n")
        pids = [event.pid for event in exits(s)]
        self.assertIn(other.pid, pids)
        self.assertNotIn(mine.pid, pids)

    def test_a_process_is_taken_in_with_labels_on_top(self):
        other = subprocess.Popen(["sh", "-c", "read go; /bin/true"], stdin=subprocess.PIPE)
        with tracer.session(pid=os.getpid(), sample="S1", labels={"a": "1"}) as s:
            s.track(other.pid, step="late", labels={"b": "2"})
            other.communicate(b"\n")
        (seen,) = [event for event in exits(s) if event.pid == other.pid]
        self.assertEqual((seen.context.sample, seen.context.step), ("S1", "late"))
        self.assertEqual([(each.name, each.value) for each in seen.context.labels], [("a", "1"), ("b", "2")])

    def test_close_is_idempotent_and_frees_all(self):
        before = threads(), descriptors()
        s = tracer.session()
        self.assertFalse(s.closed)
        self.assertGreater(threads(), before[0])
        s.close()
        s.close()
        self.assertTrue(s.closed and s.finished)
        del s
        self.assertEqual((threads(), descriptors()), before)

    def test_a_closed_session_says_so(self):
        with tracer.session() as s:
            pass
        for use in (
            lambda: s.track(1), lambda: s.events(), lambda: s.batches(), lambda: s.on("loss", print),
            lambda: s.run(["true"]), lambda: s.flush(), lambda: s.fileno(), lambda: s.living, lambda: s.filter,
            lambda: s.announce(pid=1, context={"sample": "S"}), lambda: s.__enter__(),
        ):
            with self.assertRaises(tracer.SessionClosedError) as caught:
                use()
            self.assertEqual(caught.exception.code, "TRC101")
            self.assertTrue(caught.exception.fix)

    def test_figures_remain_when_it_is_closed(self):
        with tracer.session() as s:
            subprocess.run(["true"])
            s.flush()
            self.assertGreaterEqual(s.statistics.events, 3)
        self.assertGreaterEqual(s.statistics.events, 4)
        self.assertEqual(s.statistics.losses, {})
        self.assertEqual(s.statistics.lost, 0)
        self.assertEqual({each.family for each in s.families},
                         {"lifecycle", "waits", "snapshots", "memory", "files", "network", "containers", "disks"})
        self.assertEqual(sum(each.ended for each in s.totals), 1)
        self.assertEqual(s.host.host_name, os.uname().nodename)
        self.assertEqual(s.problems, [])

    def test_living_has_this_process_and_its_children(self):
        child = None
        with tracer.session() as s:
            child = subprocess.Popen(["sleep", "60"])
            try:
                wait_until(lambda: any(each.pid == child.pid and each.tool == "sleep" for each in s.living), "sleep")
                self.assertIn(os.getpid(), [each.pid for each in s.living])
            finally:
                child.kill()
                child.wait()

    def test_an_unclosed_session_warns_and_is_closed(self):
        before = threads()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            s = tracer.session()
            del s
        self.assertEqual([each.category for each in caught], [ResourceWarning])
        self.assertEqual(threads(), before)

    def test_it_is_not_closed_inside_its_callback_and_goes_on(self):
        raised = []

        def close(event):
            try:
                s.close()
            except tracer.CallbackError as error:
                raised.append(error)

        with tracer.session() as s:
            subscription = s.on("process_exit", close)
            subprocess.run(["true"], check=True)
            s.flush()
            subscription.cancel()
            with s.task("after"):
                subprocess.run(["true"], check=True)
        self.assertEqual([error.code for error in raised], ["TRC116"])
        self.assertEqual([event.context and event.context.task for event in exits(s)], [None, "after"])

    def test_canceled_subscriptions_are_let_go_of(self):
        with tracer.session() as s:
            for _ in range(100):
                s.on("process_exit", print).cancel()
            self.assertLess(len(s._subscriptions), 3)

    def test_a_subscription_that_nobody_holds_ends_while_its_callback_runs(self):
        with tracer.session() as s:
            begun = threading.Event()

            def slow(event):
                begun.set()
                time.sleep(0.3)

            subscription = s._core.on("process_exit", False, slow)
            subprocess.run(["true"], check=True)
            self.assertTrue(begun.wait(30))
            del subscription

    def test_a_canceled_wait_loses_no_event(self):
        async def read(stream):
            got = []
            while len(got) < 10:
                waiting = asyncio.ensure_future(stream.__anext__())
                await asyncio.sleep(0)
                if not waiting.done():
                    waiting.cancel()
                try:
                    got.append(await waiting)
                except asyncio.CancelledError:
                    pass
            return got

        with tracer.session() as s:
            stream = s.events(kinds={"process_exit"})
            for _ in range(10):
                subprocess.run(["true"], check=True)
            s.flush()
            self.assertEqual(len({event.pid for event in asyncio.run(read(stream))}), 10)

    def test_several_sessions_at_once(self):
        with tracer.session(sample="A") as a, tracer.session(sample="B") as b:
            subprocess.run(["true"])
        for each, sample in ((a, "A"), (b, "B")):
            (seen,) = exits(each)
            self.assertEqual((seen.tool, seen.context.sample), ("true", sample))

    def test_threads_may_use_it_at_once_and_close_it(self):
        s = tracer.session()
        failures = []

        def use():
            try:
                while True:
                    s.statistics, s.totals, s.families
                    s.living
                    s.flush(1.0)
            except tracer.SessionClosedError:
                pass
            except BaseException as error:
                failures.append(error)

        users = [threading.Thread(target=use) for _ in range(6)]
        for user in users:
            user.start()
        subprocess.run(["true"])
        closers = [threading.Thread(target=s.close) for _ in range(3)]
        for each in closers:
            each.start()
        for each in users + closers:
            each.join()
        self.assertEqual(failures, [])

    def test_an_announcement_names_what_is_below_a_folder(self):
        with tracer.session() as s:
            s.announce(work_dir=self.folder, context={"step": "align", "task": "align (S1)", "task_id": "t1"},
                       requested={"memory_bytes": 1 << 30})
            subprocess.run(["true"], cwd=self.folder)
        (seen,) = exits(s)
        self.assertEqual((seen.context.task, seen.provenance.task), ("align (S1)", "announced"))
        self.assertEqual(s.statistics.announcements_met, 1)


@needs_tracing
class Recordings(TempDir):
    def test_the_recording_asked_for_is_what_tables_read(self):
        path = self.folder / "run.tracer"
        with tracer.session(record=path) as s:
            subprocess.run(["true"])
        recording = tracer.read(path)
        self.assertEqual([event for event in recording if event.kind == "process_exit"], list(exits(s)))
        self.assertFalse(recording.damage)
        self.assertEqual(recording.host, s.host)

    def test_it_is_for_its_owner_only_but_an_older_file_keeps_its_mode(self):
        path, older = self.folder / "run.tracer", self.folder / "older.tracer"
        older.touch()
        older.chmod(0o640)
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        for each, mode in ((path, 0o600), (older, 0o640)):
            with tracer.session(record=each):
                pass
            self.assertEqual(stat.S_IMODE(each.stat().st_mode), mode)

    def test_older_files_are_kept_and_numbered(self):
        path = self.folder / "run.tracer"
        path.write_bytes(b"first")
        for _ in range(2):
            with tracer.session(record=path):
                pass
            self.assertFalse(tracer.read(path).damage)
        kept = [self.folder / f"run.tracer.{number}" for number in (1, 2)]
        self.assertFalse(tracer.read(kept[0]).damage)
        self.assertEqual(kept[1].read_bytes(), b"first")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_the_target_of_a_link_is_replaced(self):
        target, link = self.folder / "target", self.folder / "link"
        target.write_bytes(b"x" * 1_000_000)
        link.symlink_to(target)
        with tracer.session(record=link):
            pass
        self.assertFalse(tracer.read(target).damage)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_follows_its_own_links_only(self):
        target, link = self.folder / "target", self.folder / "link"
        target.write_bytes(b"kept")
        link.symlink_to(target)
        os.lchown(link, 65534, 65534)
        own = self.folder / "own"
        own.symlink_to("link")
        for name in (link, own):
            with self.assertRaises(tracer.RecordingError) as caught:
                tracer.session(record=name)
            self.assertEqual(caught.exception.code, "TRC114")
        self.assertEqual(target.read_bytes(), b"kept")
        os.lchown(link, 0, 0)
        with tracer.session(record=link):
            pass
        self.assertFalse(tracer.read(target).damage)

    def test_what_can_not_begin_leaves_files_as_they_are(self):
        path, new = self.folder / "run.tracer", self.folder / "new.tracer"
        with tracer.session(record=path):
            subprocess.run(["true"])
        before = path.read_bytes()
        for each in (path, new):
            with self.assertRaises(tracer.TracerError):
                tracer.session(record=each, ring_bytes=3)
        self.assertEqual(path.read_bytes(), before)
        self.assertFalse(new.exists())

    def test_a_running_session_can_be_read(self):
        with tracer.session() as s:
            subprocess.run(["true"])
            (seen,) = exits(s)
            self.assertEqual(seen.tool, "true")
            subprocess.run(["false"])
            self.assertEqual([event.tool for event in exits(s)], ["true", "false"])

    def test_the_temporary_file_has_no_name(self):
        with tracer.session():
            spools = [name for name in descriptors() if "tracer-" in name or "(deleted)" in name]
            self.assertTrue(spools)
            for name in spools:
                self.assertFalse(os.path.exists(name), name)

    def test_a_full_disk_is_said_and_what_was_written_is_kept(self):
        # A file system of 256 KiB, seen by this thread's process alone: so in one of its own.
        code = """
            import ctypes, os, subprocess, sys
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.unshare(0x20000) == 0
            # 22: in a chroot, whose mounts who entered it has made private.
            assert libc.mount(b"none", b"/", None, 0x44000, None) == 0 or ctypes.get_errno() == 22
            assert libc.mount(b"full", sys.argv[1].encode(), b"tmpfs", 0, b"size=64k") == 0
            import tracer
            s = tracer.session(record=sys.argv[1] + "/r")
            s.flush()
            with open(sys.argv[1] + "/fill", "wb", buffering=0) as file:
                try:
                    while file.write(b"x" * 4096): pass
                except OSError: pass
            for i in range(60):
                subprocess.run(["sh", "-c", "exit 1", *(os.urandom(900).hex() for _ in range(2))])
            print(s.flush(5))
            print([problem.code for problem in s.problems])
            try:
                s.close()
            except tracer.RecordingError as error:
                print(error.code, error.errno)
            s.close()
            print(bool(tracer.read(sys.argv[1] + "/r").damage))
            import warnings
            warnings.simplefilter("ignore")
            words = ["sh", "-c", "echo done; exit 1", *(os.urandom(900).hex() for _ in range(9))]
            result = tracer.run(words, capture_output=True, record=sys.argv[1] + "/s")
            print(result.returncode, result.stdout, [problem.code for problem in result.problems])
            print(result.report.total.processes, result.usage.processes, len(result.processes.to_dicts()))
            warnings.simplefilter("always")
            with warnings.catch_warnings(record=True) as caught:
                with tracer.session(record=sys.argv[1] + "/s") as s:
                    subprocess.run(words, stdout=subprocess.DEVNULL)
            print([(each.category.__name__, each.filename, "TRC114" in str(each.message)) for each in caught],
                  s.report.total.processes, len(s.processes.to_dicts()) >= 1)
            with warnings.catch_warnings(record=True) as caught:
                tracer.run(words, stdout=subprocess.DEVNULL, record=sys.argv[1] + "/s")
            print([(each.category.__name__, each.filename) for each in caught])
            os.environ["TMPDIR"] = sys.argv[1]
            import tempfile
            tempfile.tempdir = sys.argv[1]
            with warnings.catch_warnings(record=True) as caught:
                with tracer.session() as s:
                    subprocess.run(words, stdout=subprocess.DEVNULL)
            # Nothing is missing, and nobody has asked for a file.
            print(caught, s.report.total.processes, s.report.certificate.complete)
            try:
                with tracer.session(record=sys.argv[1] + "/s") as s:
                    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            except subprocess.CalledProcessError as error:
                print(error.returncode, "TRC114" in error.__notes__[0])
        """
        from support import run_python

        done = run_python(code, str(self.folder))
        self.assertEqual(done.stdout.splitlines(), ["False", "['TRC114']", "TRC114 28", "True", "1 b'done\\n' ['TRC114']", "1 1 1",
            "[('RuntimeWarning', '<string>', True)] 1 True", "[('RuntimeWarning', '<string>')]", "[] 1 True", "1 True"],
                         done.stderr)

    def test_a_pipe_can_be_recorded_to_but_not_read_again(self):
        path = self.folder / "fifo"
        os.mkfifo(path)
        reader = subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE)
        with tracer.session(record=path) as s:
            subprocess.run(["true"])
            with self.assertRaises(tracer.RecordingError) as caught:
                s.open_reader()
            self.assertEqual(caught.exception.code, "TRC110")
        del s
        piped = reader.communicate(timeout=30)[0]
        copy = self.folder / "copy"
        copy.write_bytes(piped)
        self.assertFalse(tracer.read(copy).damage)

    def test_hashes_stand_in_place_of_paths_and_addresses(self):
        clear, hashed, replayed = (self.folder / f"{name}.tracer" for name in ("clear", "hashed", "replayed"))
        place = self.folder / "patient-1234"
        place.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as server:
            code = textwrap.dedent(f"""
                import socket
                open("patient-1234.bam", "w").write("x" * 5000)
                socket.create_connection(("127.0.0.1", {server.getsockname()[1]})).sendall(b"x")
            """)
            for path, options in ((clear, {}), (hashed, {"hash_paths": True})):
                with tracer.session(record=path, **options):
                    subprocess.run([PYTHON, "-S", "-c", code], cwd=place, check=True)
        with tracer.session(source=clear, record=replayed, hash_paths=True) as replay:
            self.assertIn("session_end", [event.kind for event in replay.events(timeout=5)])
        self.assertIn("patient-1234", repr(list(tracer.read(clear))))
        for path in (hashed, replayed):
            shown = list(tracer.read(path))
            for name in ("patient-1234", str(self.folder), "127.0.0.1"):
                self.assertNotIn(name, repr(shown))
            ran = next(event for event in shown if event.kind == "process_exec")
            self.assertEqual(ran.argv[1:], ("***",) * 3)
            for used in (event for event in shown if event.kind == "file_use" and event.created):
                self.assertRegex(used.path, r"^(/[0-9a-f]{12})+\.bam$")
                self.assertEqual(used.path.rpartition("/")[0], ran.cwd)

    def test_a_recording_is_a_source(self):
        path = self.folder / "run.tracer"
        with tracer.session(record=path):
            subprocess.run(["true"])
        with tracer.session(source=path) as replay:
            kinds = [event.kind for event in replay.events(timeout=5)]
        self.assertEqual(replay._core.tier, "recording")
        self.assertEqual(len(list(exits(replay))), 1)
        self.assertIn("session_end", kinds)


@needs_tracing
class Attached(TempDir):
    def test_a_process_and_what_it_starts(self):
        other = subprocess.Popen(["sh", "-c", "read go; /bin/true"], stdin=subprocess.PIPE)
        with tracer.attach(pid=other.pid) as s:
            other.communicate(b"\n")
        seen = list(exits(s))
        self.assertEqual({event.tool for event in seen}, {"sh -c", "true"})
        (shell,) = [event for event in seen if event.pid == other.pid]
        self.assertIsNotNone(shell.attached_ns)

    def test_a_cgroup_a_container_and_a_job(self):
        mount = next((path for path in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup") if
                      os.path.exists(f"{path}/cgroup.procs")), None)
        if mount is None:
            self.skipTest("no cgroups")
        identity = "0123456789abcdef" * 4
        base = Path(mount) / f"tracer-test-{os.getpid()}"
        for folder, follow in (
            (base / "plain", lambda folder: {"cgroup": folder}),
            (base / f"docker-{identity}.scope", lambda folder: {"container": identity[:12]}),
            (base / "job_4711", lambda folder: {"slurm_job": 4711}),
        ):
            with self.subTest(folder=folder.name):
                try:
                    folder.mkdir(parents=True)
                except OSError as error:
                    self.skipTest(f"can't make a cgroup: {error}")
                self.addCleanup(lambda folder=folder: (folder.rmdir(), base.rmdir() if not any(
                    each.is_dir() for each in base.iterdir()) else None))
                with tracer.attach(**follow(folder)) as s:
                    code = "import sys; open(sys.argv[1], 'w').write('0'); import os; os.execvp('true', ['true'])"
                    subprocess.run([PYTHON, "-S", "-c", code, str(folder / "cgroup.procs")], check=True)
                    subprocess.run(["false"])
                self.assertEqual([event.tool for event in exits(s)], ["true"])


if __name__ == "__main__":
    unittest.main()
