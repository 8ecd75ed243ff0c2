# SPDX-License-Identifier: Apache-2.0
"""Tasks that fail on a full file system: a small one of their own, in mounts that nobody else sees."""

import os
import shutil
import subprocess
import unittest

import support
from support import TRACERD, of_kind

SHELL = 'mount -t tmpfs -o "$0" none "$1" && cd "$1" && sh -c "$2" && shift 2 && exec "$@"'


@unittest.skipUnless(shutil.which("unshare"), "needs unshare")
class FullFileSystem(support.TestCase):
    def full(self, script, options="size=1m", before="true", traced=()):
        """The disk_full findings of `script`, which runs in a file system of that size; `before` did, but is not traced."""
        place = self.path("small")
        os.makedirs(place, exist_ok=True)
        events = self.path("events.json")
        tried = subprocess.run(["unshare", "--mount", "sh", "-c", SHELL, options, place, "true", "true"], capture_output=True,
                               text=True, check=False)
        if tried.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted: {tried.stderr}")
        subprocess.run(["unshare", "--mount", "sh", "-c", SHELL, options, place, before, TRACERD, "run", "--no-history",
                        "--json", events, *traced, "--", "bash", "-c", script], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=support.DEADLINE_SECONDS, check=False)
        self.assertEqual(os.listdir(place), [], "nothing stays behind")
        found = of_kind(support.parse_lines(support.text_of(events)), "finding")
        return [each for each in found if each["code"] == "disk_full"]

    def figures(self, finding):
        return {each["name"]: each["value"] if each["text"] is None else each["text"] for each in finding["evidence"]}

    def test_a_process_that_fills_it_and_fails(self):
        for script in ("cat /dev/zero > out; exit 1",
                       "cat /dev/zero > out || true",
                       f"{TRACERD} task --step S -- sh -c 'dd if=/dev/zero of=out bs=64k; exit $?'; true"):
            with self.subTest(script):
                finding, = self.full(script)
                self.assertIn(finding["tool"], ("cat", "dd", "sh -c"))
                self.assertEqual((finding["severity"], finding["confidence"], finding["state"]), ("warning", "high", "closed"))
                figures = self.figures(finding)
                self.assertEqual((figures["free_bytes"], figures["size_bytes"]), (0, 1 << 20))
                self.assertEqual(figures["mount_point"], self.path("small"))
                self.assertEqual(figures["file_system"], "tmpfs")
                self.assertIn(f"when {self.path('small')} was full", finding["text"])

    def test_it_is_found_where_paths_are_hashed(self):
        finding, = self.full("cat /dev/zero > patient-1234; exit 1", traced=("--hash-paths",))
        figures = self.figures(finding)
        self.assertRegex(figures["mount_point"], "^(/[0-9a-f]{12}){3}$")
        self.assertIn(f"when {figures['mount_point']} was full", finding["text"])
        self.assertRegex(figures["path"], f"^{figures['mount_point']}/[0-9a-f]{{12}}$")

    def test_no_inode_is_left(self):
        # The folder itself has one.
        finding, = self.full("for i in $(seq 40); do touch f$i || exit 1; done", options="size=1m,nr_inodes=20")
        figures = self.figures(finding)
        self.assertEqual(figures["inodes"], 20)
        self.assertNotIn("free_bytes", figures)
        self.assertIn("inodes were in use", finding["text"])

    def test_what_is_full_but_was_not_written_explains_nothing(self):
        fill = "head -c 2000000 /dev/zero > out; true"
        self.assertEqual(self.full(f"cat out > {self.path('other')}; exit 1", before=fill), [])
        self.assertEqual(self.full("cat missing", before=fill), [])
        finding, = self.full("echo more >> out", before=fill)
        self.assertEqual(finding["tool"], "bash -c")

    def test_what_was_written_is_removed_as_soon_as_it_fails(self):
        for tool, script in (("seq", "seq 1 3000000 > out || { rm -f out; exit 3; }"),
                             ("sort", "seq 1 3000000 | sort -R -S 1M -T . -o sorted"),
                             ("head", "mkdir d; head -c 3m /dev/zero > d/first; head -c 3m /dev/zero > d/second || "
                                      "{ rm -rf d; exit 1; }"),
                             (None, "python3 -c \"import os,sys\ntry:\n  open('out', 'wb', 0).write(bytes(5 << 20))\n"
                                    "  open('out', 'ab', 0).write(b'x')\nexcept OSError:\n  os.remove('out')\n"
                                    "  sys.exit(4)\"")):
            with self.subTest(script):
                finding, = self.full(script, "size=4m")
                figures = self.figures(finding)
                if tool:
                    self.assertEqual(finding["tool"], tool)
                # It may be asked before another process removes that.
                if finding["confidence"] == "high" and tool not in (None, "sort"):
                    continue
                self.assertIn(f"and may have failed when {self.path('small')} was full", finding["text"])
                self.assertEqual((finding["confidence"], finding["state"]), ("medium", "closed"))
                self.assertEqual((figures["free_afterwards_bytes"], figures["size_bytes"]), (4 << 20, 4 << 20))
                self.assertGreater(figures["removed_bytes"], 2 << 20)

    def test_others_free_it_while_the_program_gives_up(self):
        # What filled it is not the traced program's, and is gone before that ends.
        fill = "head -c 4194304 /dev/zero > out; (sleep 3; rm out) &"
        finding, = self.full("(echo more > more; sleep 4; rm more; exit 1)", "size=4m", fill)
        figures = self.figures(finding)
        self.assertEqual(finding["confidence"], "medium")
        self.assertIn(f"and may have failed when {self.path('small')} was full", finding["text"])
        self.assertLess(figures["free_before_bytes"], figures["free_afterwards_bytes"])

    def test_what_was_removed_would_have_fit(self):
        self.assertEqual(self.full("head -c 3000000 /dev/zero > out; rm out; cat missing > out; rm out; exit 1", "size=4m"), [])
        self.assertEqual(self.full("head -c 5m /dev/zero > out; rm out; exit 0", "size=4m"), [])
        # One after the other there was room for each; the last look shows it.
        turns = "for i in 1 2 3; do head -c 3000000 /dev/zero > $i; rm $i; done; sleep 1.5; cat missing > out; exit 1"
        self.assertEqual(self.full(turns, "size=4m"), [])

    def test_a_failure_with_room_is_none(self):
        self.assertEqual(self.full("head -c 100000 /dev/zero > out; cat out missing > copy; exit 1"), [])

    def test_one_that_is_full_and_does_not_fail_is_none(self):
        self.assertEqual(self.full("head -c 1048576 /dev/zero > out; true"), [])


if __name__ == "__main__":
    support.main()
