# SPDX-License-Identifier: Apache-2.0
"""What tracerd prints of recordings that earlier versions made, as they were recorded and with findings made anew, is what
it printed then: tests/data/recordings. TAKE_OUT_FINDINGS names that program, if it is not where it was built. With
TRACER_UPDATE_GOLDEN it prints what differs, and keeps what is printed now: each difference must be meant."""

import difflib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import recorded_outputs
from support import TRACERD

TAKE_OUT_FINDINGS = os.environ.get("TAKE_OUT_FINDINGS", os.path.join(os.path.dirname(TRACERD), "tests/cli/take_out_findings"))
MOST_LINES = 24


def lines_of(text):
    """JSON with a value in each line, so that a difference has a place."""
    lines = []
    for line in text.split("\n"):
        try:
            lines += json.dumps(json.loads(line), indent=1, ensure_ascii=False).split("\n")
        except ValueError:
            lines.append(line)
    return lines


def difference(file, then, now):
    lines = list(difflib.unified_diff(lines_of(then), lines_of(now), f"{file}, as it was", f"{file}, now", "", "", 1, ""))
    at = next((i for i, (one, other) in enumerate(zip(then, now)) if one != other), min(len(then), len(now)))
    return "\n".join(lines[:MOST_LINES]) or f"{file} differs at character {at}: {then[at:at + 40]!r}, now {now[at:at + 40]!r}"


class Recordings(unittest.TestCase):
    def check(self, name, is_anew, folder, files):
        then = recorded_outputs.kept(name, is_anew)
        now = recorded_outputs.outputs(TRACERD, folder, files)
        self.assertEqual(sorted(now), sorted(then))
        for file, text in now.items():
            called = f"{name}, made anew: {file}" if is_anew else f"{name}: {file}"
            with self.subTest(called):
                if text != then[file] and os.environ.get("TRACER_UPDATE_GOLDEN"):
                    print(difference(called, then[file], text))
                    as_recorded = recorded_outputs.kept(name, False)[file] if is_anew else None
                    if text != as_recorded:
                        recorded_outputs.keep(os.path.join(recorded_outputs.FOLDER, name), file, text, is_anew)
                    else:
                        recorded_outputs.forget(os.path.join(recorded_outputs.FOLDER, name), file)
                elif text != then[file]:
                    self.fail(difference(called, then[file], text))

    def folder_of(self, files):
        """An empty folder of the reader, with the recording in it: nothing that is beside it counts."""
        folder = tempfile.mkdtemp(prefix="tracerd-cli-", dir="/tmp")
        self.addCleanup(shutil.rmtree, folder, True)
        for file in files:
            shutil.copy(os.path.join(recorded_outputs.FOLDER, file), folder)
        return folder

    def test_there_are_recordings(self):
        self.assertGreaterEqual(len(recorded_outputs.recordings()), 20)

    def test_as_recorded(self):
        for name, files in recorded_outputs.recordings().items():
            self.check(name, False, self.folder_of(files), files)

    def test_with_findings_and_ledgers_made_anew(self):
        for name, files in recorded_outputs.recordings().items():
            folder = self.folder_of(files)
            for file in files:
                path = os.path.join(folder, file)
                subprocess.run([TAKE_OUT_FINDINGS, os.path.join(recorded_outputs.FOLDER, file), path], check=True)
                dumped = subprocess.run([TRACERD, "dump", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
                self.assertNotIn(b'{"kind":"finding"', dumped.stdout)
            self.check(name, True, folder, files)


if __name__ == "__main__":
    unittest.main(verbosity=2)
