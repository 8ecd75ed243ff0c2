# SPDX-License-Identifier: Apache-2.0
"""Debian's packages of a build: packaging/debian, by debhelper."""
import email.utils
import os
import re
import shutil
import subprocess

import deb_python
import python_package
from staged_files import ROOT, copy, filled, output_of, run, stage

BUILT = ("tracerd", "tracer-gpu", "tracer", "tracer_static", "tracer_c", "tracer_python")
COMPONENTS = ("daemon", "library", "development")


def build(like_dev, python=None):
    """The libraries of the system are linked dynamically, as Debian updates them. With `python`: its binary part alone, with the
    library as it is compiled."""
    folder = ROOT / ("build/deb-like-dev" if like_dev else "build/deb")
    link = output_of("env", "DEB_BUILD_MAINT_OPTIONS=hardening=+all", "dpkg-buildflags", "--get", "LDFLAGS") + " -s"
    compiled = (["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DTRACER_DEVELOPER=ON"] if like_dev else
                ["-DCMAKE_BUILD_TYPE=Release", "-DTRACER_DEVELOPER=OFF"])
    run("cmake", "--fresh", "-S", ROOT, "-B", folder, "-G", "Ninja", *compiled, "-DTRACER_STATIC_DAEMON=OFF", *python_package.configuration(deb_python.environment(like_dev, python)),
        "-DCMAKE_INSTALL_PREFIX=/usr", f"-DCMAKE_INSTALL_LIBDIR=lib/{output_of('dpkg-architecture', '-qDEB_HOST_MULTIARCH')}",
        *(f"-DCMAKE_{kind}_LINKER_FLAGS={link}" for kind in ("EXE", "SHARED", "MODULE")), stdout=subprocess.DEVNULL)
    run("ninja", "-C", folder, *(["tracer_python"] if python else BUILT))
    return folder


def maintainer():
    """As Debian's tools take it: DEBFULLNAME and DEBEMAIL, else whoever git knows."""
    name, address = os.environ.get("DEBFULLNAME"), os.environ.get("DEBEMAIL")
    return f"{name} <{address}>" if name and address else output_of("git", "log", "-1", "--format=%an <%ae>")


def build_packages():
    """Those that scripts/lib/packages lists."""
    listed = output_of("bash", "-c", '. scripts/lib/packages && echo "${BUILD_PACKAGES[*]}"').split()
    return ", ".join(sorted(listed))


def write_debian_folder(folder, version, date, python):
    shutil.copytree(ROOT / "packaging/debian", folder)
    control = filled("debian/control.in", MAINTAINER=maintainer(), BUILD_PACKAGES=build_packages(), PYTHON=deb_python.interpreter(python),
                     VERSION=version.partition("+")[0])
    if python:
        source, *packages = control.split("\n\n")
        control = source + "\n\n" + next(each for each in packages if each.startswith("Package: tracer-python\n")) + "\n"
    (folder / "control").write_text(control)
    (folder / "control.in").unlink()
    (folder / "changelog").write_text(
        f"tracer ({version}) unstable; urgency=medium\n\n  * CHANGELOG.md lists what has changed.\n\n"
        f" -- {maintainer()}  {email.utils.formatdate(date)}\n")


def make(out, version, date, like_dev=False, python=None):
    """Writes them to `out`: the paths of the packages, and of the file .changes that lists them. With `python`, which a later
    Debian has: tracer-python for that, alone."""
    work = ROOT / "build/packages/deb"
    shutil.rmtree(work, ignore_errors=True)
    tree, staged = work / "tree", work / "staged"
    tree.mkdir(parents=True)
    folder = build(like_dev, python)
    if not python:
        stage(folder, staged / "usr", COMPONENTS, date)
        # debhelper of Debian 12 looks for units in /lib, which is the same folder on every Debian that runs them.
        (staged / "lib").mkdir()
        (staged / "usr/lib/systemd").rename(staged / "lib/systemd")
        copy(ROOT / "packaging/tracerd.toml", staged / "etc/tracer/tracerd.toml")
    deb_python.stage(folder, staged, date, like_dev, python)
    write_debian_folder(tree / "debian", version, date, python)
    # Of two clones, files have different times; dpkg-deb changes only those that are later.
    for path in work.rglob("*"):
        os.utime(path, (date, date), follow_symlinks=False)
    environment = {"TRACER_STAGED": str(staged), "SOURCE_DATE_EPOCH": str(date), "TRACER_PYTHON": deb_python.interpreter(python),
                   "TRACER_DEB_OPTIONS": "-Zxz -z0" if like_dev else ""}
    # Build dependencies were needed before, where it was built.
    run("dpkg-buildpackage", "-b", "-us", "-uc", "-d", "-nc", cwd=tree, env=os.environ | environment,
        **({"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} if like_dev else {}))
    out.mkdir(parents=True, exist_ok=True)
    made = sorted(path for path in work.iterdir() if re.search(r"\.(deb|changes|buildinfo)$", path.name))
    return [shutil.move(path, out / path.name) for path in made]
