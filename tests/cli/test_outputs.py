# SPDX-License-Identifier: Apache-2.0
"""Files that events go to: who may read them, and what others do to them meanwhile."""

import os
import resource
import signal
import stat
import subprocess

import support
from support import PYTHON, of_kind, parse_lines, text_of

SPAWN_LONG = ("import subprocess, sys\n"
              "for _ in range(int(sys.argv[1])): subprocess.run(['/bin/true', 'x' * 3000])\n")


class Rights(support.TestCase):
    def test_what_is_recorded_is_for_its_owner_only(self):
        for option in ("--record", "--json", "--trace"):
            with self.subTest(option=option):
                self.tracerd("run", option, self.path(option), "--", "true", umask=0o022)
                self.assertEqual(stat.S_IMODE(os.stat(self.path(option)).st_mode), 0o600)

    def test_so_is_what_is_exported(self):
        self.tracerd("run", "--record", self.path("r"), "--pipeline", "p", "--step", "s", "--", "true")
        self.tracerd("export", "--trace", self.path("trace"), self.path("r"), umask=0o022)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("trace")).st_mode), 0o600)

    def test_root_follows_no_link_that_somebody_may_have_planted(self):
        with open(self.path("precious"), "w", encoding="ascii") as file:
            file.write("precious")
        os.symlink(self.path("precious"), self.path("out"))
        os.chown(self.path("out"), support.NOBODY, support.NOBODY, follow_symlinks=False)
        os.symlink("out", self.path("own"))
        for option in ("--record", "--json", "--trace"):
            for name in ("out", "own"):
                result = self.tracerd("run", option, self.path(name), "--", "touch", self.path("ran"))
                self.assert_fails(result, 125, "TRC114")
        self.assertEqual(text_of(self.path("precious")), "precious")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_its_own_links_are_followed(self):
        result = self.tracerd("run", "--json", "/dev/stdout", "--", "true")
        self.assertEqual(parse_lines(result.stdout)[-1]["kind"], "session_end")
        os.mkdir(self.path("in"))
        os.symlink("in/second", self.path("first"))
        os.symlink("../json", self.path("in/second"))
        self.assertEqual(self.tracerd("run", "--json", self.path("first"), "--", "true").returncode, 0)
        self.assertIn("session_end", text_of(self.path("json")))
        os.symlink("loop", self.path("loop"))
        self.assert_fails(self.tracerd("run", "--json", self.path("loop"), "--", "true"), 125, "TRC114")

    def test_a_file_that_is_there_keeps_its_mode(self):
        with open(self.path("json"), "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o640)
        self.tracerd("run", "--json", self.path("json"), "--", "true")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("json")).st_mode), 0o640)


class Limits(support.TestCase):
    def test_a_limit_of_the_size_of_files_ends_the_file_and_not_tracerd(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

        for option in ("--json", "--record", "--trace"):
            with self.subTest(option=option):
                script = f"{SPAWN_LONG}sys.exit(7)"
                result = self.tracerd("run", option, self.path("out"), "--pipeline", "p", "--step", "s" * 200,
                                      "--", PYTHON, "-c", script, "10", preexec_fn=limit)
                self.assertEqual(result.returncode, 7, result.stderr)
                self.assertIn("complete: 11 of 11", result.stderr)
                self.assertIn("TRC114", result.stderr)

    def test_the_command_has_its_own_limit(self):
        result = self.tracerd("run", "--", PYTHON, "-c", "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)")
        self.assertEqual(result.returncode, 0)
        result = self.tracerd("run", "--", "grep", "SigIgn", "/proc/self/status",
                              preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_DFL))
        ignored = int(result.stdout.split()[1], 16)
        self.assertEqual(ignored & 1 << (signal.SIGXFSZ - 1), 0)


