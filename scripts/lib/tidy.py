# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on the library and the daemon: only on what changed since it was found clean on this machine."""
import argparse
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

from artifacts import compilations
from stamps import Stamps, digest

AT_ONCE = 20


# What clang does not know, which is of use only for sources that are compiled together.
# What clang-tidy does not know, and what would hide that a source lacks an include.
GCC_ONLY = re.compile(r" (?:-Wno-subobject-linkage|-Wno-restrict|-Wno-stringop-overflow|--param=inline-unit-growth=\d+|-Winvalid-pch"
                      r"|-include \S+/cmake_pch\.hxx)")


@functools.cache
def included_by(path):
    return re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', pathlib.Path(path).read_text(errors="replace"), re.M)


def included(source, command):
    """All files that it includes, by whichever condition, from the folders that its command names."""
    folders = re.findall(r"(?:-I|-isystem )(\S+)", command)
    found = set()
    new = [source]
    while new:
        path = new.pop()
        for name in included_by(path):
            for folder in (os.path.dirname(path), *folders):
                candidate = os.path.normpath(os.path.join(folder, name))
                if os.path.exists(candidate):
                    if candidate not in found:
                        found.add(candidate)
                        new.append(candidate)
                    break
    return found


def write_commands(build):
    """For clang-tidy, which looks at each source alone; the folder that it is to be given."""
    folder = build / "alone"
    folder.mkdir(exist_ok=True)
    entries = [{"directory": str(build), "file": source, "command": GCC_ONLY.sub("", command)}
               for source, _, command in compilations(build)]
    (folder / "compile_commands.json").write_text(json.dumps(entries, indent=1))
    return folder


def changed_sources(root, stamps):
    """The sources to look at, each with the name and the parts of its stamp."""
    build = root / "build/dev"
    listed = subprocess.run(["git", "ls-files", "lib/*.cpp", "daemon/*.cpp", "bindings/c/*.cpp"], cwd=root,
                            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    # Its first line names no version.
    version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    common = {"rules": digest(root / ".clang-tidy"), "clang-tidy": version}
    known = {os.path.realpath(source): command for source, _, command in compilations(build)}
    digests = {}
    changed = []
    for source in listed:
        path = str(root / source)
        command = known.get(os.path.realpath(path), "")
        parts = common | {"command": command.replace(str(root), ".")}
        for file in {path} | included(path, command):
            if pathlib.Path(file).is_relative_to(root):
                digests.setdefault(file, digest(file))
                parts[os.path.relpath(file, root)] = digests[file]
        if not command or not stamps.passed_on(f"tidy {source}", parts):
            changed.append((source, f"tidy {source}", parts))
    return changed


def main():
    parser = argparse.ArgumentParser(prog="scripts/check_tidy", description=__doc__)
    parser.add_argument("--all", action="store_true", help="also what was found clean on this machine")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which no further file is begun")
    parser.add_argument("--turn", type=int, default=0, help="which file is the first")
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    stamps = Stamps(ignore=arguments.all)
    commands = write_commands(root / "build/dev")
    until = time.monotonic() + arguments.seconds

    def check(job):
        """None: there was no time for it."""
        source, name, parts = job
        if time.monotonic() > until:
            return None
        result = subprocess.run(["clang-tidy", "--quiet", "-p", commands, source], cwd=root, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        print(result.stdout, end="", flush=True)
        if result.returncode == 0:
            stamps.record(name, parts)
        return result.returncode == 0

    changed = changed_sources(root, stamps)
    # By turns of about as many as a run has time for, where nothing is known from earlier runs.
    first = arguments.turn * AT_ONCE % len(changed) if changed else 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(check, changed[first:] + changed[:first]))
    print(f"clang-tidy: {len(good) - good.count(None)} files looked at, {good.count(False)} with errors")
    if None in good:
        print(f"LEFT OUT: {good.count(None)} of {len(good)} files, the time was over")
    sys.exit(False in good)


if __name__ == "__main__":
    main()
