# SPDX-License-Identifier: Apache-2.0
"""The service itself, for tests of plugins."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import unittest

import ending

TRACERD = os.environ.get("TRACERD", str(pathlib.Path(__file__).resolve().parents[2] / "build/dev/tracerd"))


class RealService(unittest.TestCase):
    """With `folder`, a Path, and `socket`, where the service listens."""

    def begin_service(self):
        if os.geteuid() != 0 or not os.access(TRACERD, os.X_OK) or subprocess.run([TRACERD, "check"], capture_output=True, check=False).returncode:
            self.skipTest("needs root, TRACERD, and the right to trace")
        config = self.folder / "tracerd.toml"
        config.write_text(f'schema = 1\n[socket]\nadmin_path = "{self.folder}/admin.sock"\n')
        service = subprocess.Popen([TRACERD, "serve", "--config", config, "--socket", self.socket], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(ending.end, service, signal.SIGINT, 60)
        until = time.monotonic() + 60
        while not self.ask("hello", version=1):
            self.assertLess(time.monotonic(), until, "the service does not answer")
            time.sleep(0.1)

    def ask(self, name, **keys):
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError, ValueError):
            client.settimeout(10)
            client.connect(self.socket)
            client.sendall(json.dumps({"request": name, **keys}).encode() + b"\n")
            return json.loads(client.makefile().readline())
        return None
