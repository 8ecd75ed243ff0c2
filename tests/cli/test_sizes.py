# SPDX-License-Identifier: Apache-2.0
"""--max-size and --rotate: what is traced may be much, the disk is not."""

import os
import stat

import support
from support import PYTHON, of_kind, parse_lines, text_of

MIB = 1 << 20
# Arguments that JSON escapes and zstd can't make small.
SPAWN_LARGE = ("import os, subprocess, sys\n"
               "for i in range(int(sys.argv[1])):\n"
               " noise = bytes(1 + b % 126 for b in os.urandom(3000))\n"
               " subprocess.run(['/bin/true', str(i), noise])\n")
# For a user who may not execute this Python.
SHELL_SPAWNS_LARGE = "i=0; while [ $i -lt 300 ]; do /bin/true $i $(head -c 2200 /dev/urandom | base64 -w0); i=$((i+1)); done"


def numbers_of(events):
    """Of the processes that SPAWN_LARGE started, by their ends."""
    return [int(event["argv"][1]) for event in of_kind(events, "process_exit") if event["argv"][0] == "/bin/true"]


class MaxSize(support.TestCase):
    def test_files_stop_at_it_can_be_read_and_say_what_is_not_in_them(self):
        result = self.tracerd("run", "--record", self.path("r"), "--json", self.path("j"), "--max-size", "1MiB", "--",
                              PYTHON, "-c", SPAWN_LARGE, "600")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name, events in (("r", self.dump(self.path("r"))), ("j", parse_lines(text_of(self.path("j"))))):
            with self.subTest(name=name):
                self.assertLessEqual(os.path.getsize(self.path(name)), MIB)
                self.assertGreater(os.path.getsize(self.path(name)), MIB // 2)
                self.assertEqual([event["kind"] for event in events[-2:]], ["loss", "session_end"])
                self.assertEqual(events[-2]["cause"], "file_full")
                self.assertLess(len(numbers_of(events)), 600)
                self.assertIn(f"{events[-2]['count']} events are not in it", result.stderr)
        self.assertIn("TRC114", result.stderr)
        self.assertIn("stopped early", result.stderr)

    def test_standard_output_too(self):
        result = self.tracerd("run", "--json", "-", "--max-size", "1M", "--", PYTHON, "-c", SPAWN_LARGE, "300")
        self.assertLessEqual(len(result.stdout.encode()), MIB)
        self.assertEqual(parse_lines(result.stdout)[-1]["kind"], "session_end")

    def test_what_can_not_be_meant_is_refused(self):
        for words in (("--record", "x", "--max-size", "1KiB"), ("--record", "x", "--max-size", "2GB"),
                      ("--record", "x", "--max-size", "99999999999T"), ("--record", "x", "--max-size", "MiB"),
                      ("--record", "x", "--max-size", "-1"), ("--max-size", "1GiB"), ("--record", "x", "--rotate", "2"),
                      ("--record", "x", "--max-size", "1G", "--rotate", "0"),
                      ("--json", "-", "--max-size", "1G", "--rotate", "1")):
            with self.subTest(words=words):
                result = self.tracerd("run", *words, "--", "true", cwd=self.folder)
                self.assert_fails(result, 2, "TRC")
        self.assertEqual(os.listdir(self.folder), [])


class Rotate(support.TestCase):
    def check_files(self, folder, name, read, kept):
        files = sorted((each for each in os.listdir(folder) if each.split(".")[0] == name),
                       key=lambda each: int((each + ".0").split(".")[1]))
        self.assertEqual(files, [name] + [f"{name}.{number}" for number in range(1, kept + 1)])
        numbers = []
        for each in reversed(files):
            path = os.path.join(folder, each)
            self.assertLessEqual(os.path.getsize(path), MIB)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            events = read(path)
            self.assertEqual(events[0]["kind"], "host")
            self.assertEqual(of_kind(events, "loss"), [])
            self.assertGreater(len(numbers_of(events)) if each != name else 1, 0)
            numbers += numbers_of(events)
        self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)), "nothing is missing between two files")
        self.assertEqual(of_kind(read(os.path.join(folder, name)), "session_end"), [events[-1]])
        return numbers

    def dump_whole(self, path):
        result = self.tracerd("dump", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return parse_lines(result.stdout)

    def test_the_newest_files_are_kept_and_each_is_read_alone(self):
        result = self.tracerd("run", "--record", self.path("r"), "--json", self.path("j"), "--max-size", "1MiB",
                              "--rotate", "2", "--", PYTHON, "-c", SPAWN_LARGE, "1500")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("TRC114", result.stderr)
        for name, read in (("r", self.dump_whole), ("j", lambda path: parse_lines(text_of(path)))):
            with self.subTest(name=name):
                self.assertEqual(self.check_files(self.folder, name, read, 2)[-1], 1499)
                self.assertRegex(result.stderr, rf"/{name}: the oldest \d+ files were removed")

    def test_a_file_that_stays_small_keeps_its_name(self):
        self.tracerd("run", "--json", self.path("j"), "--max-size", "1MiB", "--rotate", "2", "--", "true")
        self.assertEqual(os.listdir(self.folder), ["j"])

    def test_under_sudo_the_files_are_made_with_the_rights_of_the_caller(self):
        folder = self.folder_of_nobody()
        os.chmod(folder, 0o700)
        result = self.tracerd("run", "--json", "j", "--max-size", "1MiB", "--rotate", "1", "--", "sh", "-c",
                              SHELL_SPAWNS_LARGE, cwd=folder, env=os.environ | {"SUDO_UID": str(support.NOBODY)})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("TRC114", result.stderr)
        self.assertEqual({os.stat(os.path.join(folder, each)).st_uid for each in os.listdir(folder)}, {support.NOBODY})
        self.check_files(folder, "j", lambda path: parse_lines(text_of(path)), 1)

    def test_a_folder_in_which_nothing_can_be_made_stops_it_early(self):
        folder = self.folder_of_nobody()
        result = self.tracerd("run", "--json", "j", "--max-size", "1MiB", "--rotate", "1", "--", "sh", "-c",
                              "chmod 500 .; " + SHELL_SPAWNS_LARGE, cwd=folder,
                              env=os.environ | {"SUDO_UID": str(support.NOBODY)})
        self.assertIn("the next file can't be created", result.stderr)
        events = parse_lines(text_of(os.path.join(folder, "j")))
        self.assertEqual([event["kind"] for event in events[-2:]], ["loss", "session_end"])

    def test_a_pipe_is_refused(self):
        os.mkfifo(self.path("pipe"))
        keep = os.open(self.path("pipe"), os.O_RDWR)
        self.addCleanup(os.close, keep)
        result = self.tracerd("run", "--json", self.path("pipe"), "--max-size", "1MiB", "--rotate", "1", "--", "touch",
                              self.path("ran"))
        self.assert_fails(result, 125, "--rotate")
        self.assertFalse(os.path.exists(self.path("ran")))


if __name__ == "__main__":
    support.main()
