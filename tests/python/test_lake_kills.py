# SPDX-License-Identifier: Apache-2.0
"""From a service to tables, while the service, the shipper, two compactors and the store are killed: each process is there exactly once.

TRACER_LAKE_KILLS is how many kills; by default, 20."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from lake_doubles import Gateway, environment, versitygw
from support import ROOT, TRACERD, TempDir, can_trace

import tracer

KILLS = int(os.environ.get("TRACER_LAKE_KILLS", "20"))
WORKLOAD = """
i=0
while [ ! -e "$1/stop" ]; do i=$((i + 1)); /bin/true "$2-$i"; echo $i > "$1/count.new"; mv "$1/count.new" "$1/count"; sleep 0.02; done
"""


def load(name: str) -> object:
    """Of the command line's tests, which have a module `support` of their own."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests/cli" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Again:
    """A command that is begun again whenever it has ended."""

    def __init__(self, *words: str, log: Path) -> None:
        self._words, self._log = words, log
        self._process: subprocess.Popen[bytes] | None = None

    def look(self) -> None:
        if self._process is None or self._process.poll() is not None:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(self._words, stdout=log, stderr=log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@unittest.skipUnless(can_trace(), "needs root")
class Kills(TempDir):
    def test_each_process_once_in_a_folder(self) -> None:
        lake = self.folder / "lake"
        lake.mkdir()
        self.check(str(lake), {}, None)

    @unittest.skipUnless(versitygw(), "needs versitygw: go install github.com/versity/versitygw/cmd/versitygw@latest")
    def test_each_process_once_in_s3(self) -> None:
        """With TLS by a CA of our own."""
        gateway = Gateway(self.folder)
        gateway.start()
        self.addCleanup(gateway.stop)

        def restart() -> None:
            gateway.stop()
            gateway.start()

        self.check("s3://lake/x", environment(gateway.url, gateway.ca), restart)

    def check(self, lake: str, settings: dict[str, str], restart_store: Callable[[], None] | None) -> None:
        patch = mock.patch.dict(os.environ, settings)
        patch.start()
        self.addCleanup(patch.stop)
        outbox = self.folder / "recordings/outbox"
        outbox.mkdir(parents=True)
        config = self.folder / "tracerd.toml"
        config.write_text(f'schema = 1\n[recordings]\nfolder = "{self.folder}/recordings"\nseal_s = 1\nfiles = 900\noutbox = "{outbox}"\n')
        socket = str(self.folder / "tracer.sock")
        keeper = load("keeper").Keeper([TRACERD, "serve", "--config", str(config), "--socket", socket], str(self.folder))  # type: ignore[attr-defined]
        self.addCleanup(keeper.close)

        def begin_service() -> None:
            keeper.start()
            self.assertTrue(keeper.ready.wait(60), "the service is not ready")

        begin_service()
        token = f"lake-kills-{os.getpid()}"
        workload = subprocess.Popen(["sh", "-c", WORKLOAD, "sh", str(self.folder), token])
        self.addCleanup(workload.wait)
        self.addCleanup(workload.kill)
        words = (sys.executable, "-m", "tracer", "lake")
        shipper = Again(*words, "ship", "--outbox", str(outbox), lake, log=self.folder / "ship.log")
        compactors = [Again(*words, "compact", lake, log=self.folder / f"compact{i}.log") for i in range(2)]
        others = [shipper, *compactors]
        for each in others:
            self.addCleanup(each.kill)
        chance = random.Random(KILLS)
        for _ in range(KILLS):
            for each in others:
                each.look()
            time.sleep(chance.uniform(0.2, 2.0))
            victim = chance.randrange(5 if restart_store else 4)
            if victim == 0:
                keeper.end(signal.SIGKILL)
                begin_service()
            elif victim == 4:
                assert restart_store
                restart_store()
            else:
                others[victim - 1].kill()
        (self.folder / "stop").touch()
        workload.wait()
        count = int((self.folder / "count").read_text())
        # What ends is sealed, too.
        keeper.end(signal.SIGINT)
        for each in others:
            each.kill()
        self.done(*words, "ship", "--once", "--outbox", str(outbox), lake)
        self.done(*words, "compact", lake)
        found = tracer.lake(lake)
        rows = found.sql(f"SELECT argv[2] FROM processes WHERE argv[2] LIKE '{token}-%'").fetchall()
        times = Counter(row[0] for row in rows)
        self.assertEqual({name: often for name, often in times.items() if often != 1}, {}, "some are there twice")
        missing = [i for i in range(1, count + 1) if f"{token}-{i}" not in times]
        losses = found.sql("SELECT cause, count FROM losses").fetchall()
        self.assertEqual(missing, [], f"of {count}; losses: {losses}")
        self.assertGreater(count, 10 * KILLS)
        self.assertEqual([path for path in outbox.rglob("*.tracer")], [], "all is shipped")
        print(f"\n{lake}: {KILLS} kills, {count} processes, each once", file=sys.stderr)

    def done(self, *words: str) -> None:
        for _ in range(10):
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode == 0:
                return
            time.sleep(1)
        self.fail(done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
