# SPDX-License-Identifier: Apache-2.0
"""The repositories of a release, for apt and dnf. The same packages give the same bytes."""
import email.utils
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from staged_files import filled, run

# The packages are built on the first, and both have the libraries that they need; but tracer-python is for one Python.
SUITES = {"bookworm": "python3.11", "trixie": "python3.13"}
NEEDED = {"reprepro": "reprepro", "rpmbuild": "rpm", "createrepo_c": "createrepo-c"}


def make_debian(folder, packages, keys, version):
    """`packages` are paths by suite."""
    with tempfile.TemporaryDirectory(prefix="tracer-reprepro-") as base:
        configuration = pathlib.Path(base, "conf/distributions")
        configuration.parent.mkdir()
        configuration.write_text("\n".join(
            f"Origin: libtracer\nLabel: libtracer\nCodename: {suite}\nVersion: {version}\nArchitectures: amd64\nComponents: main\n"
            for suite in packages), encoding="ascii")
        for suite, paths in packages.items():
            run("reprepro", "--silent", "--basedir", base, "--outdir", folder, "includedeb", suite, *paths)
    for suite in packages:
        sign_suite(folder / "dists" / suite, keys)


def sign_suite(folder, keys):
    """reprepro would write its own time."""
    release = folder / "Release"
    text = re.sub(r"(?m)^Date: .*", f"Date: {email.utils.formatdate(keys.date, usegmt=True).replace('GMT', 'UTC')}", release.read_text())
    release.write_text(text)
    keys.sign_openpgp(release, folder / "Release.gpg")
    keys.sign_openpgp(release, folder / "InRelease", "--clearsign")


def make_rpm(out, tarball, machine, version, date):
    """The RPM of a static tracerd, from its tarball."""
    with tempfile.TemporaryDirectory(prefix="tracer-rpm-") as top:
        spec = pathlib.Path(top, "tracerd.spec")
        day = subprocess.run(["date", "-u", "-d", f"@{date}", "+%a %b %d %Y"], check=True, env={"LC_ALL": "C"}, stdout=subprocess.PIPE,
                             text=True).stdout.strip()
        spec.write_text(filled("rpm/tracerd.spec.in", VERSION=version, NAME=tarball.name.removesuffix(".tar.gz"), DATE=day))
        macros = {"_topdir": top, "_sourcedir": tarball.parent, "_buildhost": "libtracer", "use_source_date_epoch_as_buildtime": 1,
                  "clamp_mtime_to_source_date_epoch": 1, "_build_id_links": "none", "debug_package": "%{nil}",
                  # What is stripped and compressed already stays as it is.
                  "__os_install_post": "%{nil}"}
        run("rpmbuild", "-bb", "--quiet", "--target", machine,
            *(f"--define={name} {value}" for name, value in macros.items()), spec, env=os.environ | {"SOURCE_DATE_EPOCH": str(date)}, stdout=subprocess.DEVNULL)
        out.mkdir(parents=True, exist_ok=True)
        made, = pathlib.Path(top, "RPMS").rglob("*.rpm")
        return pathlib.Path(shutil.move(made, out / made.name))


def make_dnf(folder, keys):
    """The repository of the RPMs in a folder, which are signed, too."""
    for path in sorted(folder.glob("*.rpm")):
        keys.sign_rpm(path)
        os.utime(path, (keys.date, keys.date))
    run("createrepo_c", "--quiet", "--no-database", f"--revision={keys.date}", "--set-timestamp-to-revision", folder)
    keys.sign_openpgp(folder / "repodata/repomd.xml", folder / "repodata/repomd.xml.asc")
