# SPDX-License-Identifier: Apache-2.0
"""The command line: what it refuses, in what words, and what help says."""

import os
import shutil

import support
from support import TRACERD, text_of


class CommandLine(support.TestCase):
    def usage_error(self, *words, code="TRC101"):
        result = self.tracerd(*words)
        self.assert_fails(result, 2, code)
        self.assertIn("--help", result.stderr)

    def test_no_command(self):
        self.usage_error()

    def test_an_unknown_command(self):
        self.usage_error("frobnicate")

    def test_typing_mistakes(self):
        for words, meant in ((["rnu", "true"], "run"), (["reprot"], "report"), (["statuss"], "status"), (["run", "--recrod", "x", "true"], "--record"),
                             (["report", "--jsno"], "--json")):
            self.assertIn(f"; did you mean '{meant}'?", self.tracerd(*words).stderr)
        for words in (["frobnicate"], ["x"], ["x" * 5000], ["run", "--bogus", "true"]):
            self.assertNotIn("did you mean", self.tracerd(*words).stderr)

    def test_where_a_report_is_written_to(self):
        for words in (["-o", "x.html", "r.tracer"], ["r.tracer", "--output=x.html"]):
            self.usage_error("report", *words)
            self.assertIn("tracerd report writes to standard output: tracerd report --html FILE > PAGE", self.tracerd("report", *words).stderr)

    def test_no_shell_reads_the_command(self):
        self.assertIn("no shell reads the command: tracerd run -- bash -c", self.tracerd("run", "ls -l | wc").stderr)

    def test_run_without_a_command(self):
        self.usage_error("run")
        self.usage_error("run", "--")

    def test_an_unknown_option(self):
        self.usage_error("run", "--bogus", "true")
        self.usage_error("watch", "--user", "root")

    def test_an_option_without_its_value(self):
        self.usage_error("run", "--record")
        self.usage_error("run", "--step", "", "true")
        self.usage_error("run", "--step=", "true")
        self.usage_error("run", "--bogus=x", "true")

    def test_watch_without_what_to_watch(self):
        self.usage_error("watch")

    def test_pids_that_are_none(self):
        for pid in ("0", "-1", "x", "1x", "99999999999999999999", ""):
            with self.subTest(pid=pid):
                self.usage_error("watch", "--pid", pid)

    def test_dump_of_no_file(self):
        self.usage_error("dump")

    def test_words_too_many(self):
        self.usage_error("check", "x")
        self.usage_error("watch", "--host", "x")

    def test_watching_a_process_and_the_host_contradicts_itself(self):
        self.usage_error("watch", "--pid", "1", "--host", code="TRC107")

    def test_labels_of_a_whole_host_contradict_themselves(self):
        self.usage_error("watch", "--host", "--step", "x", code="TRC107")

    def test_one_file_for_recording_and_json(self):
        self.usage_error("run", "--record", self.path("x"), "--json", self.path("x"), "true", code="TRC107")

    def test_one_file_for_recording_and_json_by_two_paths(self):
        result = self.tracerd("run", "--record", self.path("x"), "--json", self.path(".", "x"), "touch", self.path("ran"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("TRC107", result.stderr)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_an_option_given_twice(self):
        for option, value in (("record", "a"), ("families", "waits"), ("interval", "500"), ("max-cost", "5"), ("ring", "4"),
                              ("max-processes", "100"), ("max-size", "1GiB"), ("rotate", "2")):
            with self.subTest(option=option):
                self.usage_error("run", f"--{option}", value, f"--{option}", value, "true", code="TRC107")

    def test_sizes_that_are_none(self):
        for option, value in (("ring", "0"), ("ring", "3"), ("ring", "2048"), ("ring", "8M"), ("ring", "-8"),
                              ("max-processes", "0"), ("max-processes", "many"), ("max-processes", "4194305"),
                              ("max-threads", "0"), ("max-cgroups", "x")):
            with self.subTest(option=option, value=value):
                self.usage_error("run", f"--{option}={value}", "true")

    def test_sizes(self):
        result = self.tracerd("run", "--ring", "1", "--max-processes", "64", "--max-threads", "64", "--max-cgroups",
                              "64", "echo", "x")
        self.assertEqual((result.returncode, result.stdout), (0, "x\n"), result.stderr)

    def test_options_behind_the_command_are_the_command_s(self):
        result = self.tracerd("run", "echo", "--record", "x")
        self.assertEqual(result.stdout, "--record x\n")

    def test_the_words_of_the_command_are_taken_as_they_are(self):
        for words in (["echo", "[1,2]", "--help", "--", "-h"], ["--", "echo", "--", "{}", ""], ["echo", "run", "--json=x"],
                      ["--step=a", "--no-live", "echo", "--step", "b"], ["--step=--", "echo", "x"]):
            with self.subTest(words=words):
                result = self.tracerd("run", *words)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout, " ".join(words[words.index("echo") + 1:]) + "\n")

    def test_a_command_may_be_called_as_tracerd_s_own_are(self):
        for name in ("run", "check", "help"):
            program = self.path(name)
            shutil.copy(shutil.which("echo"), program)
            result = self.tracerd("run", name, "x", env=dict(os.environ, PATH=self.folder + ":" + os.environ["PATH"]))
            self.assertEqual((result.returncode, result.stdout), (0, "x\n"), result.stderr)

    def test_help_names_every_option_within_the_screen(self):
        for words, expected in ((["run"], ["--record", "--json", "--user", "--step", "--families", "--interval", "--max-cost",
                                           "--ring", "--max-processes", "--max-threads", "--max-cgroups", "--max-size",
                                           "--rotate", "--no-live", "126", "Ctrl-C"]),
                                (["watch"], ["--pid", "--cgroup", "--host", "--record"]), (["dump"], ["FILE"]),
                                (["check"], ["Exit status"]), ([], ["run", "watch", "dump", "check", "--version"])):
            with self.subTest(words=words):
                text = self.tracerd(*words, "--help").stdout
                for word in expected:
                    self.assertIn(word, text)
                self.assertLessEqual(max(map(len, text.splitlines())), 120)
        self.assertEqual(self.tracerd("help").stdout, self.tracerd("--help").stdout)

    def test_help_and_version_go_to_standard_output(self):
        for words in (["--help"], ["run", "--help"], ["watch", "--help"], ["dump", "--help"], ["check", "--help"],
                      ["--version"]):
            with self.subTest(words=words):
                result = self.tracerd(*words)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("tracerd", result.stdout)


if __name__ == "__main__":
    support.main()
