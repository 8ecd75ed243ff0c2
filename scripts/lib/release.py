# SPDX-License-Identifier: Apache-2.0
"""A release: all that is built of this checkout, in a folder with its repositories, sums and signatures."""
import hashlib
import os
import platform
import re
import shutil
import subprocess

import deb_packages
import deb_python
import python_package
import release_repositories
import sbom
import static_tarball
from python_package import NotThere
from release_keys import Keys, need
from staged_files import ROOT, copy, filled, output_of, project_version, run, version_and_date

# Where each states the version; one place can't be read by all builders.
VERSIONS = {"CMakeLists.txt": r"^project\(tracer VERSION (\S+)", "plugins/snakemake/pyproject.toml": r'^version = "(.+)"',
            "plugins/nextflow/src/META-INF/MANIFEST.MF": r"^Plugin-Version: (\S+)"}


def make(out, arguments):
    check(arguments)
    need(release_repositories.NEEDED)
    date = version_and_date(os.environ)[1]
    keys = Keys(arguments.key, date)  # Before hours of builds.
    text = (ROOT / "CHANGELOG.md").read_text()
    news(arguments.version, text)
    os.environ["SOURCE_DATE_EPOCH"] = str(date)
    shutil.rmtree(out, ignore_errors=True)
    built = ROOT / "build/release-parts"
    shutil.rmtree(built, ignore_errors=True)
    packages = make_packages(built, arguments, date)
    make_tarballs(out / "tarballs", arguments, date)
    make_python(out / "python", arguments)
    make_plugins(out / "plugins", arguments)
    with keys:
        assemble(out, packages, keys, arguments.version, arguments.url, text)


def check(arguments):
    for path, pattern in VERSIONS.items():
        stated = re.search(pattern, (ROOT / path).read_text(), re.M)[1]
        if stated != arguments.version:
            raise NotThere(f"{path} has the version {stated}, not {arguments.version}")
    if not arguments.like_dev and output_of("git", "status", "--porcelain"):
        raise NotThere("this checkout has changes that are not committed: git status")


def make_packages(built, arguments, date):
    """Debian's, by suite."""
    def debs(suite, version, python=None):
        made = deb_packages.make(built / suite, version, date, arguments.like_dev, python)
        return [path for path in made if path.suffix == ".deb"]

    first, *later = release_repositories.SUITES
    packages = {first: debs(first, arguments.version)}
    for number, suite in enumerate(later, 13):
        packages[suite] = [path for path in packages[first] if not path.name.startswith("tracer-python_")]
        wanted = release_repositories.SUITES[suite]
        for python in arguments.python:
            if deb_python.interpreter(python) == wanted:
                packages[suite] += debs(suite, f"{arguments.version}+deb{number}", python)
                break
        else:
            print(f"scripts/release: without tracer-python for {suite}: no --python is {wanted}")
    return packages


def make_tarballs(out, arguments, date):
    for machine in (platform.machine(), *["aarch64"] * arguments.arm64):
        static_tarball.make(out / machine, arguments.version, date, arguments.like_dev, machine)


def make_python(out, arguments):
    """A wheel for each Python, and the source package."""
    options = ["--out", out, *["--like-dev"] * arguments.like_dev]
    run(ROOT / "scripts/wheel", *options, stdout=subprocess.DEVNULL)
    for python in arguments.python:
        run(ROOT / "scripts/wheel", *options, "--python", python, stdout=subprocess.DEVNULL)
    build_with(tools(), ROOT, out, "scikit_build_core.build", "build_sdist")


def tools():
    return python_package.environment("release", ROOT / "scripts/lib/release-requirements.txt")


def build_with(python, source, out, backend, what):
    """By the builder that pip would call."""
    out.mkdir(parents=True, exist_ok=True)
    run(python, "-c", f"import sys; from {backend} import {what}; {what}(sys.argv[1])", out, cwd=source, stdout=subprocess.DEVNULL)


def make_plugins(out, arguments):
    # What setuptools leaves beside the sources would be in the next one.
    source = ROOT / "build/release-parts/snakemake"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "plugins/snakemake", source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    build_with(tools(), source, out, "setuptools.build_meta", "build_wheel")
    if arguments.nextflow:
        run(ROOT / "plugins/nextflow/build", arguments.nextflow, out, stdout=subprocess.DEVNULL)
    else:
        print("scripts/release: without Nextflow's plugin: --nextflow names no jars")


def assemble(out, packages, keys, version, url, changelog):
    """Adds to built files what names and signs them. `packages` are Debian's, by suite."""
    out.mkdir(parents=True, exist_ok=True)
    release_repositories.make_debian(out / "debian", packages, keys, version)
    for folder in sorted((out / "tarballs").iterdir()):
        tarball, = folder.glob("*.tar.gz")
        release_repositories.make_rpm(out / "rpm/el9", tarball, folder.name, version, keys.date)
    release_repositories.make_dnf(out / "rpm/el9", keys)
    (out / "release.pem").write_text(keys.public_pem())
    (out / "openpgp.asc").write_text(keys.public_openpgp())
    (out / "NEWS").write_text(news(version, changelog))
    copy(ROOT / "LICENSE", out / "LICENSE")
    write_get(out / "get.sh", keys, version, url)
    (out / f"libtracer-{version}.cdx.json").write_text(sbom.text(out, version, keys.date))
    write_sums(out)
    for name in ("SHA256SUMS", "get.sh"):
        keys.sign(out / name)


def news(version, changelog):
    """Its part of the changelog, as plain text."""
    found = re.search(rf"(?ms)^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog)
    if not found:
        raise NotThere(f"CHANGELOG.md has no part {version}")
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", found[1].strip()).replace("**", "").replace("`", "")
    return f"libtracer {version}\n\n{text}\n"


def write_get(path, keys, version, url):
    openpgp, pem = (re.search(r"\n\n?([A-Za-z0-9+/=\n]+?)\n(=....\n)?-", key)[1].replace("\n", "") for key in
                    (keys.public_openpgp(), keys.public_pem()))
    path.write_text(filled("get.sh.in", VERSION=version, BASE=url, SUITES=" ".join(release_repositories.SUITES), PEM=pem,
                           OPENPGP="\n".join(re.findall(r".{1,160}", openpgp))))
    path.chmod(0o755)


def write_sums(out):
    """Of all files: what is not in here is not of the release."""
    paths = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    (out / "SHA256SUMS").write_text("".join(f"{hashlib.sha256((out / path).read_bytes()).hexdigest()}  {path}\n" for path in paths))
