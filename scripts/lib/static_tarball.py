# SPDX-License-Identifier: Apache-2.0
"""The tarball with a static tracerd, and install.sh, which installs just this one."""
import hashlib
import platform
import shutil
import subprocess

from staged_files import ROOT, copy, filled, run, stage

COMPONENTS = ("daemon", "static_licenses")


def build(like_dev, machine):
    preset = "dev" if like_dev else "release"
    if machine != platform.machine():
        folder = ROOT / f"build/{preset}-{machine}"
        run("cmake", "--preset", preset, "-B", folder, "--toolchain", ROOT / f"cmake/{machine}.cmake", cwd=ROOT, stdout=subprocess.DEVNULL)
        run("ninja", "-C", folder, "tracerd", "tracer-gpu")
        return folder
    if not (ROOT / "build" / preset / "build.ninja").exists():
        run("cmake", "--preset", preset, cwd=ROOT, stdout=subprocess.DEVNULL)
    run("ninja", "-C", ROOT / "build" / preset, "tracerd", "tracer-gpu")
    return ROOT / "build" / preset


def packed(folder, archive, date):
    """The same content gives the same bytes."""
    run("tar", "-C", folder.parent, "--sort=name", f"--mtime=@{date}", "--owner=0", "--group=0", "--numeric-owner",
        "--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n", "-cf", archive, folder.name)
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def make(out, version, date, like_dev=False, machine=platform.machine()):
    """Writes both to `out`: their paths. What is for another machine can't be run here: this one's tracerd knows its help texts."""
    name = f"tracerd-{version.replace('~', '-')}-linux-{machine}"
    work = ROOT / "build/packages/tarball"
    shutil.rmtree(work, ignore_errors=True)
    own = build(like_dev, platform.machine())
    stage(own if machine == platform.machine() else build(like_dev, machine), work / name, COMPONENTS, date, own / "tracerd")
    documentation = work / name / "share/doc/tracerd"
    for source in ("packaging/tracerd.toml", "LICENSE", "packaging/debian/copyright"):
        copy(ROOT / source, documentation / source.rpartition("/")[2])
    return finish(work / name, out, version, date, machine)


def finish(folder, out, version, date, machine=platform.machine()):
    """Packs the staged folder, and writes install.sh for just this archive."""
    out.mkdir(parents=True, exist_ok=True)
    archive, installer = out / f"{folder.name}.tar.gz", out / "install.sh"
    digest = packed(folder, archive, date)
    installer.write_text(filled("install.sh.in", TARBALL=archive.name, SHA256=digest, MACHINE=machine, VERSION=version))
    installer.chmod(0o755)
    return [archive, installer]
