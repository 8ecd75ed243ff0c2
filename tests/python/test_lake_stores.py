# SPDX-License-Identifier: Apache-2.0
"""A lake's stores: what a shipper and readers rely on, in a folder and in S3; and shipping to S3, by a real server, and to Azure."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from lake_doubles import Gateway, environment, free_port, is_open, make_ca, start_moto, versitygw
from lake_shipping import HOST, Shipping
from support import TempDir, wait_until

try:
    import obstore  # noqa: F401
except ImportError as missing:
    raise unittest.SkipTest(f"not installed: {missing.name}")

from tracer.lake._store import Store, open_store

NO_GATEWAY = "needs versitygw: go install github.com/versity/versitygw/cmd/versitygw@latest"


class Folder(TempDir):
    def store(self) -> Store:
        return open_store(str(self.folder / "."))

    def test_objects(self) -> None:
        store = self.store()
        part, other = "raw/v2/h/b/1/s-00000001.tracer", "raw/v2/h/b/1/s-00000002.tracer"
        data = random.randbytes(3_000_001)
        (self.folder / "file").write_bytes(data)
        self.assertEqual(store.put_new(part, self.folder / "file"), "made")
        self.assertEqual([store.put_new(part, given) for given in (data, data[:-1] + b"x", data[:-1], data + b"x", b"")],
                         ["same", "other", "other", "other", "other"])
        self.assertEqual([store.put_new(other, b"") for _ in range(2)], ["made", "same"])
        self.assertEqual(store.get(part), data)
        store.get_to(part, self.folder / "got")
        self.assertEqual((self.folder / "got").read_bytes(), data)
        self.assertEqual(store.get(other), b"")
        store.put("users/h.json", b"one")
        store.put("users/h.json", b"two")
        self.assertEqual(store.get("users/h.json"), b"two")
        with self.assertRaises(KeyError):
            store.get("users/i.json")
        with self.assertRaises(KeyError):
            store.get_to("users/i.json", self.folder / "nothing")
        self.assertFalse((self.folder / "nothing").exists())
        listed = dict(store.list("raw/"))
        self.assertEqual(set(listed), {part, other})
        self.assertTrue(all(abs(time.time() - made_s) < 60 for made_s in listed.values()), listed)
        self.assertEqual(list(store.list("ra/")), [])
        store.tidy("raw/v2/h/b/1/")
        store.tidy("raw/v2/none/")
        for key in (other, other, "none"):
            store.delete(key)
        self.assertEqual([key for key, _ in store.list("raw/v2/")], [part])

    def test_one_of_many_writers_makes_it(self) -> None:
        store = self.store()
        for number in range(20):
            with ThreadPoolExecutor(16) as pool:
                done = list(pool.map(lambda writer: store.put_new(f"raw/v2/{number}", b"%d" % writer * 1000), range(16)))
            self.assertEqual(sorted(done), ["made"] + ["other"] * 15)
            self.assertEqual(store.get(f"raw/v2/{number}"), b"%d" % done.index("made") * 1000)
            self.assertEqual(len(list(store.list("raw/v2/"))), number + 1)


@unittest.skipUnless(versitygw(), NO_GATEWAY)
class S3(Folder):
    def store(self) -> Store:
        gateway = Gateway(self.folder)
        gateway.start()
        self.addCleanup(gateway.stop)
        patch = mock.patch.dict(os.environ, environment(gateway.url, gateway.ca))
        patch.start()
        self.addCleanup(patch.stop)
        return open_store("s3://lake/x/")


class ToMoto(Shipping):
    def test_all_arrives(self) -> None:
        import urllib.request

        url = start_moto(self.addCleanup)
        urllib.request.urlopen(urllib.request.Request(f"{url}/lake", method="PUT")).close()
        self.environment = environment(url)
        self.target = "s3://lake/x"
        self.add(1)
        self.once()
        self.add(1)
        self.once()
        self.add(1, b"other")
        self.assertIn("TRC153", self.once(1))


@unittest.skipUnless(versitygw(), NO_GATEWAY)
class ToS3(Shipping):
    """A real server, with TLS by a CA of our own."""

    def setUp(self) -> None:
        super().setUp()
        self.gateway = Gateway(self.folder)
        self.gateway.start()
        self.addCleanup(self.gateway.stop)
        self.environment = environment(self.gateway.url, self.gateway.ca)
        self.lake = self.gateway.objects / "x"
        self.target = "s3://lake/x"

    def test_same_and_other_bytes(self) -> None:
        for number in range(4):
            self.add(number)
        other = self.add(2, b"other bytes")
        self.once()
        for number in range(4):
            self.add(number)
        self.assertIn("TRC153", self.once(1))
        self.assertEqual((self.left(), self.in_lake()[other]), ({other}, b"other bytes"))
        self.assertEqual(json.loads((self.lake / f"users/{HOST}.json").read_text())["users"], {"0": "root"})

    def test_it_is_killed_twenty_times(self) -> None:
        self.kill_often()

    def test_a_server_that_is_killed_too(self) -> None:
        dice = random.Random(3)
        shipper = self.follow()
        for kill in range(8):
            for number in range(15):
                self.add(kill * 100 + number, dice.randbytes(200_000))
            time.sleep(dice.random() * 0.7)
            self.gateway.stop()
            time.sleep(dice.random() * 0.5)
            self.gateway.start()
        # It may have waited for as long as the server was away.
        wait_until(lambda: not self.left(), "all parts", 120)
        shipper.kill()
        self.arrived()

    def test_a_wrong_key_and_a_wrong_ca(self) -> None:
        path = self.add(1)
        self.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
        shipper = self.follow()
        wait_until(lambda: "403 SignatureDoesNotMatch" in self.told(), "the cause")
        shipper.kill()
        shipper.wait()
        # The server closes the connection in the middle of a large one, before its refusal can be read.
        self.add(2, random.randbytes(30_000_000))
        self.assertIn("403 SignatureDoesNotMatch", self.once(1))
        make_ca(self.folder, "another")
        self.environment = environment(self.gateway.url, str(self.folder / "another.pem"))
        self.assertIn("its certificate is not accepted: UnknownIssuer\n  Fix: name the file", self.once(1))
        self.assertIn(path, self.left())
        self.environment = environment(self.gateway.url, self.gateway.ca)
        self.once()
        self.arrived()

    def test_no_bucket(self) -> None:
        self.add(1)
        self.target = "s3://nothing/x"
        self.assertIn("404 NoSuchBucket", self.once(1))

    def test_memory_and_cpu(self) -> None:
        for number in range(4):
            self.add(number, random.randbytes(64 << 20))
        self.add(9, random.randbytes(200 << 20))
        shipper = self.follow()
        wait_until(lambda: not self.left(), "all parts", 120)
        facts = dict(line.split(":", 1) for line in Path(f"/proc/{shipper.pid}/status").read_text().splitlines())
        used = Path(f"/proc/{shipper.pid}/stat").read_text().rsplit(")", 1)[1].split()
        cpu_s = (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")
        sent = sum(map(len, self.truth.values()))
        print(f"memory {int(facts['VmHWM'].split()[0]) // 1024} MiB, {cpu_s / sent * 1e8:.2f} s of CPU for 100 MB", file=sys.stderr)
        self.assertLess(int(facts["VmHWM"].split()[0]), 80 * 1024)
        self.assertLess(cpu_s / sent * 1e8, 1)
        self.arrived()


def azurite() -> str | None:
    return shutil.which("azurite-blob")


@unittest.skipUnless(azurite(), "needs azurite: npm install --global azurite")
class ToAzure(Shipping):
    def test_all_arrives(self) -> None:
        import base64
        import datetime
        import hashlib
        import hmac
        import urllib.request

        # Azurite's own, which is in its manual.
        key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
        port, program = free_port(), azurite()
        assert program
        server = subprocess.Popen([program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(self.folder / "azure"),
                                   "--silent", "--skipApiVersionCheck"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_until(lambda: is_open(port), "azurite", 60)
        url = f"http://127.0.0.1:{port}/devstoreaccount1"
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2023-11-03\n/devstoreaccount1/devstoreaccount1/lake\nrestype:container"
        signed = base64.b64encode(hmac.digest(base64.b64decode(key), text.encode(), hashlib.sha256)).decode()
        urllib.request.urlopen(urllib.request.Request(f"{url}/lake?restype=container", method="PUT", headers={
            "x-ms-date": date, "x-ms-version": "2023-11-03", "Authorization": f"SharedKey devstoreaccount1:{signed}",
            "Content-Length": "0"})).close()
        self.environment |= {"AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1", "AZURE_STORAGE_ACCOUNT_KEY": key, "AZURE_STORAGE_ENDPOINT": url}
        self.target = "az://lake/x"
        for number in range(5):
            self.add(number)
        self.once()
        self.add(1)
        self.once()
        self.add(2, b"other")
        self.assertIn("TRC153", self.once(1))
        self.environment["AZURE_STORAGE_ACCOUNT_KEY"] = base64.b64encode(b"wrong").decode()
        self.assertIn("403 ", self.once(1))


if __name__ == "__main__":
    unittest.main()
