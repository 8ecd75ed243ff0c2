# SPDX-License-Identifier: Apache-2.0
"""What the report of tracerd run calls a failure, of scripts as people write them."""

import re

import support
from support import PYTHON

POOL = """
import multiprocessing, sys
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(3) as pool:
        assert sum(pool.map(abs, range(100))) == 4950
"""
BROKEN = """
import sys
for i in range(10_000_000):
    sys.stdout.write("line\\n")
"""


class Failures(support.TestCase):
    def setUp(self):
        super().setUp()
        self.write("words", "a\nb\n")

    def failed(self, *command):
        """The lines below "N failed:", and the whole table."""
        result = self.tracerd("run", "--no-live", "--", *command, cwd=self.folder)
        found = re.search(r"\n(\d+) failed:\n((?:  .*\n)+)", result.stderr)
        lines = found.group(2).splitlines() if found else []
        if found:
            self.assertEqual(int(found.group(1)), len([line for line in lines if not line.startswith("    ")]), result.stderr)
        return [line.strip() for line in lines], result

    def test_answers_of_subshells(self):
        script = self.write("s.sh", """
n=$(cat words | grep -c nothing)
(cat words | grep -q nothing) || x=none
if ! { cat words | grep -q nothing; }; then y=none; fi &
wait
tool=$(command -v no-such-tool)
[ -n "$(test -d nowhere; [ -d nowhere ])" ] || x=none
cmp -s words /dev/null || diff words /dev/null > /dev/null || readlink words || pgrep no-such-tool
sh -c 'cat words | grep -q nothing' || env sh -c 'cat words | grep nothing' || nice sh -c 'false | grep x' || true
exit 0
""")
        lines, result = self.failed("bash", script)
        self.assertEqual((result.returncode, lines), (0, []), result.stderr)

    def test_an_answer_that_ends_a_script_is_its_failure(self):
        script = self.write("s.sh", "set -e\ncat words > copy\ngrep -q nothing words\necho never\n")
        lines, result = self.failed("bash", script)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(lines and lines[0].startswith("grep  status 1"), result.stderr)
        self.assertEqual(lines[1], "passed on by s.sh")

    def test_readers_that_leave_early(self):
        self.write("broken.py", BROKEN)
        for script in ("seq 1 9999999 | head -1", "x=$(seq 1 9999999 | gzip -1 | zcat | head -1); exit 0",
                       "head -1 <(seq 1 9999999)", f"{PYTHON} broken.py 2> /dev/null | head -1",
                       "(yes; true) | head -1", "perl -e 'print qq(x\\n) for 1..9999999' | sed q"):
            with self.subTest(script=script):
                lines, result = self.failed("bash", "-c", script + "; true")
                self.assertEqual(lines, [], result.stderr)
                self.assertRegex(result.stderr, r"\nnot counted as failed: (1 process|[2-4] processes) that stopped because the reader had enough \(such as head\)\n")

    def test_under_pipefail_they_end_the_script(self):
        lines, result = self.failed("bash", "-euo", "pipefail", "-c", "x=$(seq 1 9999999 | head -1); echo $x")
        self.assertEqual(result.returncode, 141)
        self.assertRegex(lines[0], r"^seq  signal 13 \(PIPE\)  pid \d+  seq 1 9999999$")
        self.assertRegex(lines[1], r"^passed on by bash -c \(2 processes\)$|^passed on by bash, bash -c$")
        self.assertEqual(len(lines), 2, result.stderr)

    def test_workers_of_pools(self):
        pool = self.write("pool.py", POOL)
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                lines, result = self.failed(PYTHON, pool, method)
                self.assertEqual((result.returncode, lines), (0, []), result.stderr)
        lines, result = self.failed("bash", "-c", "sleep 9 & sleep 0.2; kill $!; sleep 9 & sleep 0.2; /bin/kill -9 $!; wait; true")
        self.assertEqual(lines, [], result.stderr)
        self.assertIn("not counted as failed: 2 processes that were ended by what had started them\n", result.stderr)

    def test_a_limit_that_ends_a_command(self):
        for options, signal in (([], "15 (TERM)"), (["-s", "KILL"], "9 (KILL)"), (["--preserve-status"], "15 (TERM)")):
            with self.subTest(options=options):
                lines, result = self.failed("bash", "-c", f"timeout {' '.join(options)} 0.3 sleep 9; true")
                # SIGKILL ends timeout, too: of the two either may be the first.
                ended = f"(sleep  signal {re.escape(signal)}, sent by timeout sleep|timeout sleep  signal 9 \\(KILL\\))  "
                self.assertRegex(lines[0], "^" + ended, result.stderr)
                self.assertEqual(len(lines), 2, result.stderr)

    def test_one_failure_with_where_it_began(self):
        inner = self.write("inner.sh", "perl -e 'exit 3'\n")
        outer = self.write("outer.sh", f"(bash {inner}) || exit $?\n")
        lines, result = self.failed("bash", outer)
        self.assertEqual(result.returncode, 3)
        self.assertTrue(lines[0].startswith("perl -e  status 3  "), result.stderr)
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertRegex(lines[1], r"^passed on by inner\.sh, outer\.sh( \(2 processes\))?$")
        lines, result = self.failed("bash", "-c", f"bash {outer}; sleep 0.1; exit 0")
        self.assertRegex(lines[1], r"^passed on by inner\.sh, outer\.sh( \(2 processes\))?; ignored by bash -c$")

    def test_real_failures_stay(self):
        for script, failure in (("perl -e 'kill 11, $$'; true", r"^perl -e  signal 11 \(SEGV\)"),
                                ("sort nowhere 2> /dev/null; true", r"^sort  status 2 "),
                                ("perl -e 'exit 1' | cat; true", r"^perl -e  status 1 "),
                                ("grep x nowhere 2> /dev/null; true", r"^grep  status 2 "),
                                ("no-such-tool 2> /dev/null; true", r"status 127")):
            with self.subTest(script=script):
                lines, result = self.failed("bash", "-c", script)
                self.assertTrue(lines and re.search(failure, lines[0]), result.stderr)
                self.assertEqual(lines[1:], ["ignored by bash -c"], result.stderr)


if __name__ == "__main__":
    support.main()
