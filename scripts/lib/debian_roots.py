# SPDX-License-Identifier: Apache-2.0
"""Roots of Debian's suites, from the archive that this machine's apt uses, and copies of them that tests may change. Nothing
stays mounted: mounts are in a namespace of the command that needs them."""
import os
import pathlib
import re
import subprocess

from python_package import NotThere, made_once, run_quietly
from stamps import cache_folder

# debootstrap's scripts are the same for all suites, also those that it does not know by name yet.
SCRIPT = "/usr/share/debootstrap/scripts/sid"
# Holds the mounts until its input ends: at the latest with the test.
HOLDER = """
root=$1 base=$2 upper=$3 work=$4 archives=$5
mount -t overlay overlay -o "lowerdir=$base,upperdir=$upper,workdir=$work" "$root" &&
    for each in /proc /sys /dev; do mount --rbind $each "$root$each" || exit; done &&
    mount --bind "$archives" "$root/var/cache/apt/archives" && echo mounted && exec cat
"""


def mirror():
    """The archive that this machine's apt uses."""
    lists = "/etc/apt/sources.list", *map(str, pathlib.Path("/etc/apt/sources.list.d").glob("*"))
    for path in lists:
        if os.path.exists(path):
            text = pathlib.Path(path).read_text(encoding="utf-8")
            found = re.search(r"^(?!#).*?(https?://\S+/debian)/?(\s|$)", text, re.M)
            if found:
                return found[1]
    raise NotThere("no Debian archive in apt's lists")


def keyring():
    return "/usr/share/keyrings/debian-archive-keyring.gpg"


def bootstrap(suite, root):
    run_quietly(f"a root of {suite}", "debootstrap", "--variant=minbase", f"--keyring={keyring()}", suite, root, mirror(), SCRIPT)


def suite_of_this_machine():
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    found = re.search(r"^VERSION_CODENAME=(\w+)", text, re.M)
    if not re.search(r"^ID=debian$", text, re.M) or not found:
        raise NotThere("this machine is not Debian")
    return found[1]


def plain_root(suite=None):
    """One of a suite, by default that of this machine, with nothing but what every machine has, in the user's cache."""
    suite = suite or suite_of_this_machine()
    root = cache_folder() / "roots" / suite
    with made_once(root, suite) as missing:
        if missing:
            bootstrap(suite, root)
    return root


class Inside:
    """What can be done in a root. words() is how a command gets there, path() where its files are seen from outside."""

    def run(self, *words, **variables):
        """Runs it in there: its status and all that it printed."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive"} | variables
        command = self.words("env", "-i", *(f"{name}={value}" for name, value in environment.items()), *words)
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", check=False)
        return result.returncode, result.stdout

    def put(self, path, source=None, text="", mode=0o644):
        """A file in there, of a file here or of text."""
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(pathlib.Path(source).read_bytes() if source else text.encode())
        target.chmod(mode)


class RootCopy(Inside):
    """A copy of plain_root(), which needs `folder` until close(). It has the kernel, /proc, /dev and the network of this
    machine."""

    def __init__(self, folder, suite=None):
        folder = pathlib.Path(folder)
        # Packages are fetched once.
        places = folder / "merged", plain_root(suite), folder / "upper", folder / "work", cache_folder() / "roots/archives"
        for path in (*places, places[-1] / "partial"):
            path.mkdir(parents=True, exist_ok=True)
        self.merged = places[0]
        self.holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", HOLDER, "sh", *map(str, places)], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.holder.stdout.readline() != "mounted\n":
            self.close()
            raise NotThere("a copy of a root can't be mounted")

    def close(self):
        self.holder.communicate()

    def path(self, path):
        """Where a file of it is seen from outside."""
        return pathlib.Path(f"/proc/{self.holder.pid}/root{self.merged}/{path.lstrip('/')}")

    def words(self, *words):
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", "chroot", str(self.merged), *map(str, words)]
