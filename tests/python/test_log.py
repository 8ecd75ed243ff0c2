# SPDX-License-Identifier: Apache-2.0
"""Lines of what happened: of recordings and sessions."""

import os
import re
import subprocess
import unittest

import tracer
from recordings import TRACERD, TestCase
from support import TempDir, needs_tracing

RECORDING = os.path.join(os.path.dirname(__file__), "../data/recordings/retries.tracer")


class OfARecording(TestCase):
    def test_the_lines_are_those_of_tracerd(self):
        environment = os.environ | {"LC_ALL": "C.UTF-8"}
        for words in ((), ("S1",), ("never (S2)",)):
            printed = subprocess.run([TRACERD, "log", RECORDING, *words], capture_output=True, check=True, text=True, env=environment)
            lines = list(tracer.read(RECORDING).log(*words))
            self.assertEqual(lines, printed.stdout.splitlines())
            self.assertGreater(len(lines), 5)

    def test_what_is_not_there_and_what_can_not_be_asked(self):
        recording = tracer.read(RECORDING)
        self.assertEqual(list(recording.log("of nobody")), [])
        for wrong in (1, None, b"S1"):
            with self.assertRaises((tracer.InvalidArgumentError, TypeError)):
                recording.log(wrong)

    def test_one_iteration_does_not_disturb_another(self):
        recording = tracer.read(RECORDING)
        first, second = recording.log(), recording.log()
        self.assertEqual([next(first), *second][1:], [next(recording.log()), *first])


@needs_tracing
class OfASession(TempDir):
    def test_what_it_has_seen(self):
        with tracer.session(run="r1") as s:
            with s.task("align", sample="S1"):
                subprocess.run(["sh", "-c", "exit 3"], check=False)
            s.flush()
            so_far = list(s.log("S1"))
            subprocess.run(["sh", "-c", "kill -9 $$"], check=False)
            s.flush()
            text = "\n".join(s.log())
        self.assertTrue(any(re.search(r"align.* ended    sh -c \(pid \d+\): exit 3, took ", line) for line in so_far), so_far)
        self.assertFalse(any("SIGKILL" in line for line in so_far), so_far)
        self.assertRegex(text, r"ended    sh -c \(pid \d+\): SIGKILL")
        self.assertLess(text.index("exit 3"), text.index("SIGKILL"))
        closed = list(s.log())
        self.assertGreaterEqual(len(closed), len(text.splitlines()))


if __name__ == "__main__":
    unittest.main()
