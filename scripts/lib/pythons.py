# SPDX-License-Identifier: Apache-2.0
"""The Pythons on which the package is tested, besides Debian's: those of this machine, and some that are fetched into the
user's cache: a free-threaded one, built from Debian's source package, and those of a later Debian suite, in a root of its
own."""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

from debian_roots import bootstrap, keyring, mirror
from python_package import NotThere, made_once, run_quietly
from stamps import cache_folder

OLDEST = (3, 11)
LATER_SUITE = "forky"
# Packages that the binary part links, and what makes a Python of it.
LATER_PACKAGES = ("libbpf1", "libelf1t64", "libzstd1", "zlib1g", "libstdc++6", "procps")
SOURCE_SUITE, SOURCE = "trixie", "python3.13"
FACTS = ("import sys, sysconfig; print(*sys.version_info[:3], sysconfig.get_config_var('Py_GIL_DISABLED') or 0, "
         "sysconfig.get_path('include'), sep='|')")


@dataclasses.dataclass(frozen=True)
class Python:
    version: tuple
    free_threaded: bool
    command: tuple
    headers: pathlib.Path
    root: pathlib.Path | None = None  # It runs in there.

    @property
    def name(self):
        return ".".join(map(str, self.version[:2])) + ("t" if self.free_threaded else "")


def described(*command, root=None):
    """None: not a Python that the package is for, or one without headers."""
    words = ["chroot", str(root), *command] if root else command
    try:
        result = subprocess.run([*words, "-c", FACTS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                timeout=60, check=False)
        major, minor, micro, free, headers = result.stdout.strip().split("|")
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    headers = pathlib.Path(f"{root or ''}{headers}")
    version = int(major), int(minor), int(micro)
    if version < OLDEST or not (headers / "Python.h").exists():
        return None
    return Python(version, free == "1", tuple(map(str, command)), headers, root)


def of_this_machine(folders=None, pyenv=None):
    """The newest of each minor version that is in PATH or one of pyenv's."""
    folders = os.environ.get("PATH", "").split(os.pathsep) if folders is None else folders
    pyenv = pyenv or pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")
    candidates = [path for folder in folders for path in pathlib.Path(folder or ".").glob("python3*")
                  if re.fullmatch(r"python3(\.\d+t?)?", path.name) and "shims" not in path.parts]
    candidates += pyenv.glob("versions/*/bin/python3")
    newest = {}
    for path in sorted({os.path.realpath(each) for each in candidates}):
        python = described(path)
        if python and (python.name not in newest or newest[python.name].version < python.version):
            newest[python.name] = python
    return sorted(newest.values(), key=lambda python: (python.version, python.free_threaded))


def folder():
    return cache_folder() / "pythons"


def free_threaded(get):
    """Built without the global lock, in a few minutes; None: not fetched, and `get` is false."""
    place = folder() / f"{SOURCE}t"
    python = place / "bin/python3"
    if not get and not python.exists():
        return None
    with made_once(place, f"{SOURCE} of {SOURCE_SUITE}") as missing:
        if missing:
            build_free_threaded(place)
    return [described(python)]


def build_free_threaded(place):
    state = place.with_name("source")
    shutil.rmtree(state, ignore_errors=True)
    for part in ("state/lists/partial", "cache/archives/partial", "tree"):
        (state / part).mkdir(parents=True)
    (state / "sources.list").write_text(f"deb-src [signed-by={keyring()}] {mirror()} {SOURCE_SUITE} main\n")
    (state / "status").touch()
    (state / "apt.conf").write_text(
        f'Dir::State "{state}/state/"; Dir::State::status "{state}/status"; Dir::Cache "{state}/cache/";\n'
        f'Dir::Etc::sourcelist "{state}/sources.list"; Dir::Etc::sourceparts "-"; APT::Sandbox::User "root";\n'
        'Acquire::Languages "none"; Acquire::Retries "3";\n')
    options = {"cwd": state, "env": os.environ | {"APT_CONFIG": str(state / "apt.conf")}}
    run_quietly("Debian's list of sources", "apt-get", "-q", "update", **options)
    run_quietly(f"the source of {SOURCE}", "apt-get", "-q", "--download-only", "source", SOURCE, **options)
    archive, = (path for path in state.glob("*.orig.tar.*") if path.suffix != ".asc")
    run_quietly(archive.name, "tar", "xf", archive, "-C", "tree", "--strip-components=1", cwd=state)
    tree = {"cwd": state / "tree"}
    run_quietly("configure", "./configure", "--disable-gil", "--disable-test-modules", "--without-ensurepip",
                f"--prefix={place}", **tree)
    run_quietly("make", "make", f"-j{os.cpu_count()}", **tree)
    run_quietly("make install", "make", "install", **tree)
    shutil.rmtree(state)


def later_suite(get):
    """All Pythons of a later Debian suite; None: not fetched, and `get` is false."""
    root = folder() / LATER_SUITE
    if not get and not (root / ".made").exists():
        return None
    with made_once(root, f"{LATER_SUITE} {LATER_PACKAGES}") as missing:
        if missing:
            bootstrap(LATER_SUITE, root)
            inside = ("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive")
            listing = run_quietly("its Pythons", *inside, "apt-cache", "search", "--names-only", r"^libpython3\.[0-9]+-dev$")
            wanted = [name for minor in re.findall(r"^libpython3\.(\d+)-dev", listing, re.M)
                      for name in (f"python3.{minor}", f"libpython3.{minor}-dev")]
            run_quietly("its Pythons", *inside, "apt-get", "-q", "-y", "install", "--no-install-recommends", *wanted,
                        *LATER_PACKAGES)
    programs = [path.name for path in (root / "usr/bin").glob("python3.*") if re.fullmatch(r"python3\.\d+", path.name)]
    return [described(f"/usr/bin/{name}", root=root) for name in sorted(programs, key=lambda name: int(name[8:]))]


def all_of_them(get):
    """Those that there are, and why others aren't."""
    pythons, missing = of_this_machine(), []
    for name, fetched in ((f"{SOURCE}t", free_threaded), (f"Pythons of {LATER_SUITE}", later_suite)):
        try:
            found = fetched(get)
            if found is None:
                missing.append(f"{name}: not fetched; scripts/python_tests --get fetches it")
            else:
                pythons += found
        except NotThere as error:
            missing.append(f"{name}: {error}")
    return pythons, missing
