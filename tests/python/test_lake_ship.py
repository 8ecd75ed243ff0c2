# SPDX-License-Identifier: Apache-2.0
"""tracer lake ship: each part arrives exactly once with its bytes, whatever is killed, cut, refused or full; and the status says why."""

from __future__ import annotations

import json
import os
import pwd
import random
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from lake_doubles import Double, environment, free_port
from lake_shipping import BOOT, HOST, RECORDINGS, Shipping
from support import wait_until

import tracer
from lakes import put, recording

try:
    import obstore  # noqa: F401
except ImportError as missing:
    raise unittest.SkipTest(f"not installed: {missing.name}")

from tracer.lake import _ship
from tracer.lake._outbox import Outbox
from tracer.lake._over_hosts import runs_of
from tracer.lake._store import open_store


class ToAFolder(Shipping):
    def test_all_arrives_oldest_first_with_users(self) -> None:
        for number in range(len(RECORDINGS)):
            self.add(number)
        self.add(50, owner=str(pwd.getpwnam("nobody").pw_uid))
        self.add(51, b"", owner="4000000")
        self.add(52, owner="all")
        gap = self.add(53, json.dumps({"schema": 1, "first": 3, "last": 53, "cause": "outbox_full"}).encode(), kind="gap")
        # The oldest by time, not by name.
        first = self.outbox / self.add(9000)
        os.utime(first, (1, 1))
        status = self.status()
        self.assertEqual(status["waiting"], {"parts": len(RECORDINGS) + 4, "bytes": sum(map(len, self.truth.values())),
                                             "oldest_unix_ns": 10**9})
        self.assertEqual(status["gaps"], [{"part": gap, "schema": 1, "first": 3, "last": 53, "cause": "outbox_full"}])
        self.assertIn(f"Gap: {gap}: parts 3 to 53 are missing: outbox_full", self.told())
        (self.outbox / HOST / "notes.txt").write_text("no part")
        (self.outbox / HOST / BOOT / "0/.7e1f-00000001.tracer").write_text("unfinished")
        self.assertIn(f"{len(RECORDINGS) + 4} parts, ", self.once())
        (self.outbox / HOST / BOOT / "0/.7e1f-00000001.tracer").unlink()
        self.arrived()
        self.assertEqual(json.loads((self.lake / f"users/{HOST}.json").read_text()),
                         {"schema": 1, "users": {"0": "root", str(pwd.getpwnam("nobody").pw_uid): "nobody"}})
        times = {path: (self.lake / "raw/v2" / path).stat().st_ctime_ns for path in self.truth}
        self.assertEqual(min(times, key=lambda path: times[path]), str(first.relative_to(self.outbox)))
        shipper = self.status()["shipper"]
        assert isinstance(shipper, dict)
        self.assertEqual((shipper["shipped_parts"], shipper["shipped_gaps"], shipper["running"]), (len(RECORDINGS) + 4, 1, False))
        self.assertLess(time.time_ns() - shipper["last_shipped_unix_ns"], 60e9)

    def add_recording(self, name: str) -> str:
        """Under its own name. Its path in the outbox."""
        made = put(self.folder / "made", recording(name))
        path = str(made.relative_to(self.folder / "made/raw/v2"))
        (self.outbox / path).parent.mkdir(parents=True, exist_ok=True)
        made.rename(self.outbox / path)
        self.truth[path] = recording(name)
        return path

    def test_users_of_a_recording_of_the_whole_host(self) -> None:
        """Owners of its runs, and whose processes are in none; they are named before the part is there."""
        self.add_recording("service-host")
        uids = {row["uid"] for row in tracer.read(RECORDINGS[0].parent / "service-host.tracer").processes.rows() if row["uid"] is not None}
        self.assertGreater(len(uids), 2)
        order: list[str] = []
        store = open_store(self.target)
        put_new, put_any = store.put_new, store.put
        with mock.patch.object(_ship.pwd, "getpwuid", lambda uid: mock.Mock(pw_name=f"user{uid}")), \
                mock.patch.object(store, "put_new", lambda *given: order.append(given[0]) or put_new(*given)), \
                mock.patch.object(store, "put", lambda *given: order.append(given[0]) or put_any(*given)):
            self.assertIsNone(_ship.Shipper(Outbox(str(self.outbox)), store, self.target).round(once=True))
        self.assertEqual([key.split("/")[0] for key in order], ["users", "raw", "index"])
        users = json.loads((self.lake / "users/node1.json").read_text())["users"]
        # The service's own process lives on: it has no row.
        self.assertEqual(users | {str(2**31 - 2): ""}, {str(uid): f"user{uid}" for uid in uids} | {str(2**31 - 2): ""})
        self.assertEqual({run.user for run in runs_of(open_store(self.target))} - {f"user{uid}" for uid in uids}, set())

    def test_many_that_are_refused_hold_up_no_other(self) -> None:
        for number in range(1, 301):
            other = self.lake / "raw/v2" / self.add(number, b"x")
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_bytes(b"other")
        shipper = self.follow()
        wait_until(lambda: "TRC153" in self.told(), "a refusal")
        begun = time.monotonic()
        path = self.add(9999, b"good")
        wait_until(lambda: not (self.outbox / path).exists(), "a part behind all", 60)
        again = self.add(9998, b"good")
        wait_until(lambda: not (self.outbox / again).exists(), "one when all have failed")
        self.assertLess(time.monotonic() - begun, 60)
        self.assertEqual(len(self.left()), 300)
        shipper.kill()

    def test_links_of_who_may_write_in_the_outbox_are_not_followed(self) -> None:
        victim = self.folder / "victim"
        victim.write_text("of root")
        for name in (".ship.json", "ship.json"):
            (self.outbox / "ship.json").unlink(missing_ok=True)
            (self.outbox / name).symlink_to(victim)
            self.add(1)
            self.tracer("ship", "--once", self.target)
            self.assertEqual(victim.read_text(), "of root")
        (self.outbox / "ship.json").unlink()
        os.mkfifo(self.outbox / "ship.json")
        self.assertIn("1 part to ship", self.told())

    def test_what_is_there_with_the_same_bytes_leaves_the_outbox(self) -> None:
        path = self.add(1)
        self.once()
        def facts() -> tuple[int, int]:
            now = os.stat(self.lake / "raw/v2" / path)
            return now.st_ino, now.st_mtime_ns

        before = facts()
        for _ in range(3):
            self.add(1)
            self.once()
        self.assertEqual(facts(), before)
        self.arrived()

    def test_what_is_there_with_others_stays_and_blocks_nothing(self) -> None:
        for number in range(6):
            self.add(number)
        other = self.add(3, b"other bytes")
        shorter = self.add(4, RECORDINGS[4].read_bytes())
        self.once()
        for number in range(6):
            self.add(number)
        self.assertIn("TRC153", self.once(1))
        self.assertEqual(self.left(), {other, shorter})
        self.assertEqual(self.in_lake()[other], b"other bytes")
        self.assertIn("with other bytes than", self.told())
        # Whoever puts it right: it goes.
        (self.lake / "raw/v2" / other).unlink()
        (self.lake / "raw/v2" / shorter).unlink()
        self.once()
        self.arrived()
        self.assertNotIn("Fails", self.told())

    def test_it_is_killed_twenty_times(self) -> None:
        self.kill_often()

    def test_two_shippers_and_an_end(self) -> None:
        self.add(1)
        shipper = self.follow()
        wait_until(lambda: not self.left(), "a shipped part")
        self.assertIn("another shipper works on", self.once(1))
        self.assertIn("A shipper runs, to", self.told())
        self.add(2)
        wait_until(lambda: not self.left(), "another shipped part")
        shipper.terminate()
        shipper.wait(2)
        self.assertIn("No shipper runs", self.told())
        self.arrived()

    def test_a_lake_that_is_not_mounted(self) -> None:
        self.add(1)
        self.lake.rmdir()
        shipper = self.follow()
        wait_until(lambda: "or mount it" in self.told(), "the cause")
        self.assertFalse(self.lake.exists())
        self.lake.mkdir()
        wait_until(lambda: not self.left(), "a shipped part")
        self.assertIsNone(shipper.poll())
        self.arrived()

    @unittest.skipUnless(os.geteuid() == 0, "needs root: it mounts a small file system")
    def test_a_full_lake(self) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.lake], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.lake], check=True)
        (self.lake / "ballast").write_bytes(bytes(500_000))
        self.add(1, random.randbytes(800_000))
        self.add(2, b"small")
        shipper = self.follow()
        wait_until(lambda: "No space left on device" in self.told(), "the cause")
        wait_until(lambda: len(self.left()) == 1, "the small part")
        self.assertEqual(list(self.in_lake().values()), [b"small"])
        (self.lake / "ballast").unlink()
        wait_until(lambda: not self.left(), "the large part", 60)
        self.assertIsNone(shipper.poll())
        self.arrived()

    @unittest.skipUnless(os.geteuid() == 0, "needs root: it mounts a small file system")
    def test_a_full_outbox(self) -> None:
        """There is no room for the state either."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.outbox], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.outbox], check=True)
        for number in range(3):
            self.add(number)
        ballast = self.outbox / "ballast"
        with self.assertRaisesRegex(OSError, "No space"), ballast.open("wb", 0) as file:
            while True:
                file.write(bytes(4096))
        self.once()
        self.arrived()

    @unittest.skipUnless(os.geteuid() == 0, "needs root: it gives up its rights")
    def test_without_rights(self) -> None:
        path = self.add(1)
        subprocess.run(["chown", "-R", "nobody", self.outbox], check=True)

        def powerless(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m", "tracer", "lake", *words,
                                   "--outbox", str(self.outbox)], text=True, env=self.environment, capture_output=True)

        done = powerless("ship", "--once", str(self.lake))
        self.assertEqual((done.returncode, "TRC152" in done.stderr), (1, True), done.stderr)
        self.assertIn("run as the user tracer-ship", done.stderr)
        self.assertEqual(powerless("status").returncode, 0)
        self.outbox.chmod(0o700)
        done = powerless("status")
        self.assertEqual((done.returncode, "TRC152" in done.stderr, done.stdout), (1, True, ""))
        self.assertEqual(self.left(), {path})

    def test_addresses(self) -> None:
        for target, said in (("s3://key:secret@bucket/x", "would show its key"), ("az://c/x?sig=secret", "would show its key"),
                             ("ftp://host/x", "ftp://"), ("s3://", "no bucket")):
            done = self.tracer("ship", "--once", target)
            self.assertEqual((done.returncode, said in done.stderr, "secret" in done.stderr), (2, True, False), done.stderr)


class ToABadServer(Shipping):
    """What each answer of a store leads to."""

    def setUp(self) -> None:
        super().setUp()
        self.double = Double(self.addCleanup)
        self.environment = environment(self.double.url)
        self.target = "s3://lake/x"

    def in_lake(self) -> dict[str, bytes]:
        prefix = "/lake/x/raw/v2/"
        return {key.removeprefix(prefix): data for key, data in self.double.objects.items() if key.startswith(prefix)}

    def puts(self, path: str) -> int:
        return self.double.requests.count(f"PUT /lake/x/raw/v2/{path}")

    def test_an_unknown_outcome_is_looked_at_and_tried_again(self) -> None:
        # Names of users are put once.
        self.add(len(self.truth))
        self.once()
        for act in (500, 503, 429, 409, 408, "cut", "lost", "slow"):
            with self.subTest(act):
                self.double.plan = [act]
                path = self.add(len(self.truth))
                shipper = self.follow()
                wait_until(lambda: not self.left(), f"a part after {act}")
                shipper.kill()
                shipper.wait()
                # What was lost after it was kept, and what came late, is not sent again.
                self.assertEqual(self.puts(path), 1 if act in ("lost", "slow") else 2)
        self.arrived()

    def test_a_refusal_is_said_and_blocks_nothing(self) -> None:
        self.double.always = {"-00000001.": 403, "-00000002.": 400}
        self.double.bodies[403] = "<Error><Code>AccessDenied</Code><Message>not you</Message></Error>"
        kept = {self.add(1), self.add(2)}
        self.add(3)
        shipper = self.follow()
        wait_until(lambda: self.left() == kept, "the part that nobody refuses")
        self.add(4)
        wait_until(lambda: self.left() == kept, "a later part")
        self.assertIn("TRC150: can't put s3://lake/x/raw/v2/node-1/0f0e-11/0/7e1f-00000001.tracer: 403 AccessDenied: not you", self.told())
        self.assertEqual([self.puts(path) for path in sorted(kept)], [1, 1])
        shipper.kill()
        shipper.wait()
        self.double.always = {}
        self.once()
        self.arrived()

    def test_a_clock_that_is_off(self) -> None:
        self.double.plan = [403]
        self.double.bodies[403] = ("<Error><Code>RequestTimeTooSkewed</Code><Message>The difference between the request time and the "
                                   "current time is too large.</Message></Error>")
        self.add(1)
        self.assertIn("set the clock of this machine", self.once(1))
        self.once()
        self.arrived()

    def test_a_server_that_hangs_does_not_hold_the_end(self) -> None:
        self.double.plan = ["hang"]
        path = self.add(1)
        for number in (signal.SIGTERM, signal.SIGINT):
            shipper = self.follow()
            wait_until(lambda: f"Sends {path} for" in self.told(), "what is sent")
            shipper.send_signal(number)
            shipper.wait(2)
            self.double.plan = ["hang"]
        self.double.plan = []
        self.once()
        self.arrived()

    def test_a_server_that_is_down_and_comes(self) -> None:
        port = free_port()
        self.environment = environment(f"http://127.0.0.1:{port}")
        for number in range(5):
            self.add(number)
        shipper = self.follow()
        wait_until(lambda: "Connection refused" in self.told(), "the cause")
        self.assertIn("Fails since 2", self.told())
        self.double = Double(self.addCleanup, port)
        wait_until(lambda: not self.left(), "the parts", 60)
        self.arrived()
        shipper.kill()
        assert shipper.stderr
        said = shipper.stderr.read()
        self.assertEqual(said.count("TRC151"), 1, said)
        self.assertIn("everything is shipped again", said)

    def test_a_proxy(self) -> None:
        """Requests for an address that only the proxy knows."""
        self.environment = environment("http://store.invalid:80", http_proxy=self.double.url)
        del self.environment["no_proxy"]
        self.add(1)
        self.once()
        self.arrived()

    def test_google(self) -> None:
        keys = self.folder / "keys.json"
        keys.write_text(json.dumps({"gcs_base_url": self.double.url, "disable_oauth": True, "client_email": "", "private_key": "",
                                    "private_key_id": ""}))
        self.environment["GOOGLE_SERVICE_ACCOUNT"] = str(keys)
        self.target = "gs://lake/x"
        self.double.plan = ["lost", 503]
        for number in range(3):
            self.add(number)
        self.once(1)
        self.once()
        self.add(1)
        self.once()
        self.arrived()

    def test_profiles_by_boto3(self) -> None:
        import boto3  # noqa: F401

        (self.folder / ".aws").mkdir()
        (self.folder / ".aws/credentials").write_text("[lab]\naws_access_key_id = of-lab\naws_secret_access_key = secret\n")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            del self.environment[name]
        self.environment |= {"HOME": str(self.folder), "AWS_PROFILE": "lab"}
        self.add(1)
        self.once()
        self.arrived()
        self.environment["AWS_PROFILE"] = "other"
        done = self.tracer("ship", "--once", self.target)
        self.assertEqual((done.returncode, "AWS_PROFILE" in done.stderr), (2, True), done.stderr)


if __name__ == "__main__":
    unittest.main()
