# SPDX-License-Identifier: Apache-2.0
"""What the package tracer-python contains: the Python package and what its commands need in /opt/tracer, for Debian's own
Python, the command tracer, and the units of tracer notify, tracer lake ship and compact."""
import re
import shutil
import subprocess

import manual_pages
import python_package
from staged_files import ROOT, copy, filled, output_of, project_version, run

DEBIANS = "/usr/bin/python3"
PLACE = "opt/tracer/lib"


def environment(like_dev, python=None):
    """A Python that builds for Debian's, or for one that a later Debian has. Raises NotThere."""
    if python:
        return python_package.environment(f"deb-{interpreter(python)}", ROOT / "scripts/lib/deb-requirements.txt", python)
    if python_package.system_python() != DEBIANS:
        raise python_package.NotThere("no headers of Debian's Python: apt-get install python3-dev python3-venv")
    return (python_package.tests_environment() if like_dev else
            python_package.environment("deb", ROOT / "scripts/lib/deb-requirements.txt"))


def interpreter(python=None):
    """Such as python3.11: for no other version is the binary part."""
    return output_of(python or DEBIANS, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])")


def stage(build, staged, date, like_dev, python=None):
    modules = staged / PLACE
    install_extras(environment(like_dev, python), modules)
    shutil.copytree(ROOT / "bindings/python/tracer", modules / "tracer",
                    ignore=shutil.ignore_patterns("_core*.so", "__pycache__"))
    run("cmake", "--install", build, "--prefix", modules, "--component", "python", "--strip", stdout=subprocess.DEVNULL)
    command = staged / "usr/bin/tracer"
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(filled("tracer.in", PYTHON=interpreter(python)))
    command.chmod(0o755)
    for unit in ("tracer-compact.service", "tracer-compact.timer", "tracer-notify.service", "tracer-ship.service"):
        copy(ROOT / "packaging/systemd" / unit, staged / "lib/systemd/system" / unit)
    page = staged / "usr/share/man/man1/tracer.1"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(manual_page(python or DEBIANS, modules, date), encoding="ascii")


def install_extras(python, modules):
    """No other files than those whose hashes are listed."""
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:",
        "--target", modules, "--require-hashes", "--requirement", ROOT / "packaging/python-versions.txt")
    # Commands of others, which name the Python that pip ran under.
    shutil.rmtree(modules / "bin")


def manual_page(python, modules, date):
    code = "import sys; sys.path.insert(0, sys.argv[1]); sys.argv = ['tracer', '--help']; from tracer.__main__ import main; main()"
    text = output_of("env", "COLUMNS=1000", python, "-ISBc", code, modules)
    listed = re.findall(r"^    (\w+)\s+(\S.*)$", text, re.M)
    about = ("Shows what tracerd(1) has recorded, and what its service knows. Each command lists its options with **--help**.",
             "It runs with the modules in /opt/tracer alone, whatever other Python packages are installed, and takes no Python variables.")
    return manual_pages.page(
        "tracer", 1, "User Commands", "views, reports and analyses of traced pipelines", date, project_version(),
        ("SYNOPSIS", manual_pages.synopsis("tracer COMMAND [OPTION ...]")),
        ("DESCRIPTION", manual_pages.paragraphs("\n\n".join(about), manual_pages.marked)),
        ("COMMANDS", manual_pages.tagged((f"tracer {name}", f"{text[0].upper()}{text[1:]}.") for name, text in listed)),
        ("SEE ALSO", manual_pages.references([("tracerd", 1)])))
