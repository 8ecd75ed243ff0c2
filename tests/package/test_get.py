# SPDX-License-Identifier: Apache-2.0
"""get.sh with the real packages on fresh Debian 12 and 13 under systemd, from a server in there: after it, an ordinary user's
command is traced exactly, at once. As root; nothing is installed or started on this machine."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/scripts"), str(ROOT / "scripts/lib")]
import fake_release
import release
import staged_files
import test_packages as packages
from debian_roots import RootCopy
from python_package import NotThere
from release_keys import Keys
from systemd_machine import SystemdMachine

USER = "alice"
PORT = 8080
# A release of TRACER_RELEASE may be for another address.
GET = ("sh", "/root/get.sh", *(("--from", f"http://127.0.0.1:{PORT}") if packages.RELEASE else ()))


def setUpModule():
    global out, folder
    try:
        release.need(release.release_repositories.NEEDED)
    except NotThere as error:
        raise unittest.SkipTest(str(error)) from error
    packages.make("deb")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-get-"))
    folder.chmod(0o755)
    unittest.addModuleCleanup(shutil.rmtree, folder, True)
    out = packages.RELEASE or folder / "out"
    if packages.RELEASE:
        return
    debs = list(packages.debs.values())
    version, date = staged_files.version_and_date({})
    fake_release.tarball(folder, out, "x86_64")
    with Keys(fake_release.keys_in(folder / "key"), date) as keys:
        release.assemble(out, {"bookworm": debs, "trixie": [path for path in debs if not path.name.startswith("tracer-python_")]},
                         keys, version, f"http://127.0.0.1:{PORT}", f"## {version}\n\n- x\n")


def installed_by_get(suite):
    """The paths of these packages, by name."""
    listed = (out / f"debian/dists/{suite}/main/binary-amd64/Packages").read_text(encoding="utf-8")
    return {name: out / "debian" / path for name, path in re.findall(r"(?m)^Package: (tracer.*)\n(?:.+\n)*?Filename: (.*)$", listed)}


class OnDebian:
    """12 and 13 below."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-get-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        try:
            cls.root = RootCopy(cls.folder, cls.suite)
            cls.addClassCleanup(cls.root.close)
            apt = "apt-get", "-q", "-y", "--no-install-recommends"
            cls.packages = installed_by_get(cls.suite)
            for name, path in cls.packages.items():
                cls.root.put(f"/root/{name}.deb", path)
            cls.done(cls.root, (*apt, "update"), (*apt, "install", "systemd", "dbus"),
                     # The machine has no network: what the packages need is in apt's cache.
                     ("apt-get", "-q", "-y", "--download-only", "install", *(f"/root/{name}.deb" for name in cls.packages)))
            for name in cls.packages:
                cls.root.path(f"/root/{name}.deb").unlink()
            cls.machine = SystemdMachine(cls.root)
        except NotThere as error:
            raise unittest.SkipTest(str(error)) from error
        cls.addClassCleanup(cls.machine.close)
        network = ("nsenter", f"--net=/proc/{cls.machine.first}/ns/net")
        subprocess.run([*network, "ip", "link", "set", "lo", "up"], check=True)
        server = subprocess.Popen([*network, sys.executable, "-m", "http.server", str(PORT), "--bind", "127.0.0.1", "--directory", out],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)
        cls.done(cls.machine, ("timeout", "30", "bash", "-c", f"until : </dev/tcp/127.0.0.1/{PORT}; do sleep 0.1; done"), ("useradd", "--create-home", USER))
        cls.machine.put("/root/get.sh", out / "get.sh")

    @classmethod
    def done(cls, root, *commands):
        for words in commands:
            status, text = root.run(*words)
            if status != 0:
                raise AssertionError(f"{words}: {text[-3000:]}")

    def good(self, *words):
        status, text = self.machine.run(*words)
        self.assertEqual(status, 0, f"{words}: {text[-3000:]}\n{self.machine.run('journalctl', '-u', 'tracerd')[1][-3000:]}")
        return text

    def test_one_command_after_it_is_exact(self):
        begin = time.monotonic()
        said = self.good(*GET)
        print(f"{self.suite}: get.sh took {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertIn("+ systemctl enable --now tracerd.service\n", said)
        self.assertEqual("pip install" in said, "tracer-python" not in self.packages)
        text = self.good(*self.machine.as_user(USER, "tracerd", "run", "--no-history", "--", "sh", "-c", "echo a | gzip | gzip >x"))
        self.assertRegex(text, r"(?m)^ *gzip +2 ")
        self.assertRegex(text, r"complete: (\d+) of \1 ended processes seen, by the service, nothing lost")
        if "tracer-python" in self.packages:
            self.assertIn("cost", self.good(*self.machine.as_user(USER, "tracer", "--help")))
        self.good(*GET)
        self.assertEqual(self.good("systemctl", "is-active", "tracerd").strip(), "active")
        self.good(*GET, "--uninstall")
        for path in ("/usr/bin/tracerd", "/etc/apt/sources.list.d/tracer.sources", "/etc/systemd/system/multi-user.target.wants/tracerd.service"):
            self.assertFalse(self.machine.path(path).exists(), path)
        self.assertNotEqual(self.machine.run("systemctl", "is-active", "tracerd")[0], 0)


def write_first_version(path, tree, out):
    """A package of these as 0.1.0 had it, by way of the new folder `tree`."""
    subprocess.run(["dpkg-deb", "-R", path, tree], check=True)
    control = tree / "DEBIAN/control"
    text = re.sub(r"(?m)^Version: .*", "Version: 0.1.0", control.read_text()).replace(path.name.split("_")[1], "0.1.0")
    control.write_text(text.replace("libtracer0.2", "libtracer0.1"))
    for path in tree.glob("usr/share/**/libtracer0.2"):
        path.rename(path.with_name("libtracer0.1"))
    for library in tree.glob("usr/lib/*/libtracer.so*"):
        if library.is_symlink():
            target = library.readlink().name
            library.unlink()
            library.with_name(library.name.replace(".0.2", ".0.1")).symlink_to(target.replace(".0.2.0", ".0.1.0"))
        else:
            library.rename(library.with_name("libtracer.so.0.1.0"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, out], check=True, stdout=subprocess.DEVNULL)


class Upgrade(packages.WithRoot):
    def test_from_the_first_version(self):
        for name, path in packages.debs.items():
            old = name.replace("libtracer0.2", "libtracer0.1")
            write_first_version(path, self.folder / name, self.root.path(f"/root/{old}.deb"))
        self.apt("install", *(f"/root/{name.replace('libtracer0.2', 'libtracer0.1')}.deb" for name in packages.debs))
        self.root.put("/etc/tracer/tracerd.toml", text="schema = 1\n# Mine.\n")
        self.root.put("/var/lib/tracer/host.tracer", text="a recording")
        shutil.copytree(out, self.root.path("/srv/release"))
        self.good("sh", "/srv/release/get.sh", "--from", "/srv/release")
        version = packages.output_of("dpkg-deb", "--field", packages.debs["tracerd"], "Version").strip()
        self.apt("dist-upgrade", "-oDPkg::Options::=--force-confold")
        listed = self.good("dpkg-query", "-W", "-f", "${Package} ${Version}\n", "tracer*", "libtracer*")
        installed = dict(line.split() for line in listed.splitlines() if line.count(" ") == 1 and line[-1] != " ")
        self.assertEqual({name: installed.get(name) for name in packages.debs}, dict.fromkeys(packages.debs, version))
        self.assertEqual(installed["libtracer0.1"], "0.1.0", "programs that use it still run")
        self.assertEqual(self.good("cat", "/etc/tracer/tracerd.toml"), "schema = 1\n# Mine.\n")
        self.assertEqual(self.good("cat", "/var/lib/tracer/host.tracer"), "a recording")
        self.good("sh", "-c", "ls /usr/lib/*/libtracer.so.0.1 /usr/lib/*/libtracer.so.0.2")
        self.assertIn("cost", self.good("tracer", "--help"))


class OnDebian12(OnDebian, unittest.TestCase):
    suite = "bookworm"


class OnDebian13(OnDebian, unittest.TestCase):
    suite = "trixie"


if __name__ == "__main__":
    unittest.main(verbosity=2)
