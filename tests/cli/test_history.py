# SPDX-License-Identifier: Apache-2.0
"""tracerd history: what run keeps, for whom, and how it is shown and deleted."""

import json
import os
import pathlib
import pwd
import stat
import subprocess
import unittest

import support

TASKS = """for s in S1 S2 S3; do {tracerd} task --step align --sample $s -- sleep 0.1; done"""


class Histories(support.TestCase):
    def setUp(self):
        super().setUp()
        self.file = self.path("history.db")

    def run_tasks(self, *options, **more):
        return self.tracerd("run", *options, "--pipeline", "demo", "--", "bash", "-c", TASKS.format(tracerd=support.TRACERD),
                            **more)

    def history(self, *options):
        result = self.tracerd("history", "--history", self.file, "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_run_keeps_what_tasks_took_and_says_so_once(self):
        first = self.run_tasks("--history", self.file)
        self.assertIn("a history of runs is kept", first.stderr)
        second = self.run_tasks("--history", self.file)
        self.assertNotIn("history", second.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        kind, = self.history()["kinds"]
        self.assertEqual([kind[name] for name in ("pipeline", "step", "tasks", "succeeded")], ["demo", "align", 6, 6])
        self.assertGreaterEqual(kind["wall_ns"]["median"], 100_000_000)
        self.assertEqual(kind["wall_ns"]["n"], 6)
        self.assertEqual([run["tasks"] for run in self.history()["runs"]], [3, 3])
        table = self.tracerd("history", "--history", self.file).stdout
        self.assertRegex(table, r"demo +align +6 +0 ")
        self.assertEqual(self.history("--pipeline", "other")["kinds"], [])

    def test_no_name_of_a_sample_no_path_and_no_argument_is_in_it(self):
        self.run_tasks("--history", self.file)
        data = b"".join(pathlib.Path(self.file + end).read_bytes() for end in ("", "-wal") if os.path.exists(self.file + end))
        self.assertIn(b"align", data)
        for secret in (b"S1", b"/bin", self.folder.encode()):
            self.assertNotIn(secret, data)

    def test_what_nobody_names_is_told_apart_by_its_script_and_its_arguments(self):
        """S7 takes 11 s, the others next to nothing."""
        for project in ("one", "two"):
            os.mkdir(self.path(project))
            self.write(f"{project}/run.sh", 'sleep "$(cat "$1")"\n')
        for sample in range(1, 8):
            self.write(f"S{sample}.txt", "11" if sample == 7 else "0")

        def command(project, *arguments):
            return (support.TRACERD, "run", "--no-live", "--history", self.file, "--", "bash", self.path(project, "run.sh"), *arguments)

        for sample in range(1, 7):
            subprocess.run(command("one", self.path(f"S{sample}.txt")), stderr=subprocess.DEVNULL, check=True)
        slow = self.path("S7.txt")
        running = [self.start(*words, stderr=subprocess.PIPE) for words in (
            command("one", slow), command("two", slow), command("one", slow, "--fast"), command("one", slow, "0.5"))]
        said = ["it usually takes" in process.communicate(timeout=support.DEADLINE_SECONDS)[1] for process in running]
        self.assertEqual(said, [True, False, False, False])
        kinds = self.history()["kinds"]
        self.assertEqual([(kind["tasks"], "script" in kind, "wall_ns" in kind) for kind in kinds],
                         [(3, False, False), (7, True, True)])
        data = b"".join(pathlib.Path(self.file + end).read_bytes() for end in ("", "-wal") if os.path.exists(self.file + end))
        for secret in (b"S7", b"--fast", self.folder.encode(), b"two"):
            self.assertNotIn(secret, data)

    def test_prune_and_delete(self):
        self.run_tasks("--history", self.file)
        self.assertEqual(self.tracerd("history", "--history", self.file, "--prune", "1d").stdout, "removed 0 tasks\n")
        self.assertEqual(len(self.history()["kinds"]), 1)
        result = self.tracerd("history", "--history", self.file, "--delete")
        self.assertIn("deleted", result.stdout)
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_history(self):
        state = self.path("state")
        environment = os.environ | {"XDG_STATE_HOME": state}
        result = self.run_tasks("--no-history", env=environment)
        self.assertEqual(result.returncode, 0)
        self.assertFalse(os.path.exists(state))
        self.run_tasks(env=environment)
        self.assertTrue(os.path.exists(os.path.join(state, "tracer/history.db")))

    def test_damage_harms_nothing_and_is_said_once(self):
        with open(self.file, "w", encoding="ascii") as file:
            file.write("no database" * 100)
        result = self.run_tasks("--history", self.file)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("can't be read"), 1)
        self.assertIn("align", result.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_under_sudo_it_is_the_users_own(self):
        user = pwd.getpwuid(support.NOBODY)
        os.chmod(self.folder, 0o777)
        environment = os.environ | {"SUDO_UID": str(user.pw_uid), "SUDO_GID": str(user.pw_gid)}
        for _ in range(2):
            result = self.run_tasks("--history", self.file, env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.stat(self.file).st_uid, user.pw_uid)
        for name in os.listdir(self.folder):
            self.assertEqual(os.stat(self.path(name)).st_uid, user.pw_uid, name)
        self.assertEqual(self.history()["kinds"][0]["tasks"], 6)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_a_users_link_to_a_file_of_root_is_not_followed(self):
        os.chmod(self.folder, 0o777)
        secret = self.path("root.db")
        subprocess.run([support.PYTHON, "-c", "import sqlite3,sys; c = sqlite3.connect(sys.argv[1]); c.execute('VACUUM')", secret],
                       check=True)
        os.chmod(secret, 0o600)
        before = pathlib.Path(secret).read_bytes()
        os.symlink(secret, self.file)
        os.lchown(self.file, support.NOBODY, support.NOBODY)
        result = self.run_tasks("--history", self.file, env=os.environ | {"SUDO_UID": str(support.NOBODY)})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(pathlib.Path(secret).read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
