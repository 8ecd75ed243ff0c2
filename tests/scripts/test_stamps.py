# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import unittest

import support
from stamps import KEPT, Stamps, digest


class Passes(support.TestCase):
    def setUp(self):
        super().setUp()
        self.stamps = Stamps(self.folder)

    def test_only_the_same_parts_have_passed(self):
        parts = {"object": "1", "qemu": "7.2"}
        self.assertIsNone(self.stamps.passed_on("kernel 6.1", parts))
        self.stamps.record("kernel 6.1", parts)
        self.assertRegex(self.stamps.passed_on("kernel 6.1", dict(reversed(parts.items()))), r"^\d{4}-\d\d-\d\d \d\d:\d\d$")
        self.assertIsNone(self.stamps.passed_on("kernel 6.12", parts))
        for other in ({"object": "2", "qemu": "7.2"}, {"object": "1"}, parts | {"more": "3"}):
            self.assertIsNone(self.stamps.passed_on("kernel 6.1", other))

    def test_what_differs_is_named(self):
        self.assertEqual(self.stamps.why_not("x", {"a": "1"}), "never passed here")
        self.stamps.record("x", {"a": "1", "b": "1", "c": "1"})
        self.assertEqual(self.stamps.why_not("x", {"a": "1", "b": "2", "c": "1"}), "differs: b")
        self.assertEqual(self.stamps.why_not("x", {"a": "2", "d": "2"}), "differs: a, b and 2 more")

    def test_what_is_left_has_not_passed(self):
        self.stamps.record("x", {"a": "1"}, left=["a case"])
        self.assertIsNone(self.stamps.passed_on("x", {"a": "1"}))
        self.assertEqual(self.stamps.left("x", {"a": "1"}), ["a case"])
        self.assertEqual(self.stamps.left("x", {"a": "2"}), [])
        self.assertEqual(self.stamps.why_not("x", {"a": "1"}), "1 needed a second try")
        self.stamps.record("x", {"a": "1"})
        self.assertIsNotNone(self.stamps.passed_on("x", {"a": "1"}))

    def test_whoever_asks_for_all_gets_all_and_records_it(self):
        everything = Stamps(self.folder, ignore=True)
        everything.record("x", {"a": "1"})
        self.assertIsNone(everything.passed_on("x", {"a": "1"}))
        self.assertIsNotNone(self.stamps.passed_on("x", {"a": "1"}))

    def test_going_back_to_what_passed_before_needs_no_run(self):
        for value in ("1", "2"):
            self.stamps.record("x", {"a": value})
        self.assertIsNotNone(self.stamps.passed_on("x", {"a": "1"}))

    def test_stamps_do_not_pile_up(self):
        for number in range(KEPT + 5):
            self.stamps.record("x", {"a": str(number)})
        self.assertEqual(len(list(self.folder.glob("passed/x/*"))), KEPT)
        self.assertIsNotNone(self.stamps.passed_on("x", {"a": str(KEPT + 4)}))

    def test_the_one_that_has_not_run_for_longest(self):
        self.assertEqual(self.stamps.last_run("6.1"), 0)
        for age, kernel in enumerate(("6.1", "5.10", "sid")):
            self.stamps.note_run(kernel)
            path = self.folder / "runs" / kernel
            os.utime(path, (path.stat().st_mtime - 100 * age,) * 2)
        self.assertEqual(min(("6.1", "5.10", "sid"), key=self.stamps.last_run), "sid")


@unittest.skipUnless(shutil.which("cc"), "there is no compiler")
class Digests(support.TestCase):
    def digest_of(self, folder, text, *options):
        source = self.file(f"{folder}/a.c", text)
        subprocess.run(["cc", "-g", f"-ffile-prefix-map={source.parent}=.", *options, "-c", source, "-o",
                        source.parent / "a.o"], check=True)
        return digest(source.parent / "a.o")

    def test_neither_folder_nor_comment_counts_but_code_does(self):
        code = "const char* file() { return __FILE__; }\n"
        one = self.digest_of("one", code)
        self.assertEqual(one, self.digest_of("two", code))
        self.assertEqual(one, self.digest_of("three", "/* why */\n" + code))
        self.assertNotEqual(one, self.digest_of("four", code + "int more;\n"))

    def test_other_files_count_as_they_are(self):
        for kind in ("", "\x7fELF of a machine that objcopy does not know"):
            self.assertNotEqual(digest(self.file("a", kind + "x")), digest(self.file("b", kind + "y")))


if __name__ == "__main__":
    unittest.main()