class Meddling(support.TestCase):
    """The command does something to the file that its own events go to."""

    def run_meddling(self, option, shell, after="sleep 4"):
        return self.tracerd("run", option, self.path("out"), "--", "sh", "-c",
                            f"/bin/true; sleep 4; {shell}; /bin/true; {after}")

    def test_json_that_was_cut_goes_on_without_a_hole_and_it_is_reported(self):
        result = self.run_meddling("--json", f": > {self.path('out')}")
        self.assertIn("was cut by another program", result.stderr)
        text = text_of(self.path("out"))
        self.assertNotIn("\0", text)
        self.assertEqual(parse_lines(text)[-1]["kind"], "session_end")

    def test_a_recording_that_was_removed_is_reported(self):
        result = self.run_meddling("--record", f"rm {self.path('out')}")
        self.assertIn("TRC114", result.stderr)
        self.assertIn("was removed", result.stderr)
        self.assertIn("complete", result.stderr)

    def test_one_that_was_moved_or_replaced_is(self):
        out, other = self.path("out"), self.path("other")
        # Where only root may look.
        os.chmod(self.folder, 0o700)
        for shell in (f"mv {out} {other}", f"ln {out} {other}; rm {out}", f"cp {out} {other}; mv {other} {out}",
                      f"mv {out} {other}; ln -s /dev/null {out}"):
            with self.subTest(shell=shell):
                result = self.tracerd("run", "--record", out, "--", "sh", "-c", shell)
                self.assertIn("TRC114", result.stderr)
                self.assertRegex(result.stderr, "was (moved or replaced|removed) by another program")
                for path in (out, other):
                    if os.path.lexists(path):
                        os.unlink(path)

    def test_so_is_one_that_was_cut_and_filled_beyond_its_old_size_or_added_to(self):
        for shell in (f"head -c 1000000 /dev/zero > {self.path('out')}", f"echo '{{}}' >> {self.path('out')}"):
            for option in ("--record", "--json"):
                with self.subTest(shell=shell, option=option):
                    self.assertIn("was written to by another program",
                                  self.run_meddling(option, shell, after="true").stderr)

    def test_a_link_that_leads_to_it_is_as_good_as_its_name(self):
        out, other = self.path("out"), self.path("other")
        result = self.tracerd("run", "--record", out, "--", "sh", "-c", f"mv {out} {other}; ln -s {other} {out}")
        self.assertNotIn("TRC114", result.stderr)
        self.assertEqual(self.dump(self.path("out"))[-1]["kind"], "session_end")

    def test_a_moved_folder_is_said_and_a_new_mode_or_owner_is_not(self):
        os.mkdir(self.path("folder"))
        for shell, said in (("chmod 640 folder/out; chown 1 folder/out; touch folder/out", False),
                            ("mv folder other", True)):
            with self.subTest(shell=shell):
                result = self.tracerd("run", "--record", "folder/out", "--", "sh", "-c", shell, cwd=self.folder)
                self.assertEqual("was moved or replaced" in result.stderr, said, result.stderr)

    def test_who_shares_standard_output_with_its_command_hears_of_nothing(self):
        with open(self.path("out"), "ab") as file:
            result = subprocess.run([support.TRACERD, "run", "--json", "-", "--", "sh", "-c",
                                     "echo text; sleep 2; echo text"],
                                    stdout=file, stderr=subprocess.PIPE, text=True, check=True)
        self.assertNotIn("TRC114", result.stderr)

    def test_names_that_tracerd_itself_gives_are_no_meddling(self):
        result = self.tracerd("run", "--record", self.path("r"), "--json", self.path("j"), "--max-size", "1MiB",
                              "--rotate", "9", "--", PYTHON, "-c", SPAWN_LONG, "400")
        self.assertNotIn("TRC114", result.stderr)
        self.assertTrue(os.path.exists(self.path("j.1")))
        result = self.tracerd("run", "--json", self.path("k"), "--max-size", "1MiB", "--rotate", "9", "--", PYTHON,
                              "-c", SPAWN_LONG + f"import os; os.rename({self.path('k')!r}, {self.path('x')!r})", "400")
        self.assertIn("was moved or replaced", result.stderr)

    def test_a_file_that_nobody_touched_is_not(self):
        result = self.tracerd("run", "--record", self.path("out"), "--", "true")
        self.assertNotIn("TRC114", result.stderr)
        self.assertEqual(len(of_kind(self.dump(self.path("out")), "process_exit")), 1)


if __name__ == "__main__":
    support.main()
