# SPDX-License-Identifier: Apache-2.0
"""tests/hostile/run for some seconds: an ordinary user attacks a tracerd that watches the host."""

import os
import subprocess
import sys

import support

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hostile", "run")


class Attack(support.TestCase):
    ALONE = "it takes all CPUs"

    def test_it_holds(self):
        if not os.access("/usr/bin/python3", os.X_OK):
            self.skipTest("there is no Python that other users may execute")
        result = subprocess.run([sys.executable, "-B", SCRIPT, "--minutes", "0.2"], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False, timeout=4 * support.DEADLINE_SECONDS,
                                env=os.environ | {"TRACERD": support.TRACERD})
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    support.main()
