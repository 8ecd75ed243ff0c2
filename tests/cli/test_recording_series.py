# SPDX-License-Identifier: Apache-2.0
"""A recording that was cut into files is one recording: what is printed of it is what is printed of the whole."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import recorded_outputs
from support import TRACERD

CUT = os.path.join(os.path.dirname(TRACERD), "tests/cli/cut_recording")
COMMANDS = (("report",), ("report", "--by", "task"), ("report", "--by", "process"), ("report", "--json"), ("why",),
            ("why", "--json"), ("files",), ("lineage",), ("lineage", "--json"), ("dump",))


def first_difference(one, other):
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return f"{one[max(at - 60, 0):at + 60]!r}, cut: {other[max(at - 60, 0):at + 60]!r}"


class Series(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tracerd-cli-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def cut(self, name, seconds, *living):
        """Its files, in the order in which they were written."""
        shutil.copy(os.path.join(recorded_outputs.FOLDER, name), self.folder)
        place = os.path.join(self.folder, "cut")
        shutil.rmtree(place, True)
        os.mkdir(place)
        subprocess.run([CUT, os.path.join(self.folder, name), place, str(seconds), *living], check=True)
        return sorted((f"cut/{file}" for file in os.listdir(place)), key=lambda file: -int(file.rpartition(".")[2]))

    def printed(self, *words):
        return recorded_outputs.printed(TRACERD, self.folder, *words)

    def all_of(self, *files):
        """All that is printed of them, without the names of files."""
        title = f"{files[0]} … {files[-1]} ({len(files)} files) on " if len(files) > 1 else f"{files[0]} on "
        printed = {" ".join(command): self.printed(*command, *files).replace(title, "") for command in COMMANDS}
        page = recorded_outputs.printed(TRACERD, self.folder, "report", "--html", *files)
        printed["page"] = recorded_outputs.PAGE_DATA.search(page)[1].replace(title, "")
        return printed

    def whole_recordings(self):
        """Those that end, and are one file."""
        for name, files in recorded_outputs.recordings().items():
            if len(files) == 1 and "no end" not in recorded_outputs.printed(TRACERD, recorded_outputs.FOLDER, "why", files[0]):
                yield files[0]

    def test_all_that_is_printed_is_that_of_the_whole(self):
        count = 0
        differs = []
        for name in self.whole_recordings():
            shutil.copy(os.path.join(recorded_outputs.FOLDER, name), self.folder)
            whole = self.all_of(name)
            for how in ((1,), (1, "living"), (60, "living")):
                files = self.cut(name, *how)
                count += len(files)
                for command, text in self.all_of(*files).items():
                    if text != whole[command]:
                        differs.append(f"{name} {how} {command}: {first_difference(whole[command], text)}")
        self.assertEqual(differs, [])
        self.assertGreater(count, 300)

    def test_folders_and_any_order(self):
        files = self.cut("demo.tracer", 1, "living")
        self.assertGreater(len(files), 3)
        whole = self.printed("report", "--json", "demo.tracer")
        self.assertEqual(self.printed("report", "--json", "cut"), whole)
        self.assertEqual(self.printed("report", "--json", *reversed(files)), whole)
        self.assertEqual(self.printed("report", "--json", files[1], "cut").replace(self.repeated(files[1:2]), ""), whole)

    def repeated(self, files):
        return "".join(f"tracerd: {file}: another has the same: it counts once\n" for file in files)

    def test_what_is_asked_is_the_last_word(self):
        files = self.cut("demo.tracer", 1, "living")
        runs = json.loads(self.printed("why", "--json", "demo.tracer"))["runs"]
        for asked in [run["run_key"] for run in runs]:
            self.assertEqual(self.printed("why", *files, asked), self.printed("why", "demo.tracer", asked))
            self.assertEqual(self.printed("why", "cut", asked), self.printed("why", "demo.tracer", asked))

    def test_a_file_that_is_missing_is_said_with_its_time(self):
        files = self.cut("demo.tracer", 1)
        printed = self.printed("report", *files[:1], *files[2:])
        self.assertRegex(printed, r"tracerd: cut/part\.\d+: 1 file before it is missing, from \d\d:\d\d:\d\d until \d\d:\d\d:\d\d\n")
        report = json.loads(self.printed("report", "--json", *files[:1], *files[2:]).split("\n", 1)[0])
        self.assertEqual(report["certificate"]["losses"]["recording_missing_part"], 1)
        self.assertRegex(self.printed("report", *files[2:]), r"tracerd: cut/part\.99997: 2 files before it are missing, until ")

    def test_a_file_that_is_cut_short(self):
        files = self.cut("demo.tracer", 1)
        path = os.path.join(self.folder, files[1])
        os.truncate(path, os.path.getsize(path) - 40)
        printed = self.printed("report", *files)
        self.assertIn(f"tracerd: {files[2]}: the end of the file before it is missing, ", printed)
        self.assertIn(f"tracerd: {files[1]}: ", printed)

    def test_a_file_of_another_session_is_another_recording(self):
        files = self.cut("demo.tracer", 1)
        shutil.copy(os.path.join(recorded_outputs.FOLDER, "retries.tracer"), self.folder)
        both = self.printed("report", *files, "retries.tracer")
        self.assertIn(f"({len(files)} files) on ", both)
        self.assertIn("retries.tracer on", both)
        self.assertEqual(self.printed("why", *files, "retries.tracer").count("on node1:\n"), 2)
        refused = self.printed("export", "--trace", "out.txt", *files, "retries.tracer")
        self.assertIn("of different sessions", refused)

    def readable(self):
        """The folder, by anybody: root's rights are given up before a file is opened again."""
        os.chmod(self.folder, 0o755)
        for place, _, names in os.walk(self.folder):
            for name in names:
                os.chmod(os.path.join(place, name), 0o644)
        return self.folder

    def test_more_files_than_may_be_open(self):
        files = self.cut("demo.tracer", 0.03, "living")
        self.assertGreater(len(files), 220)
        shutil.copy(os.path.join(recorded_outputs.FOLDER, "demo.tracer"), self.folder)
        whole = self.printed("report", "--json", "demo.tracer")
        for named in (["cut"], files):
            for limit, path in (("-Sn 200", self.folder), ("-n 200", self.readable())):
                result = subprocess.run(["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", TRACERD, "report", "--json", *named],
                                        cwd=path, capture_output=True, text=True, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertEqual(json.loads(result.stdout), json.loads(whole))

    def test_a_folder_without_recordings(self):
        os.mkdir(os.path.join(self.folder, "empty"))
        self.assertIn("has no recording", self.printed("report", "empty"))


if __name__ == "__main__":
    unittest.main()
