# SPDX-License-Identifier: Apache-2.0
"""Recordings that are none, cut, damaged or hostile: read as far as they go, and what is missing is said."""

import os
import random
import subprocess
import threading
import unittest

import tracer
from support import TempDir, descriptors, needs_tracing, resident_bytes, run_python
from tracer import _core

MIB = 1 << 20


@needs_tracing
class Recordings(TempDir):
    @classmethod
    def setUpClass(cls):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r")
            with tracer.session(record=path, sample="S1") as s:
                for _ in range(12):
                    subprocess.run(["sh", "-c", "/bin/true"])
                    s.flush()
            with open(path, "rb") as file:
                cls.whole = file.read()
            cls.events = list(tracer.read(path))

    def written(self, data):
        path = self.folder / "bad"
        path.write_bytes(data)
        return path

    def test_what_is_none(self):
        for data, code in ((b"", "TRC111"), (b"\0" * 4096, "TRC111"), (b"kind,pid\n", "TRC111"),
                           (self.whole[:12], None), (b"\x7fELF" + self.whole[4:], "TRC111")):
            with self.subTest(data=data[:8]), self.assertRaises(tracer.RecordingError) as caught:
                tracer.read(self.written(data))
            with self.subTest(data=data[:8]):
                self.assertTrue(caught.exception.fix)
                self.assertIn(caught.exception.code, [code] if code else ["TRC111", "TRC113"])
        for path in (self.folder, self.folder / "none", "/proc/self/mem"):
            with self.subTest(path=path), self.assertRaises(tracer.RecordingError) as caught:
                tracer.read(path)
        with self.assertRaises(tracer.InvalidArgumentError):
            tracer.read(3.5)
        for path in ("a\0b", ""):
            with self.assertRaises(tracer.RecordingError):
                tracer.read(path)

    def test_descriptors_that_are_open(self):
        path = self.written(self.whole)
        with open(path, "rb") as file, open(path, "rb") as other, open("/dev/null", "rb") as nothing:
            recording = tracer.read(file.fileno())
            both = tracer.read([file.fileno(), other.fileno()])
            for wrong in (nothing.fileno(), 12345, -1):
                with self.assertRaises(tracer.RecordingError):
                    tracer.read(wrong)
            with self.assertRaises(tracer.InvalidArgumentError):
                tracer.read([file.fileno(), path])
            self.assertEqual(file.tell(), 0)
        for _ in range(2):
            self.assertEqual(list(recording), self.events)
            self.assertEqual(list(both), self.events)
        self.assertEqual(recording.report.total.processes, 24)

    def test_it_stays_the_same_file_whichever_folder_is_the_current_one(self):
        other = self.folder / "other"
        other.mkdir()
        (other / "bad").write_bytes(b"another recording, or none")
        self.written(self.whole)
        (self.folder / "link").symlink_to(other)
        (self.folder / "deep").mkdir()
        self.addCleanup(os.chdir, os.getcwd())
        for path in ("bad", b"bad", "./bad", "deep/../bad"):
            os.chdir(self.folder)
            recording = tracer.read(path)
            os.chdir(other)
            self.assertEqual(recording.path, path)
            self.assertEqual(list(recording), self.events)
            self.assertEqual(recording.processes.to_dicts(), tracer.read(self.folder / "bad").processes.to_dicts())
            self.assertEqual(recording.report.total.processes, 24)
            self.assertFalse(recording.damage)
        # What .. means behind a link is the kernel's to say.
        os.chdir(self.folder)
        recording = tracer.read("link/../bad")
        os.chdir("/")
        self.assertEqual(list(recording), self.events)

    def test_the_current_folder_is_gone(self):
        done = run_python("""
            import os, sys, tracer
            os.mkdir(sys.argv[1])
            os.chdir(sys.argv[1])
            os.rmdir(sys.argv[1])
            try:
                tracer.read("r")
            except tracer.RecordingError as error:
                print(error.code, bool(error.fix))
        """, str(self.folder / "gone"))
        self.assertEqual((done.stdout, done.stderr), ("TRC110 True\n", ""))

    def test_what_is_cut_gives_what_is_there(self):
        chance = random.Random(4711)
        for length in sorted(chance.sample(range(64, len(self.whole) - 1), 40)):
            with self.subTest(length=length):
                try:
                    recording = tracer.read(self.written(self.whole[:length]))
                except tracer.RecordingError as error:
                    self.assertIn(error.code, ("TRC111", "TRC113"))
                    continue
                events = list(recording)
                self.assertEqual(events, self.events[:len(events)])
                self.assertTrue(recording.damage and recording.damage.truncated)

    def test_what_is_damaged_is_skipped_and_said(self):
        chance = random.Random(4711)
        for _ in range(60):
            data = bytearray(self.whole)
            for _ in range(chance.randint(1, 30)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            try:
                recording = tracer.read(self.written(bytes(data)))
            except tracer.RecordingError as error:
                self.assertIn(error.code, ("TRC111", "TRC112", "TRC113", "TRC117"))
                continue
            events = list(recording)
            self.assertLessEqual(len(events), len(self.events))
            if len(events) < len(self.events):
                self.assertTrue(recording.damage)

    def test_a_bomb_does_not_take_memory(self):
        # A frame that says it is huge; and one that is tiny and unpacks to much.
        before = resident_bytes()
        for size in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f"):
            for at in range(0, min(len(self.whole), 600) - 4, 7):
                data = self.whole[:at] + size + self.whole[at + 4:]
                try:
                    list(tracer.read(self.written(data)))
                except tracer.RecordingError:
                    continue
        self.assertLess(resident_bytes() - before, 64 * MIB)

    def test_one_that_never_ends(self):
        path = self.folder / "fifo"
        os.mkfifo(path)

        def feed():
            try:
                with open(path, "wb") as pipe:
                    pipe.write(self.whole[:len(self.whole) // 2])
                    wait.wait(30)
            except BrokenPipeError:
                pass

        wait = threading.Event()
        feeder = threading.Thread(target=feed)
        feeder.start()
        reader = _core.RecordingReader([path])
        seen = []
        taker = threading.Thread(target=lambda: seen.append(len(reader.read(100_000))))
        taker.start()
        # The interpreter runs on while it waits.
        self.assertEqual(sum(range(10)), 45)
        wait.set()
        taker.join(30)
        feeder.join(30)
        self.assertTrue(seen and seen[0] > 0)

    def test_ctrl_c_while_one_is_read(self):
        # A pipe that gives nothing more: the signal ends the read of the first event that did come.
        path = self.written(self.whole)
        done = run_python("""
            import os, signal, sys, threading, tracer
            signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                while True:
                    for event in tracer.read(sys.argv[1]): pass
            except KeyboardInterrupt:
                print("interrupted")
        """, str(path))
        self.assertEqual((done.stdout, done.stderr), ("interrupted\n", ""))

    def test_names_that_are_no_utf8_come_back(self):
        path = self.folder / "r"
        with tracer.session(record=path):
            subprocess.run(["echo", b"\xff\xc3\x28", "\x1b[31m", "<script>"], stdout=subprocess.DEVNULL)
        (seen,) = [event for event in tracer.read(path) if event.kind == "process_exit"]
        self.assertEqual([os.fsencode(word) for word in seen.argv], [b"echo", b"\xff\xc3\x28", b"\x1b[31m", b"<script>"])

    def test_a_file_that_is_replaced_or_removed_meanwhile(self):
        path = self.written(self.whole)
        recording = tracer.read(path)
        events = iter(recording)
        next(events)
        path.unlink()
        self.assertEqual(len(list(events)), len(self.events) - 1)
        with self.assertRaises(tracer.RecordingError) as caught:
            list(recording)
        self.assertEqual(caught.exception.code, "TRC110")

    def test_select(self):
        recording = tracer.read(self.written(self.whole))
        exits = list(recording.select({"process_exit"}))
        self.assertEqual(exits, [event for event in self.events if event.kind == "process_exit"])
        self.assertEqual(len(exits), 24)
        with self.assertRaises(tracer.InvalidArgumentError):
            recording.select({"nothing"})

    def test_nothing_stays_open(self):
        recording = tracer.read(self.written(self.whole))
        before = descriptors()
        for _ in range(20):
            next(iter(recording))
            recording.damage
        self.assertEqual(descriptors(), before)

    def test_threads_share_a_reader(self):
        path = self.written(self.whole)
        reader = _core.RecordingReader([path])
        seen = []
        workers = [threading.Thread(target=lambda: seen.extend(iter_reader(reader))) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(sorted(map(hash, seen)), sorted(map(hash, self.events)))


def iter_reader(reader):
    while events := reader.read(3):
        yield from events


if __name__ == "__main__":
    unittest.main()
