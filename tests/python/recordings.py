# SPDX-License-Identifier: Apache-2.0
"""Recordings for tests: made up, or of real programs."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

TRACERD = os.path.abspath(os.environ.get("TRACERD", "build/dev/tracerd"))
MAKE_RECORDING = os.environ.get(
    "TRACER_MAKE_RECORDING", os.path.join(os.path.dirname(TRACERD), "tests", "python", "make_recording"))
PRINT_REPORT = os.environ.get("TRACER_PRINT_REPORT", os.path.join(os.path.dirname(TRACERD), "tests", "c", "print_report"))
# A guard against hanging, never a measure.
DEADLINE_SECONDS = 120


def why_no_tracing():
    """None where tracerd works here."""
    if os.geteuid() != 0:
        return "tracing needs root"
    check = subprocess.run([TRACERD, "check"], stdout=subprocess.PIPE, text=True, check=False, timeout=DEADLINE_SECONDS)
    return None if check.returncode == 0 else "tracing does not work here"


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tracer-python-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def made_up(self, processes, per_task=0, text="", name="made.tracer", extreme=False):
        """See make_recording.cpp."""
        return make(self.path(name), processes, per_task, text, extreme)

    def traced(self, *words, name="traced.tracer", options=(), status=0):
        """(the recording, the table that tracerd has printed)"""
        path = self.path(name)
        result = subprocess.run([TRACERD, "run", "--record", path, *options, "--", *words], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, timeout=DEADLINE_SECONDS, check=False,
                                env=os.environ | {"LC_ALL": "C.UTF-8"})
        self.assertEqual(result.returncode, status, result.stderr)
        return path, result.stderr

    def dump(self, path):
        result = subprocess.run([TRACERD, "dump", path], stdout=subprocess.PIPE, text=True, check=True,
                                timeout=DEADLINE_SECONDS)
        return [json.loads(line) for line in result.stdout.splitlines()]


def make(path, processes, per_task=0, text="", extreme=False):
    subprocess.run([os.fsencode(MAKE_RECORDING), os.fsencode(path), str(processes), str(per_task),
                    text if isinstance(text, bytes) else os.fsencode(text), *["extreme"] * extreme], check=True,
                   timeout=DEADLINE_SECONDS)
    return path
