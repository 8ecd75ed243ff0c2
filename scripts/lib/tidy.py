# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on the library and the daemon: only on what changed since it was found clean on this machine."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

from artifacts import compilations
from stamps import Stamps, digest


def headers_by_source(build):
    """Each source of the last build, with all that it includes."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True, check=True).stdout
    included = {}
    files = None
    for line in listing.split("\n"):
        if line.startswith("    "):
            files.append(os.path.realpath(os.path.join(build, line.strip())))
        elif ": #deps" in line:
            files = included.setdefault(line.split(": #deps")[0], [])
    return {os.path.realpath(source): (command, included.get(output)) for source, output, command in compilations(build)}


def changed_sources(root, stamps):
    """The sources to look at, each with the name and the parts of its stamp."""
    build = root / "build/dev"
    listed = subprocess.run(["git", "ls-files", "lib/*.cpp", "daemon/*.cpp", "bindings/c/*.cpp"], cwd=root,
                            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    # Its first line names no version.
    version = subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    common = {"rules": digest(root / ".clang-tidy"), "clang-tidy": version}
    known = headers_by_source(build)
    digests = {}
    changed = []
    for source in listed:
        path = str(root / source)
        command, included = known.get(os.path.realpath(path), ("", None))
        parts = common | {"command": command.replace(str(root), ".")}
        for file in included or []:
            if pathlib.Path(file).is_relative_to(root):
                digests.setdefault(file, digest(file))
                parts[os.path.relpath(file, root)] = digests[file]
        # Of a file that was never built nobody knows what it includes.
        if included is None or not stamps.passed_on(f"tidy {source}", parts):
            changed.append((source, f"tidy {source}", parts))
    return changed


def main():
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    stamps = Stamps(ignore="--all" in sys.argv[1:])

    def check(job):
        source, name, parts = job
        result = subprocess.run(["clang-tidy", "--quiet", "-p", "build/dev", source], cwd=root, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        print(result.stdout, end="", flush=True)
        if result.returncode == 0:
            stamps.record(name, parts)
        return result.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(check, changed_sources(root, stamps)))
    print(f"clang-tidy: {len(good)} files looked at, {good.count(False)} with errors")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
