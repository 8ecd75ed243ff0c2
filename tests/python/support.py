# SPDX-License-Identifier: Apache-2.0
"""What tests of the package share."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDINGS = ROOT / "tests/data/recordings"
TRACERD = os.environ.get("TRACERD", str(ROOT / "build/dev/tracerd"))


@functools.cache
def can_trace() -> bool:
    import tracer

    return bool(tracer.check())


def needs_tracing(test: type[unittest.TestCase]) -> type[unittest.TestCase]:
    return unittest.skipUnless(can_trace(), "needs the right to trace")(test)


def run_python(code: str, *arguments: str, timeout: float = 60, **options: object) -> subprocess.CompletedProcess[str]:
    """A Python of its own with this package: its streams as text."""
    return subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(code), *arguments],
        capture_output=True, text=True, timeout=timeout, **options,  # type: ignore[call-overload]
    )


def wait_until(fact: Callable[[], object], what: str, timeout: float = 30.0) -> None:
    """For a fact, not for a time."""
    until = time.monotonic() + timeout
    while not fact():
        if time.monotonic() > until:
            raise AssertionError(f"it never came: {what}")
        time.sleep(0.01)


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def descriptors() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return sorted(found)


def resident_bytes() -> int:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no Rss in smaps_rollup")


class TempDir(unittest.TestCase):
    """With a folder of its own, which is gone after each test."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tracer-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


def begin_service(folder: Path, clean_up: Callable[..., object], configured: str = "") -> str:
    """Its socket, once it answers. `clean_up`: addCleanup of a test, or addClassCleanup."""
    place, config = str(folder / "tracer.sock"), folder / "tracerd.toml"
    config.write_text("schema = 1\n" + configured)
    service = subprocess.Popen([TRACERD, "serve", "--foreground", "--config", str(config), "--socket", place],
                               stderr=subprocess.DEVNULL)

    def end() -> None:
        service.kill()
        service.wait()

    clean_up(end)

    def answers() -> bool:
        if service.poll() is not None:
            raise AssertionError("the service has ended")
        return service_answers(place)

    wait_until(answers, "an answer of the service")
    return place


def service_answers(place: str) -> bool:
    """What begins from now on is seen from its beginning."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(place)
            client.sendall(b'{"request":"hello","version":1}\n')
            return bool(client.recv(65536))
        except OSError:
            return False
