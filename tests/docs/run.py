#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every snippet of the documentation, executes its notebooks, and builds its site without a network.
   tests/docs/run.py [unittest's arguments]; TRACERD, PYTHONPATH: what is tested
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import snippets

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("TRACERD", ROOT / "build/dev/tracerd")).resolve().parent
# A guard against hanging, never a measure.
DEADLINE_SECONDS = 600
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/tutorials").glob("*.md"))]
# Those of docs/c.md are run by tests/c/test_guide.py.
PAGES.remove(ROOT / "docs/c.md")
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
# sudo is for readers: the tests are root. What a snippet may call is here, whatever else the machine has.
PKG_CONFIG = """#!/bin/sh
case $* in
  *tracer-c*) echo -I{root}/bindings/c/include -I{root}/include {build}/bindings/c/libtracer-c.so -Wl,-rpath,{build}/bindings/c ;;
  *) echo -I{root}/include -I{build}/include {build}/lib/libtracer.so -Wl,-rpath,{build}/lib ;;
esac
"""
TRACER = "#!/bin/sh\nexec {python} -m tracer \"$@\"\n"
SUDO = "#!/bin/sh\nexec \"$@\"\n"
# As scripts/demo records, without what it builds and installs, and with less data.
DEMO = """#!/bin/bash
set -e
[[ $1 == nextflow ]]
python3 {root}/examples/pipeline/make_data.py --out build/demo --reads 20000 --genome-bases 500000
mapfile -t words < <(python3 {root}/tests/engines/installed.py nextflow)
cd build/demo/nextflow
tracerd run --record ../demo.tracer -- "${{words[@]}}" run {root}/examples/pipeline/main.nf --data "$PWD/../data" -ansi-log false
"""


