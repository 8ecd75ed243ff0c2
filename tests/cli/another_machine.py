# SPDX-License-Identifier: Apache-2.0
"""Another machine, as it seems: a network namespace behind a pair of virtual devices, in which a server runs."""

import os
import shutil
import subprocess
import unittest

import support


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip") and shutil.which("unshare"), "needs root, ip and unshare")
class AnotherMachine(support.TestCase):
    """The class that inherits it names them."""

    network = None  # "10.231.7": it has the address .2 there, and this machine .1.
    device = None  # The beginning of a name.
    server = None  # A Python program whose first line on standard output is its port.

    def setUp(self):
        super().setUp()
        self.other = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; read go; exec python3 -c \"$0\"", self.server],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.other.stdout.readline()
        near = f"{self.device}{os.getpid() % 100000}"
        made = subprocess.run(["ip", "link", "add", near, "type", "veth", "peer", "name", "far", "netns",
                               str(self.other.pid)], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest(f"no virtual devices here: {made.stderr}")
        self.addCleanup(subprocess.run, ["ip", "link", "delete", near], check=False, stderr=subprocess.DEVNULL)
        inside = ["nsenter", "--net", "-t", str(self.other.pid)]
        for words in (["ip", "address", "add", f"{self.network}.1/24", "dev", near], ["ip", "link", "set", near, "up"],
                      [*inside, "ip", "address", "add", f"{self.network}.2/24", "dev", "far"],
                      [*inside, "ip", "link", "set", "far", "up"]):
            subprocess.run(words, check=True)
        self.other.stdin.write("\n")
        self.other.stdin.flush()
        self.port = self.other.stdout.readline().strip()

    def end(self):
        self.other.kill()
        self.other.communicate()
