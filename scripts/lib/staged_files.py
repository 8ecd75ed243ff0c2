# SPDX-License-Identifier: Apache-2.0
"""What packages contain: a build, and what is made of sources and help texts, in a folder as it is to lie on a machine."""
import pathlib
import re
import shutil
import subprocess

import completion
import help_texts
import manual_pages

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOT_IN_PACKAGES = ("index.md", "notebooks")  # Pages of the site.


def run(*command, **options):
    subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, check=True, **options)


def output_of(*command):
    return subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def project_version():
    return re.search(r"^project\(tracer VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def version_and_date(environment):
    """The version of packages, and the time of all their files. What is no release sorts before the next one, and after what
    was built of earlier commits."""
    try:
        date = int(environment.get("SOURCE_DATE_EPOCH") or output_of("git", "log", "-1", "--format=%ct"))
        if f"v{project_version()}" in output_of("git", "tag", "--points-at", "HEAD").splitlines():
            return project_version(), date
        return (f"{project_version()}~git{output_of('git', 'rev-list', '--count', 'HEAD')}."
                f"{output_of('git', 'rev-parse', '--short=8', 'HEAD')}", date)
    except (OSError, subprocess.CalledProcessError):
        # No clone: the sources of a release.
        return project_version(), int((ROOT / "CMakeLists.txt").stat().st_mtime)


def filled(template, **values):
    """The text of a file of packaging/, with `values` in place of @NAME@."""
    text = (ROOT / "packaging" / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def stage(build, prefix, components, date, program=None):
    """Fills `prefix` with the components of a build, manual pages, completion, unit and documentation. `program`: a tracerd that
    runs here, if that of the build does not."""
    for component in components:
        run("cmake", "--install", build, "--prefix", prefix, "--component", component, "--strip", stdout=subprocess.DEVNULL)
    texts = help_texts.read(program or prefix / "bin/tracerd")
    share = prefix / "share"
    manual_pages.write(share / "man", texts, (ROOT / "docs/service.md").read_text(),
                       (ROOT / "packaging/tracerd.toml").read_text(), date)
    completed = share / "bash-completion/completions/tracerd"
    completed.parent.mkdir(parents=True)
    completed.write_text(completion.script(texts, (ROOT / "packaging/completion.bash.in").read_text()))
    shutil.copytree(ROOT / "docs", share / "doc/tracerd", ignore=shutil.ignore_patterns(*NOT_IN_PACKAGES), dirs_exist_ok=True)
    copy(ROOT / "CHANGELOG.md", share / "doc/tracerd/CHANGELOG.md")
    copy(ROOT / "packaging/systemd/tracerd.service", prefix / "lib/systemd/system/tracerd.service")
    copy(ROOT / "packaging/systemd/tracerd.socket", share / "doc/tracerd/examples/tracerd.socket")
    copy(ROOT / "packaging/grafana/tracer.json", share / "doc/tracerd/examples/grafana.json")
