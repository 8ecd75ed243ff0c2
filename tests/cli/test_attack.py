# SPDX-License-Identifier: Apache-2.0
"""tests/hostile for some seconds: an ordinary user attacks a tracerd that watches the host, and one that serves."""

import os
import subprocess
import sys

import support

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hostile")


class Attack(support.TestCase):
    ALONE = "it takes all CPUs"

    def assert_holds(self, script, *options):
        if not os.access("/usr/bin/python3", os.X_OK):
            self.skipTest("there is no Python that other users may execute")
        result = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, script), *options], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False, timeout=4 * support.DEADLINE_SECONDS,
                                env=os.environ | {"TRACERD": support.TRACERD})
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_it_holds(self):
        self.assert_holds("run", "--minutes", "0.2")

    def test_a_service_holds(self):
        """All attacks on it, and with a descriptor store, are steps of scripts/test that take turns."""
        self.assert_holds("serve", "--minutes", "0.1", "--processes", "300", "--attack", "labels", "requests", "files")

    def test_a_service_with_a_descriptor_store_holds(self):
        self.assert_holds("serve", "--minutes", "0.1", "--processes", "300", "--store", "--attack", "ended_tasks")


if __name__ == "__main__":
    support.main()
