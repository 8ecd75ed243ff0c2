# SPDX-License-Identifier: Apache-2.0
import unittest

import support
import arm64_programs


class Arm64Programs(support.TestCase):
    def test_the_programs_of_each_family_are_translated_for_arm64_without_a_warning(self):
        sources = sorted((support.ROOT / "bpf").glob("*.bpf.c"))
        self.assertGreaterEqual(len(sources), 10)
        for source in sources:
            with self.subTest(source.name):
                self.assertEqual(arm64_programs.translate(source, self.folder / f"{source.stem}.o"), (0, ""))


if __name__ == "__main__":
    unittest.main()
