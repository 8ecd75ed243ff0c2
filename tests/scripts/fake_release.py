# SPDX-License-Identifier: Apache-2.0
"""A release whose packages and tarball are tiny, made as a real one is."""
import pathlib
import platform
import subprocess

from support import ROOT
import release
import static_tarball
from release_keys import Keys, make_keys

VERSION = "7.8"
DATE = 1_700_000_000
PROGRAM = f"#!/bin/sh\necho tracerd {VERSION} \"$@\"\n"
UNIT = (ROOT / "packaging/systemd/tracerd.service").read_text()


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def deb(folder, name, version=VERSION):
    tree = folder / f"{name}-tree"
    executable(tree / "usr/bin" / name.removesuffix("-python"), PROGRAM)
    control = tree / "DEBIAN/control"
    control.parent.mkdir(exist_ok=True)
    control.write_text(f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: x <x@example.org>\nSection: utils\n"
                       f"Priority: optional\nDescription: x\n")
    path = folder / f"{name}_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", tree, path], check=True, stdout=subprocess.DEVNULL,
                   env={"SOURCE_DATE_EPOCH": str(DATE), "PATH": "/usr/bin:/bin"})
    return path


def tarball(folder, out, machine):
    tree = folder / f"tracerd-{VERSION}-linux-{machine}"
    executable(tree / "bin/tracerd", PROGRAM)
    executable(tree / "libexec/tracer/tracer-gpu", PROGRAM)
    for path in ("share/doc/tracerd/tracerd.toml", "share/man/man1/tracerd.1", "share/man/man5/tracerd.toml.5",
                 "share/bash-completion/completions/tracerd"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("# x\n")
    (tree / "lib/systemd/system").mkdir(parents=True)
    (tree / "lib/systemd/system/tracerd.service").write_text(UNIT)
    static_tarball.finish(tree, out / "tarballs" / machine, VERSION, DATE, machine)


def keys_in(folder):
    make_keys(pathlib.Path(folder))
    return folder


def make(folder, key, url=""):
    """In folder/out."""
    folder.mkdir()
    out = folder / "out"
    tarball(folder, out, platform.machine())
    debs = [deb(folder, name) for name in ("tracerd", "tracer-python")]
    with Keys(key, DATE) as keys:
        release.assemble(out, {"bookworm": debs, "trixie": debs[:1]}, keys, VERSION, url, changelog=f"## {VERSION}\n\n- **New**: [x](y).\n\n## 1.0\n\n- Old.\n")
    return out
