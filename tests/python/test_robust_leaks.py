# SPDX-License-Identifier: Apache-2.0
"""What is left after many times: nothing."""

import gc
import subprocess
import sys
import unittest
import weakref

import tracer
from support import TempDir, descriptors, needs_tracing, resident_bytes, threads
from tracer import _core

KIB = 1024


def growth(work, times, warm=3):
    """Bytes of resident memory for each of `times`, when it was done some times before."""
    for _ in range(warm):
        work()
    gc.collect()
    before = resident_bytes()
    for _ in range(times):
        work()
    gc.collect()
    return (resident_bytes() - before) / times


@needs_tracing
class Leaks(TempDir):
    def test_sessions(self):
        def work():
            with tracer.session(sample="S1") as s:
                s.on("process_exit", lambda event: s)
                stream = s.events()
                s.run(["true"])
                s.flush()
                next(stream)
                s.statistics, s.totals, s.families, s.living, s.host, s.problems
                s.open_reader().read(100)

        before = None
        for _ in range(3):
            work()
        gc.collect()
        before = threads(), descriptors()
        self.assertLess(growth(work, 14), 64 * KIB)
        gc.collect()
        self.assertEqual((threads(), descriptors()), before)

    def test_a_session_is_gone_with_its_last_reference(self):
        s = tracer.session()
        s.on("process_exit", lambda event: None)
        stream = s.events()
        here = weakref.ref(s)
        s.close()
        del s, stream
        self.assertIsNone(here())

    def test_runs(self):
        with tracer.session() as s:
            self.assertLess(growth(lambda: s.run(["true"], capture_output=True), 60), 40 * KIB)

    def test_events(self):
        path = self.folder / "r"
        with tracer.session(record=path, sample="S1", labels={"a": "b"}):
            for _ in range(30):
                subprocess.run(["sh", "-c", "exit 1"])
        recording = tracer.read(path)

        def work():
            for event in recording:
                event.as_dict()

        self.assertLess(growth(work, 60), 4 * KIB)

    def test_objects_have_the_references_that_are_seen(self):
        path = self.folder / "r"
        with tracer.session(record=path, sample="S1"):
            subprocess.run(["true"])
        events = list(tracer.read(path))
        for event in events:
            # The list's, the loop's and the argument's.
            self.assertEqual(sys.getrefcount(event), 3)
            for name in event.__slots__:
                value = getattr(event, name)
                if isinstance(value, (tuple, tracer.Context, tracer.Ledger)) and value != ():
                    # Those of the events that share it, this variable's and the argument's.
                    holders = sum(getattr(each, name, None) is value for each in events)
                    self.assertEqual(sys.getrefcount(value), holders + 2, name)
        none_before = sys.getrefcount(None)
        for _ in range(50):
            list(tracer.read(path))
        if sys.version_info < (3, 12):
            self.assertLess(abs(sys.getrefcount(None) - none_before), 50)

    def test_failures(self):
        bad = self.folder / "bad"
        bad.write_bytes(b"no recording")

        def work():
            for use in (
                lambda: tracer.read(bad), lambda: tracer.session(record="/no/such/folder/file"),
                lambda: tracer.session(pid=2**22 + 1), lambda: tracer.session(ring_bytes=3),
                lambda: tracer.session(engine_rules=bad), lambda: _core.Session({"families": ["none"]}),
                lambda: tracer.run(["/no/such"]),
            ):
                with self.assertRaises(tracer.TracerError):
                    use()

        work()
        gc.collect()
        before = threads(), descriptors()
        self.assertLess(growth(work, 8, warm=2), 64 * KIB)
        self.assertEqual((threads(), descriptors()), before)


if __name__ == "__main__":
    unittest.main()
