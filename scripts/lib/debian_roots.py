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
# root, what is mounted onto it (upper, work and archives; or nothing), command.
INSIDE = """
root=$1 base=$2 upper=$3 work=$4 archives=$5; shift 5
mount -t overlay overlay -o "lowerdir=$base,upperdir=$upper,workdir=$work" "$root" || exit 125
for each in /proc /sys /dev; do mount --rbind $each "$root$each" || exit 125; done
mount --bind "$archives" "$root/var/cache/apt/archives" || exit 125
exec chroot "$root" "$@"
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


def plain_root():
    """One of the suite of this machine with nothing but what every machine has, in the user's cache."""
    suite = suite_of_this_machine()
    root = cache_folder() / "roots" / suite
    with made_once(root, suite) as missing:
        if missing:
            bootstrap(suite, root)
    return root


class RootCopy:
    """A copy of plain_root() in `folder`. It has the kernel, /proc, /dev and the network of this machine."""

    def __init__(self, folder):
        self.base = plain_root()
        self.merged, self.upper, self.work = (pathlib.Path(folder) / name for name in ("merged", "upper", "work"))
        # Packages are fetched once.
        self.archives = cache_folder() / "roots/archives"
        for path in (self.merged, self.upper, self.work, self.archives / "partial"):
            path.mkdir(parents=True, exist_ok=True)

    def words(self, *words):
        places = (self.merged, self.base, self.upper, self.work, self.archives)
        return ["unshare", "--mount", "sh", "-c", INSIDE, "sh", *map(str, places), *map(str, words)]

    def run(self, *words, **variables):
        """Runs it in there: its status and all that it printed."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive"} | variables
        result = subprocess.run(self.words(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=environment, text=True, errors="replace", check=False)
        return result.returncode, result.stdout

    def put(self, path, source=None, text=None, mode=0o644):
        """A file in there, of a file here or of text."""
        target = self.upper / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(pathlib.Path(source).read_bytes() if source else text.encode())
        target.chmod(mode)
