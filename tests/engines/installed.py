# SPDX-License-Identifier: Apache-2.0
"""Finds engines, or installs them into a cache: $XDG_CACHE_HOME or ~/.cache, below libtracer-engines.

Nextflow comes from Maven Central and Python's engines from PyPI, by name, with the machine's own clients. Debian's
packages are not installed from here: whoever runs the tests does that."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
INSTALL_SECONDS = 900


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(base, "libtracer-engines")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def skip(reason):
    raise unittest.SkipTest(reason)


def program(name, package):
    """The path of a program that a Debian package has."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    return path or skip(f"no {name}: apt-get install {package}")


@contextlib.contextmanager
def install_once(name):
    """Yields the folder of what is to be installed, and whether that has to be done. One process at a time."""
    folder = cache_folder() / name
    with open(cache_folder() / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / ".installed"
        if done.exists():
            yield folder, False
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield folder, True
        done.touch()


def run_installer(what, *words, **options):
    try:
        result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", timeout=INSTALL_SECONDS, check=False, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        skip(f"{what} can't be installed: {error}")
    if result.returncode != 0:
        skip(f"{what} can't be installed: " + " | ".join(result.stdout.strip().splitlines()[-4:]))
    return result.stdout


def python_engine(name, *requirements):
    """The bin folder of a virtual environment that has them."""
    with install_once(name) as (folder, missing):
        if missing:
            run_installer(name, sys.executable, "-m", "venv", str(folder / "env"))
            run_installer(name, str(folder / "env/bin/python"), "-m", "pip", "install", "-q", *requirements)
    return folder / "env/bin"


def java():
    """Java 17 to 24: Nextflow knows no later one."""
    homes = [os.environ.get("JAVA_HOME", ""), *sorted(map(str, pathlib.Path("/usr/lib/jvm").glob("*17*")))]
    for path in [shutil.which("java"), *(os.path.join(home, "bin/java") for home in homes if home)]:
        if not path or not os.access(path, os.X_OK):
            continue
        text = subprocess.run([path, "-version"], stderr=subprocess.PIPE, text=True, check=False).stderr
        version = re.search(r'version "(\d+)', text)
        if version and 17 <= int(version[1]) <= 24:
            return path
    return skip("no Java 17: apt-get install openjdk-17-jre-headless")


DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
EXCLUSION = "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"
# What has to be said besides the version, as not all that its description names is on Maven Central.
NEXTFLOW = {
    "24.10.0": ((), ()),
    "25.04.4": ((("io.nextflow", "nf-lang"), ("io.seqera", "lib-trace")), (("io.nextflow", "nf-lang", "25.04.0"),)),
}
OPENED = ("java.lang", "java.io", "java.nio", "java.net", "java.util", "java.util.concurrent.locks",
          "java.util.concurrent.atomic", "java.nio.file.spi", "sun.nio.ch", "sun.nio.fs",
          "sun.net.www.protocol.http", "sun.net.www.protocol.https", "sun.net.www.protocol.ftp",
          "sun.net.www.protocol.file", "jdk.internal.misc", "jdk.internal.vm", "java.util.regex")


def nextflow(version):
    """The words to run `nextflow` with: java and its class path."""
    machine = java()
    maven = program("mvn", "maven")
    excluded, added = NEXTFLOW[version]
    with install_once(f"nextflow-{version}") as (folder, missing):
        if missing:
            exclusions = "".join(EXCLUSION.format(*one) for one in excluded)
            dependencies = DEPENDENCY.format("io.nextflow", "nextflow", version,
                                             f"<exclusions>{exclusions}</exclusions>" if exclusions else "")
            dependencies += "".join(DEPENDENCY.format(*one, "") for one in added)
            (folder / "pom.xml").write_text(
                '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
                "<groupId>test</groupId><artifactId>test</artifactId><version>1</version>"
                f"<dependencies>{dependencies}</dependencies></project>")
            run_installer(f"Nextflow {version}", maven, "-q", "-B", f"-Dmaven.repo.local={cache_folder() / 'maven'}",
                          "dependency:build-classpath", "-Dmdep.outputFile=classpath", cwd=folder)
            one_jar(folder / f"nextflow-{version}-one.jar", (folder / "classpath").read_text().strip().split(":"))
    # One version with a class path that is too long to be kept whole.
    class_path = str(folder / f"nextflow-{version}-one.jar")
    if version == "25.04.4":
        class_path = (folder / "classpath").read_text().strip()
    # As Nextflow's own launcher has it, but for what saves time and memory.
    return [machine, *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED), "-Dfile.encoding=UTF-8",
            "-Djava.awt.headless=true", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
            class_path, "nextflow.cli.Launcher"]


def snakemake():
    """The words to run `snakemake` with."""
    return [str(python_engine("snakemake-9", "snakemake>=9,<10") / "snakemake")]


def one_jar(path, jars):
    """A jar that starts Nextflow, as its own distribution is one: arguments aren't longer than they are elsewhere."""
    manifest = "Manifest-Version: 1.0\n"
    line = "Class-Path: " + " ".join(pathlib.Path(jar).as_uri() for jar in jars)
    while line:  # a line of a manifest has at most 72 bytes with its end; one that goes on begins with a space
        manifest += line[:70] + "\n"
        line = line[70:] and " " + line[70:]
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest)


def marker():
    """The path of the compiled marker. It is static: containers run it as well."""
    source = HERE / "marker.c"
    compiler = program("cc", "gcc")
    name = "marker-" + hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    with install_once(name) as (folder, missing):
        if missing:
            run_installer("marker", compiler, "-O1", "-static", "-o", str(folder / "marker"), str(source))
    return folder / "marker"


def main():
    """Prints the words that run an engine, one a line."""
    engines = {"nextflow": lambda: nextflow("24.10.0"), "snakemake": snakemake}
    try:
        print("\n".join(engines[sys.argv[1]]()))
    except unittest.SkipTest as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
