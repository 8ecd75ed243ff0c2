# SPDX-License-Identifier: Apache-2.0
"""get.sh with a release of tiny packages: by HTTP and by a folder, in a copy of a Debian root that has nothing else; its
tarball in a folder of an ordinary user. Nothing is installed on this machine."""
import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import unittest.mock

import support
import fake_release
import test_release
from debian_roots import RootCopy
from python_package import NotThere

# Written by apt, dpkg and ldconfig whatever is installed.
KEPT_BY_THE_SYSTEM = re.compile(r"/(proc|sys|dev|tmp|run)(/|$)|/var/(lib/dpkg|lib/apt|cache|log)/")
SOURCE = "/etc/apt/sources.list.d/tracer.sources"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def setUpModule():
    global folder, key, release
    test_release.skip_without_tools()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-get-"))
    folder.chmod(0o755)
    unittest.addModuleCleanup(shutil.rmtree, folder, True)
    key = fake_release.keys_in(folder / "key")
    release = fake_release.make(folder / "release", key)


class WithRelease(support.TestCase):
    """A copy of the release in self.release, which a server has at self.url."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.release = self.folder / "release"
        shutil.copytree(release, self.release)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(self.release)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"

    def with_another_key(self):
        """The release as somebody else signs it."""
        shutil.rmtree(self.release)
        made = fake_release.make(self.folder / "other", fake_release.keys_in(self.folder / "key"))
        made.rename(self.release)

    def cut(self, pattern):
        path, = self.release.glob(pattern)
        data = path.read_bytes()
        path.write_bytes(data[:len(data) // 2])


class InRoot(WithRelease):
    @classmethod
    def setUpClass(cls):
        if os.getuid() != 0:
            raise unittest.SkipTest("needs root")

    def setUp(self):
        super().setUp()
        try:
            self.root = RootCopy(self.folder / "root")
        except NotThere as error:
            self.skipTest(str(error))
        self.addCleanup(self.root.close)
        # That of all roots, which would have these packages, too.
        self.root.run("umount", "/var/cache/apt/archives")
        # The release has all that its packages need.
        self.root.path("/etc/apt/sources.list").write_text("")
        self.root.put("/root/get.sh", self.release / "get.sh")
        self.before = self.files()

    def files(self):
        status, listed = self.root.run("find", "/", "-xdev", "-mindepth", "1")
        self.assertEqual(status, 0)
        return {path for path in listed.splitlines() if not KEPT_BY_THE_SYSTEM.match(path)}

    def get(self, *words, base=None):
        return self.root.run("sh", "/root/get.sh", *words, TRACER_BASE=base or self.url)

    def good(self, *words, base=None):
        status, text = self.get(*words, base=base)
        self.assertEqual(status, 0, text)
        return text

    def refused(self, because, base=None):
        status, text = self.get(base=base)
        self.assertEqual(status, 1, text)
        self.assertEqual(len([line for line in text.splitlines() if not line.startswith("+ ")]), 1, text)
        self.assertRegex(text, because)
        self.assertEqual(self.files(), self.before)
        self.assertNotEqual(self.root.run("dpkg", "-s", "tracerd")[0], 0)

    def test_a_cut_copy_runs_nothing(self):
        text = (self.release / "get.sh").read_bytes()
        ends = [at + 1 for at in range(len(text) - 1) if text[at] == ord("\n")]
        last = text.rstrip().rfind(b"\n")
        ends += [*range(0, last, len(text) // 50), *range(last, len(text) - 1)]
        for end in ends:
            self.root.put(f"/cut/{end}", text="")
            self.root.path(f"/cut/{end}").write_bytes(text[:end])
        self.root.put("/root/all", text="""for each in /cut/*; do
            PATH=/marked:$PATH TRACER_BASE=$1 sh "$each" 2>/dev/null && [ -s "$each" ]; echo "$? $each"; done; exit 0""")
        # Whatever it would call first leaves a trace.
        for name in ("mktemp", "id", "apt-get", "dpkg", "install", "uname"):
            self.root.put(f"/marked/{name}", text=f"#!/bin/sh\necho {name} >>/ran\n", mode=0o755)
        status, said = self.root.run("sh", "/root/all", self.url)
        self.assertEqual(status, 0)
        self.assertEqual(len(said.splitlines()), len(set(ends)), said)
        self.assertFalse(self.root.path("/ran").exists())
        self.assertEqual({path for path in self.files() - self.before if not path.startswith(("/cut", "/marked", "/root/all"))}, set())
        # All of it does leave one.
        self.root.run("sh", "/root/get.sh", "--dry-run", TRACER_BASE=self.url, PATH="/marked:/usr/bin:/bin:/usr/sbin")
        self.assertTrue(self.root.path("/ran").exists())

    def test_packages_by_http(self):
        user = ("setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", "sh", "/tmp/get.sh", "--from", self.url)
        self.root.put("/tmp/get.sh", self.release / "get.sh")
        self.assertEqual(self.root.run(*user), (1, 'get.sh: this needs root: run it by sudo, or with --prefix "$HOME/.local"; nothing was changed\n'))
        said = self.good("--dry-run")
        self.assertEqual(re.sub("/tmp/tmp[^/]*", "", self.root.run(*user, "--dry-run")[1]), re.sub("/tmp/tmp[^/]*", "", said))
        self.assertIn("+ env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Options::=--force-confold install tracer-python tracerd", said)
        self.assertEqual(self.files(), self.before)
        self.assertIn("systemd does not run here", self.good())
        self.assertEqual(self.root.run("tracerd", "run", "x"), (0, f"tracerd {fake_release.VERSION} run x\n"))
        there = self.files()
        self.assertEqual(there - self.before, {"/usr/bin/tracerd", "/usr/bin/tracer", SOURCE})
        self.good()
        self.assertEqual(self.files(), there)
        self.assertIn("apt-get -q -y purge", self.good("--uninstall", "--dry-run"))
        self.assertEqual(self.files(), there)
        self.good("--uninstall")
        self.assertEqual(self.files(), self.before)

    def test_packages_by_a_folder_and_recordings_outlive_them(self):
        shutil.copytree(self.release, self.root.path("/srv/release"))
        self.good(base="/srv/release")
        self.root.put("/var/lib/tracer/run.tracer")
        self.assertIn("apt-get purge tracerd", self.good("--uninstall", base="/srv/release"))
        self.assertTrue(self.root.path("/var/lib/tracer/run.tracer").exists())
        self.assertEqual(self.root.run("test", "-e", "/usr/bin/tracerd")[0], 1)

    def test_what_is_not_signed_by_its_key_is_refused(self):
        self.with_another_key()
        self.refused("has no release for bookworm that is signed by its key: E: .*(NO_PUBKEY|not signed|verified)")

    def test_a_changed_list_of_packages_is_refused(self):
        path = self.release / "debian/dists/bookworm/main/binary-amd64/Packages"
        for each in (path, path.with_suffix(".gz")):
            each.write_bytes(each.read_bytes() + b"\n")
        self.refused("has no release for bookworm that is signed by its key")

    def test_a_cut_package_is_refused(self):
        self.cut("debian/pool/main/t/tracerd/*.deb")
        self.refused("apt can't install tracer-python tracerd *: E: ")

    def test_without_network_or_release_nothing_is_changed(self):
        self.refused("Connection refused", base="http://127.0.0.1:1")
        self.refused("has no release", base="/nowhere")
        self.refused("needs a URL or the absolute path", base="here")


class ForAUser(WithRelease):
    """The tarball, into a folder."""

    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "prefix"
        self.prefix.mkdir()

    def get(self, *words, base=None, script=None):
        with open(script or release / "get.sh", encoding="ascii") as text:
            result = subprocess.run(["sh", "-s", "--", "--prefix", self.prefix, *words], stdin=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, env=os.environ | {"TRACER_BASE": base or self.url}, check=False)
        return result.returncode, result.stdout

    def good(self, *words, base=None):
        status, text = self.get(*words, base=base)
        self.assertEqual(status, 0, text)
        return text

    def refused(self, because, base=None):
        status, text = self.get(base=base)
        self.assertEqual((status, len(text.splitlines())), (1, 1), text)
        self.assertRegex(text, because)
        self.assertTrue(text.endswith("; nothing was changed\n"))
        self.assertEqual(self.files(), set())

    def files(self):
        return {path.relative_to(self.prefix).as_posix() for path in self.prefix.rglob("*")}

    def test_it_installs_again_and_uninstalls_by_http_and_by_folder(self):
        for base in (self.url, str(self.release)):
            self.assertIn("+ mv -f", self.good("--dry-run", base=base))
            self.assertEqual(self.files(), set())
            self.good(base=base)
            there = self.files()
            self.assertIn("bin/tracerd", there)
            self.good(base=base)
            self.assertEqual(self.files(), there)
            self.good("--uninstall", base=base)
            self.assertEqual(self.files(), set())

    def test_wget_is_as_good(self):
        tools = self.folder / "tools"
        tools.mkdir()
        for name in "sh cat chmod comm cp cut dirname basename fold grep gzip head id install ls mkdir mktemp mv openssl rm rmdir sed sha256sum sort tail tar touch tr uname wget".split():
            if not shutil.which(name):
                self.skipTest(f"no {name}")
            (tools / name).symlink_to(shutil.which(name))
        with unittest.mock.patch.dict(os.environ, PATH=str(tools)):
            self.good()
        self.assertIn("bin/tracerd", self.files())

    def test_what_is_not_signed_by_its_key_is_refused(self):
        self.with_another_key()
        self.refused("is signed by its key")

    def test_what_was_changed_or_cut_is_refused(self):
        self.cut("tarballs/*/*.tar.gz")
        self.refused(r"\.tar\.gz is not the file of this release: its SHA-256 differs")
        (self.release / "SHA256SUMS").write_text((self.release / "SHA256SUMS").read_text() + "\n")
        self.refused("is signed by its key")
        self.cut("SHA256SUMS.sig")
        self.refused("is signed by its key")

    def test_another_release_of_the_same_key_is_refused(self):
        with unittest.mock.patch.object(fake_release, "VERSION", "7.7"):
            shutil.rmtree(self.release)
            fake_release.make(self.folder / "older", key).rename(self.release)
        self.refused("the release 7.8 is not at")

    def test_without_network_nothing_is_changed(self):
        self.refused("can't get .*SHA256SUMS: .*(refused|Failed to connect|Couldn't connect)", base="http://127.0.0.1:1")
        self.refused("can't get /nowhere/SHA256SUMS", base="/nowhere")

    def test_mistakes_of_its_caller(self):
        for words, status, because in ((("--from",), 1, "--from needs a value"), (("--nonsense",), 2, "usage: "), (("--help",), 0, "usage: ")):
            result = self.get(*words)
            self.assertEqual(result[0], status, result)
            self.assertIn(because, result[1])


if __name__ == "__main__":
    unittest.main()
