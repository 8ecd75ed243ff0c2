# SPDX-License-Identifier: Apache-2.0
"""The Python package as the tests have it: an environment with what they need, the binary part beside the package, and the
tests of each module. What is downloaded stays in the user's cache."""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from cases import Case
from stamps import cache_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "bindings/python"
TESTS = ROOT / "tests/python"
BESIDE = 2  # Modules at a time: several have many threads and processes themselves.
# These take minutes and have steps and stamps of their own.
SLOW = ("test_wheel", "test_pythons")
# The loop of the day.
QUICK = ("test_import", "test_run", "test_session", "test_tables")

# Prints (module, class, reason to be alone) for each class with tests.
LISTING = """
import json, sys, unittest
found = {}
suites = [unittest.defaultTestLoader.discover(".", "test_*.py")]
while suites:
    each = suites.pop(0)
    if isinstance(each, unittest.TestSuite):
        suites += each
    elif type(each).__module__ == "unittest.loader":  # A module that can't be imported.
        found[each.id().rsplit(".", 1)[1]] = {}
    else:
        found.setdefault(type(each).__module__, {})[type(each).__qualname__] = hasattr(each, "ALONE")
print(json.dumps(found))
"""


class NotThere(Exception):
    """What the tests need can't be had here; says why."""


def system_python():
    """Debian's own, for which the packages in scripts/lib/packages are; elsewhere the one that runs this."""
    for path in ("/usr/bin/python3", sys.executable):
        if os.access(path, os.X_OK):
            code = "import sys, sysconfig; print(int(sys.version_info >= (3, 11)), sysconfig.get_path('include'))"
            result = subprocess.run([path, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
            new, _, include = result.stdout.strip().partition(" ")
            if new == "1" and os.path.exists(f"{include}/Python.h"):
                return path
    raise NotThere("no Python >= 3.11 with its headers: apt-get install python3-dev python3-venv")


def run_quietly(what, *command, **options):
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options)
    if result.returncode != 0:
        raise NotThere(f"{what}: " + " | ".join(result.stdout.strip().splitlines()[-4:]))
    return result.stdout


@contextlib.contextmanager
def made_once(folder, key):
    """Yields whether `folder` must be made: it isn't there, or was made with another key. One process at a time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = folder / ".made"
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if made.exists() and made.read_text() == key:
            yield False
            return
        shutil.rmtree(folder, ignore_errors=True)
        yield True
        folder.mkdir(exist_ok=True)
        made.write_text(key)


def environment(name, requirements, python=None):
    """The Python of a virtual environment that has what the file `requirements` names. Raises NotThere."""
    python = python or system_python()
    folder = cache_folder() / "python-tests" / name
    version = run_quietly(python, python, "-VV")
    key = hashlib.sha256(f"{python} {version} {requirements.read_text()}".encode()).hexdigest()
    with made_once(folder, key) as missing:
        if missing:
            run_quietly("no virtual environment: apt-get install python3-venv", python, "-m", "venv", folder)
            run_quietly("packages of the tests can't be installed", folder / "bin/python", "-m", "pip", "install", "-q",
                        "--disable-pip-version-check", "-r", requirements)
    return folder / "bin/python"


def tests_environment():
    return environment("env", TESTS / "requirements.txt")


def configuration(python):
    """What cmake has to be told to build the binary part for this Python; None: it is not built."""
    return ["-DTRACER_PYTHON=ON", f"-DPython_EXECUTABLE={python}"] if python else ["-DTRACER_PYTHON=OFF"]


def put_beside_package(build):
    """The binary part of this build becomes the one that tests import."""
    for module in (build / "bindings/python").glob("_core*.so"):
        temporary = PACKAGE / "tracer" / f".{module.name}.{os.getpid()}"
        shutil.copy2(module, temporary)
        temporary.replace(PACKAGE / "tracer" / module.name)


def test_variables(build, package=PACKAGE):
    """What the tests need in their environment."""
    return {"PYTHONPATH": str(package), "TRACERD": str(build / "tracerd"), "PYTHONDONTWRITEBYTECODE": "1"}


def modules(python, variables):
    """For each module of tests its classes, and whether each must run alone; no classes: it can't be imported."""
    listing = subprocess.run([python, "-c", LISTING], cwd=TESTS, env=variables, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(listing.stdout.splitlines()[-1])


def cases_of(python, module, classes):
    """One for all classes of a module that may run beside others, one for each that has ALONE, which says why."""
    command = (str(python), "-m", "unittest", "-v")
    beside = [f"{module}.{name}" for name, alone in sorted(classes.items()) if not alone]
    if beside or not classes:
        yield Case(module, (*command, *(beside or [module])), True)
    for name, alone in sorted(classes.items()):
        if alone:
            yield Case(f"{module}.{name}", (*command, f"{module}.{name}"), False)