class Workplace(unittest.TestCase):
    """A folder for each page, in which its snippets run in their order."""

    recording = None

    @classmethod
    def setUpClass(cls):
        """What pages call run.tracer, where they don't make it themselves."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-docs-"))
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.recording = folder / "run.tracer"
        subprocess.run([BUILD / "tracerd", "run", "--record", cls.recording, "--step", "align", "--", "sh", "-c",
                        "seq 1000 | sort -r | gzip > /dev/null"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-docs-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        programs = self.folder / "programs"
        programs.mkdir()
        for name, text in (("sudo", SUDO), ("tracer", TRACER), ("pkg-config", PKG_CONFIG)):
            (programs / name).write_text(text.format(root=ROOT, build=BUILD, python=sys.executable))
            (programs / name).chmod(0o755)
        (programs / "tracerd").symlink_to(BUILD / "tracerd")
        self.work = self.folder / "work"
        self.work.mkdir()
        shutil.copy(self.recording, self.work)
        demo = self.work / "scripts/demo"
        demo.parent.mkdir()
        demo.write_text(DEMO.format(root=ROOT))
        demo.chmod(0o755)
        self.environment = os.environ | {"PATH": f"{programs}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
                                         "LC_ALL": "C.UTF-8", "COLUMNS": "120", "IPYTHONDIR": str(self.folder / "ipython"),
                                         "XDG_DATA_HOME": str(self.folder / "data")}

    def run_there(self, *words, **options):
        result = subprocess.run(words, cwd=self.work, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", timeout=DEADLINE_SECONDS, check=False,
                                **{"stdin": subprocess.DEVNULL} | options)
        return result.returncode, result.stdout


class Snippets(Workplace):
    maxDiff = None

    def check_page(self, path):
        python = []
        for block in snippets.blocks_of(path.read_text(encoding="utf-8")):
            if not block.runs:
                continue
            with self.subTest(page=path.name, line=block.line):
                if block.file:
                    (self.work / block.file).write_text(block.text)
                elif block.language == "console":
                    self.check_console(block)
                elif block.language == "bash":
                    status, text = self.run_there("bash", "-euo", "pipefail", "-c", block.text)
                    self.assertEqual(status, 0, text)
                elif block.language == "python":
                    # One after the other, as cells: what an earlier one has made is there.
                    python.append(block.text)
                    script = self.work / "page.py"
                    script.write_text(snippets.script_of(python))
                    status, text = self.run_there(sys.executable, script)
                    self.assertEqual(status, 0, text)
                elif block.language in ("cpp", "c"):
                    self.check_compiles(block)

    def check_console(self, block):
        for command, shown in block.commands():
            _, text = self.run_there("bash", "-c", command)
            wrong = snippets.difference(shown, text)
            self.assertIsNone(wrong, f"$ {command}\nprinted\n{text}\nin which there is no line like\n{wrong}")

    def check_compiles(self, block):
        """A whole program is compiled, a part of one inside of a function that has what the page speaks of."""
        if block.language == "c":
            words = ["cc", "-std=c99", f"-I{ROOT}/bindings/c/include", f"-I{ROOT}/include", "-x", "c"]
            text = block.text
        else:
            words = ["c++", "-std=c++20", f"-I{ROOT}/include", f"-I{BUILD}/include", "-x", "c++"]
            text = snippets.whole_program(block.text)
        status, output = self.run_there(*words, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-", stdin=None, input=text)
        self.assertEqual(status, 0, output)


for each in PAGES:
    setattr(Snippets, f"test_{each.stem.replace('-', '_').lower()}", lambda self, path=each: self.check_page(path))


class Notebooks(Workplace):
    def check(self, path):
        import nbclient
        import nbformat

        notebook = nbformat.read(path, as_version=4)
        self.assertFalse([cell for cell in notebook.cells if cell.get("outputs")], "a notebook is stored without results")
        os.environ.update(self.environment)
        nbclient.NotebookClient(notebook, timeout=DEADLINE_SECONDS, resources={"metadata": {"path": str(self.work)}}).execute()
        shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
        pages = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
        self.assertFalse([output for output in shown if output["output_type"] == "error"])
        for page in pages:
            self.assertFalse(snippets.requests_of(page), "what is shown needs no network")
        return pages


for each in NOTEBOOKS:
    setattr(Notebooks, f"test_{each.stem}", lambda self, path=each: self.check(path))


class Site(Workplace):
    def test_it_is_built_without_a_network_and_needs_none(self):
        site = self.folder / "site"
        # Nobody answers there: whatever asks for a network fails at once.
        status, text = self.run_there("unshare", "--net", sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f",
                                      ROOT / "mkdocs.yml", "-d", site)
        self.assertEqual(status, 0, text)
        pages = sorted(site.rglob("*.html"))
        self.assertGreater(len(pages), 15)
        for page in pages:
            self.assertFalse(snippets.requests_of(page.read_text(encoding="utf-8")), page)
        for page, words in (("reference/cpp.html", ("SessionOptions", "peak_rss_bytes", "label_thread", "kPermission")),
                            ("reference/python.html", ("peak_rss_bytes", "RunResult", "def session(", "can be")),
                            ("reference/c.html", ("tracer_session_new", "tracer_queue_read", "TRACER_EVENT_PROCESS_EXIT"))):
            text = re.sub(r"<[^>]+>", "", (site / page).read_text(encoding="utf-8"))
            for word in words:
                self.assertTrue(word in text, f"{page}: no {word}")

    def test_each_public_name_is_in_the_reference(self):
        sys.path.insert(0, str(ROOT / "scripts/site"))
        import python_reference
        import reference

        import tracer

        page = python_reference.python_page(ROOT)
        missing = [name for name in tracer.__all__ if f"### `{name}`" not in page and name.upper() != name]
        self.assertEqual(missing, [])
        page = reference.cpp_page(ROOT)
        for header in sorted((ROOT / "include/tracer").glob("*.hpp")):
            public = re.sub(r"^namespace internal {$.*?^}  // namespace internal$", "", header.read_text(), flags=re.M | re.S)
            for name in re.findall(r"^(?:struct|class|enum class) (?:TRACER_EXPORT )?(\w+)\b[^;]*$", public, re.M):
                self.assertIn(f"### `{name}`", page, header.name)


class Words(unittest.TestCase):
    """What the documentation says of the Python package in words."""

    def test_nothing_is_installed_by_a_name_that_is_not_ours(self):
        for page in [*PAGES, *NOTEBOOKS, *(ROOT / "bindings/python/tracer").glob("*.py")]:
            for words in re.findall(r"pip3? install ([^#\n`&]*)", page.read_text(encoding="utf-8")):
                with self.subTest(page=page.name, words=words):
                    # An extra of what is installed gets nothing by that name.
                    self.assertNotRegex(words, r"(^|[\s'\"])(libtracer|tracer)([\s'\"=<>~]|$)")

    def test_run_takes_what_the_tutorial_says(self):
        import inspect

        import tracer

        page = (ROOT / "docs/tutorials/notebook.md").read_text(encoding="utf-8")
        said = re.search(r"takes these arguments of `subprocess\.run`: (.*?); and these of `tracer\.session`: (.*?)\. It refuses", page, re.S)
        of_command, of_session = (set(re.findall(r"`(\w+)`", part)) for part in said.groups())
        taken = set(inspect.signature(tracer.run).parameters) - {"argv"}
        self.assertEqual(of_command | of_session, taken)
        self.assertLessEqual(of_session, set(inspect.signature(tracer.session).parameters))
        its_own = {"capture_output", "check", "input", "timeout"}
        self.assertLessEqual(of_command - its_own, set(inspect.signature(subprocess.Popen).parameters))
        self.assertLessEqual(its_own, set(inspect.signature(subprocess.run).parameters))


if __name__ == "__main__":
    unittest.main(verbosity=2)
