# SPDX-License-Identifier: Apache-2.0
"""The binary part of the package for another Python: the sources are compiled as in build/dev, with that one's headers and
without optimization, and linked with build/dev's library. Nothing of libtracer itself is built again."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from python_package import PACKAGE, ROOT, NotThere, run_quietly, test_variables

SUFFIX = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"


def headers_of(python, build):
    """Its folders of headers. Debian's include some that lie beside, where a later suite's C library has its own, too."""
    if not python.root:
        return [python.headers]
    beside = build / "include"
    shutil.rmtree(beside, ignore_errors=True)
    for folder in (python.root / "usr/include").glob(f"*-linux-gnu/{python.headers.name}"):
        (beside / folder.parent.name).mkdir(parents=True)
        (beside / folder.parent.name / folder.name).symlink_to(folder)
    return [python.headers, beside]


def commands_of(dev):
    """How build/dev compiles each source of the binary part, and how it links them."""
    listed = subprocess.run(["ninja", "-C", dev, "-t", "commands", "tracer_python"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.splitlines()
    entries = [entry for entry in json.loads((dev / "compile_commands.json").read_text())
               if "/tracer_python.dir/" in entry["command"]]
    if not entries or " -shared " not in listed[-1]:
        raise NotThere("build/dev has no binary part of the package: cmake --preset dev -DTRACER_PYTHON=ON")
    return entries, listed[-1]


def built_package(python, dev=ROOT / "build/dev"):
    """A folder with the whole package for this Python."""
    build = ROOT / f"build/python-{python.name}"
    build.mkdir(parents=True, exist_ok=True)
    entries, link = commands_of(dev)
    headers = " ".join(f"-isystem {shlex.quote(str(path))}" for path in headers_of(python, build))

    def compiled(entry):
        output = build / (pathlib.Path(entry["file"]).name + ".o")
        command = re.sub(r"-isystem \S*/include/python3\S*", headers, entry["command"])
        command = re.sub(r" -o \S+", f" -O0 -g0 -o {shlex.quote(str(output))}", command)
        return run_quietly(f"{output.name} for Python {python.name}", "sh", "-c", command, cwd=entry["directory"])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compiled, entries))
    package = build / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(PACKAGE / "tracer", package / "tracer", ignore=shutil.ignore_patterns("_core*.so", "__pycache__"))
    module = package / "tracer" / ("_core" + run_quietly("its suffix", *words_of(python, "-c", SUFFIX), cwd=ROOT).strip())
    objects = re.sub(r"\S*/tracer_python\.dir/(?:\S*/)?([^/\s]+\.o)", lambda found: str(build / found[1]), link)
    run_quietly(f"{module.name}", "sh", "-c", re.sub(r" -o \S+", f" -o {shlex.quote(str(module))}", objects), cwd=dev)
    return package


IN_ITS_ROOT = """
root=$1 repository=$2; shift 2
for each in /proc /sys /dev; do mount --rbind $each "$root$each" || exit 1; done
for each in /tmp "$repository"; do mkdir -p "$root$each" && mount --bind "$each" "$root$each" || exit 1; done
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
"""


def words_of(python, *words):
    """How it is run; in a root of its own, with what the tests need there until they end."""
    if not python.root:
        return [*python.command, *words]
    return ["unshare", "--mount", "sh", "-c", IN_ITS_ROOT, "sh", str(python.root), str(ROOT), *python.command, *words]


def run(python, package, *words):
    """Runs it among the tests, with this package: the status, and what was printed."""
    environment = os.environ | test_variables(ROOT / "build/dev", package)
    result = subprocess.run(words_of(python, "-B", *words), cwd=ROOT / "tests/python", env=environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", check=False)
    return result.returncode, result.stdout
