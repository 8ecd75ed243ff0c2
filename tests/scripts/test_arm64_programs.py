# SPDX-License-Identifier: Apache-2.0
"""No machine here runs them, so that they are translated for it is all that is seen."""
import subprocess
import unittest

import support


class Arm64Programs(support.TestCase):
    def test_the_programs_of_each_family_are_translated_for_arm64_without_a_warning(self):
        sources = sorted((support.ROOT / "bpf").glob("*.bpf.c"))
        self.assertGreaterEqual(len(sources), 10)
        for source in sources:
            with self.subTest(source.name):
                done = subprocess.run(
                    ["clang", "-target", "bpf", "-D__TARGET_ARCH_arm64", "-O2", "-g", "-mcpu=v3", "-Wall", "-Werror",
                     "-Wno-unknown-attributes", "-c", source, "-o", self.folder / f"{source.stem}.o"],
                    capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
