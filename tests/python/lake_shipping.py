# SPDX-License-Identifier: Apache-2.0
"""An outbox, a shipper over it, and what must be in the lake in the end."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time

from lake_doubles import environment
from support import ROOT, TempDir, wait_until

RECORDINGS = sorted((ROOT / "tests/data/recordings").glob("*.tracer"))
HOST, BOOT = "node-1", "0f0e-11"


class Shipping(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.outbox = self.folder / "outbox"
        self.outbox.mkdir()
        self.lake = self.folder / "lake"
        self.lake.mkdir()
        self.truth: dict[str, bytes] = {}
        """What must be in the lake in the end."""
        self.environment = environment("http://127.0.0.1:1")
        self.target = str(self.lake)

    def add(self, number: int, data: bytes | None = None, owner: str = "0", kind: str = "tracer") -> str:
        """A part appears as the service makes it: whole, by a rename. Its path in the outbox."""
        path = f"{HOST}/{BOOT}/{owner}/7e1f-{number:08}.{kind}"
        if data is None:
            # No two are the same.
            data = RECORDINGS[number % len(RECORDINGS)].read_bytes() + str(number).encode()
        place = self.outbox / path
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.parent / f".{place.name}"
        unfinished.write_bytes(data)
        unfinished.rename(place)
        self.truth[path] = data
        return path

    def tracer(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "tracer", "lake", *words, "--outbox", str(self.outbox)], env=self.environment,
                              capture_output=True, text=True, timeout=60)

    def once(self, status: int = 0) -> str:
        done = self.tracer("ship", "--once", self.target)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def follow(self, **options: object) -> subprocess.Popen[str]:
        shipper = subprocess.Popen([sys.executable, "-m", "tracer", "lake", "ship", "--outbox", str(self.outbox), self.target],
                                   env=self.environment, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
        self.addCleanup(lambda: (shipper.kill(), shipper.wait(), shipper.stderr and shipper.stderr.close()))
        return shipper  # type: ignore[no-any-return]

    def status(self) -> dict[str, object]:
        done = self.tracer("status", "--json")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        status = json.loads(done.stdout)
        self.assertEqual(done.returncode == 3, bool(status["shipper"].get("failing_parts")))
        return status  # type: ignore[no-any-return]

    def told(self) -> str:
        return self.tracer("status").stdout

    def left(self) -> set[str]:
        return {str(path.relative_to(self.outbox)) for path in self.outbox.glob("*/*/*/*")}

    def in_lake(self) -> dict[str, bytes]:
        raw = self.lake / "raw/v2"
        return {str(path.relative_to(raw)): path.read_bytes() for path in raw.rglob("*") if path.is_file()}

    def arrived(self) -> None:
        """All of it, each once, and nothing else: no unfinished file either."""
        there = self.in_lake()
        self.assertEqual(sorted(there), sorted(self.truth))
        self.assertEqual([path for path, data in there.items() if data != self.truth[path]], [])
        self.assertEqual(self.left(), set())

    def kill_often(self, kills: int = 20) -> None:
        """A shipper at random points of its work."""
        dice = random.Random(os.environ.get("TRACER_SEED", "7"))
        for kill in range(kills):
            for number in range(25):
                self.add(kill * 100 + number, owner=dice.choice(("0", "all", "65534")))
            self.add(kill * 100 + 99, dice.randbytes(3_000_000))
            waiting = len(self.left())
            shipper = self.follow()
            wait_until(lambda: len(self.left()) < waiting or shipper.poll() is not None, "a shipper that ships")
            time.sleep(dice.random() * 0.8)
            self.assertIsNone(shipper.poll())
            shipper.kill()
            shipper.wait()
        before = len(self.left())
        self.once()
        self.arrived()
        noted = [each["part"] for path in self.lake.glob(f"index/{HOST}/*.json") for each in json.loads(path.read_text())["parts"]]
        self.assertEqual(sorted(set(noted)), sorted(self.truth))
        print(f"{kills} kills, {len(self.truth)} parts, {before} left by the last kill", file=sys.stderr)
