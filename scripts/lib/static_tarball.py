# SPDX-License-Identifier: Apache-2.0
"""The tarball with a static tracerd, and install.sh, which installs just this one."""
import hashlib
import platform
import shutil

from staged_files import ROOT, copy, run, stage

COMPONENTS = ("daemon", "static_licenses")


def build(like_dev):
    preset = "dev" if like_dev else "release"
    if not (ROOT / "build" / preset / "build.ninja").exists():
        run("cmake", "--preset", preset, cwd=ROOT, stdout=subprocess.DEVNULL)
    run("ninja", "-C", ROOT / "build" / preset, "tracerd", "tracer-gpu")
    return ROOT / "build" / preset


def packed(folder, archive, date):
    """The same content gives the same bytes."""
    run("tar", "-C", folder.parent, "--sort=name", f"--mtime=@{date}", "--owner=0", "--group=0", "--numeric-owner",
        "--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n", "-cf", archive, folder.name)
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def make(out, version, date, like_dev=False):
    """Writes both to `out`: their paths."""
    name = f"tracerd-{version.replace('~', '-')}-linux-{platform.machine()}"
    work = ROOT / "build/packages/tarball"
    shutil.rmtree(work, ignore_errors=True)
    stage(build(like_dev), work / name, COMPONENTS, date)
    documentation = work / name / "share/doc/tracerd"
    for source in ("packaging/tracerd.toml", "LICENSE", "packaging/debian/copyright"):
        copy(ROOT / source, documentation / source.rpartition("/")[2])
    return finish(work / name, out, version, date)


def finish(folder, out, version, date):
    """Packs the staged folder, and writes install.sh for just this archive."""
    out.mkdir(parents=True, exist_ok=True)
    archive, installer = out / f"{folder.name}.tar.gz", out / "install.sh"
    digest = packed(folder, archive, date)
    text = (ROOT / "packaging/install.sh.in").read_text()
    for placeholder, value in (("@TARBALL@", archive.name), ("@SHA256@", digest), ("@MACHINE@", platform.machine()),
                               ("@VERSION@", version)):
        text = text.replace(placeholder, value)
    installer.write_text(text)
    installer.chmod(0o755)
    return [archive, installer]
