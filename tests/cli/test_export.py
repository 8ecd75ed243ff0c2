# SPDX-License-Identifier: Apache-2.0
"""tracerd export: files that other tools read."""

import csv
import io
import os
import pathlib
import unittest

import support

WRAPPER = """\
#!/bin/bash
### ---
### name: '{name}'
### ...
bash -ue .command.sh
"""


class Exports(support.TestCase):
    def task(self, tag, command):
        folder = pathlib.Path(self.folder, "work", tag, "0" * 30)
        folder.mkdir(parents=True)
        folder.joinpath(".command.run").write_text(WRAPPER.format(name=f"COUNT ({tag})"))
        folder.joinpath(".command.sh").write_text(command)
        return f"(cd {folder} && bash -ue .command.run)"

    def record(self, *options):
        commands = "; ".join([self.task("ab", "head -c 3000000 /dev/zero > data; cat data > /dev/null"),
                              self.task("cd", "exit 3"), self.task("ef", "kill -9 $$")])
        recording = self.path("x.tracer")
        result = self.tracerd("run", "--record", recording, *options, "--", "bash", "-c", commands + "; true", cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return recording

    def test_a_trace_that_reads_like_nextflows(self):
        at_end = self.path("end.tsv")
        recording = self.record("--trace", at_end)
        result = self.tracerd("export", "--trace", "-", recording)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = list(csv.DictReader(io.StringIO(result.stdout), delimiter="\t"))
        self.assertEqual([row["name"] for row in rows], ["COUNT (ab)", "COUNT (cd)", "COUNT (ef)"])
        self.assertEqual([row["hash"] for row in rows], ["ab/000000", "cd/000000", "ef/000000"])
        self.assertEqual([row["status"] for row in rows], ["COMPLETED", "FAILED", "FAILED"])
        self.assertEqual([row["exit"] for row in rows], ["0", "3", "137"])
        self.assertRegex(rows[0]["rchar"], r"^\d\.\d MB$")
        self.assertGreaterEqual(float(rows[0]["rchar"].split()[0]), 5.7)
        self.assertRegex(rows[0]["start"], r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d\d$")
        self.assertEqual(rows[0]["submit"], "-")
        self.assertEqual(support.text_of(at_end), result.stdout)

    def test_benchmarks_that_read_like_snakemakes(self):
        recording = self.record()
        folder = self.path("benchmarks")
        result = self.tracerd("export", "--benchmark", folder, recording)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(folder)), ["COUNT_ab.tsv", "COUNT_cd.tsv", "COUNT_ef.tsv"])
        rows = list(csv.DictReader(io.StringIO(support.text_of(folder + "/COUNT_ab.tsv")), delimiter="\t"))
        self.assertEqual(list(rows[0]), ["s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out",
                                         "mean_load", "cpu_time", "max_rss_at_most"])
        self.assertGreaterEqual(float(rows[0]["io_in"]), 5.7)
        self.assertGreaterEqual(float(rows[0]["io_out"]), 5.7)
        self.assertEqual(rows[0]["max_vms"], "NA")
        self.assertGreater(float(rows[0]["s"]), 0)

    def test_root_follows_no_link_that_somebody_may_have_planted(self):
        recording = self.record()
        precious, folder, elsewhere = self.path("precious"), self.path("benchmarks"), self.path("elsewhere")
        pathlib.Path(precious).write_text("precious")
        for path in (folder, elsewhere):
            os.mkdir(path)

        def plant(target, link):
            os.symlink(target, link)
            os.chown(link, support.NOBODY, support.NOBODY, follow_symlinks=False)

        plant(precious, self.path("trace"))
        plant(precious, folder + "/COUNT_ab.tsv")
        plant(self.path("new"), folder + "/COUNT_cd.tsv")
        plant(elsewhere, self.path("folder"))
        os.symlink("folder/", self.path("own"))
        for words in (("--trace", self.path("trace")), ("--benchmark", folder), ("--benchmark", self.path("folder")),
                      ("--benchmark", self.path("own")), ("--benchmark", self.path("folder") + "/")):
            with self.subTest(words=words):
                self.assert_fails(self.tracerd("export", *words, recording), 1, "TRC114")
        self.assertEqual(support.text_of(precious), "precious")
        self.assertEqual((os.listdir(elsewhere), os.path.exists(self.path("new"))), ([], False))
        for link in ("trace", "folder"):
            os.chown(self.path(link), 0, 0, follow_symlinks=False)
        self.assertEqual(self.tracerd("export", "--trace", self.path("trace"), "--benchmark", self.path("folder"),
                                      recording).returncode, 0)
        self.assertTrue(support.text_of(precious).startswith("task_id"))
        self.assertEqual(len(os.listdir(elsewhere)), 3)

    def test_an_older_file_is_replaced_whole(self):
        recording = self.record()
        pathlib.Path(self.path("trace")).write_text("x" * 100_000)
        self.assertEqual(self.tracerd("export", "--trace", self.path("trace"), recording).returncode, 0)
        self.assertEqual(support.text_of(self.path("trace")), self.tracerd("export", "--trace", "-", recording).stdout)

    def test_wrong_words_and_places(self):
        recording = self.record()
        self.assert_fails(self.tracerd("export", recording), 2, "the output is missing")
        self.assert_fails(self.tracerd("export", "--trace", "-"), 2, "name a recording")
        self.assert_fails(self.tracerd("export", "--trace", "/no/such/folder/x", recording), 1, "TRC114")
        self.assert_fails(self.tracerd("export", "--benchmark", "/proc/x", recording), 1, "TRC114")
        self.assert_fails(self.tracerd("export", "--trace", "/dev/full", recording), 1, "TRC114")
        self.assert_fails(self.tracerd("export", "--trace", "-", "/no/such/recording"), 1, "TRC110")


if __name__ == "__main__":
    unittest.main()
