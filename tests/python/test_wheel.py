# SPDX-License-Identifier: Apache-2.0
"""The wheel as somebody has it who has no compiler: built and repaired by scripts/wheel, installed without any registry."""
import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# It was 11.0 MB, with SQLite, the service's client and the proc tier in the module and in tracerd; much more means that debug
# information or a whole library too many is in it.
MOST_BYTES = 12_000_000
NEWEST_GLIBC = 36  # 2.36 is Debian 12's.
# What a minimal machine has, and what is traced here.
TOOLS = ("sh", "env", "true", "cat", "ldd", "uname")
# Its PATH has neither of the two.
UNSHARE, MOUNT = (shutil.which(name) or name for name in ("unshare", "mount"))
WITHOUT_HEADERS = (UNSHARE, "--mount", "sh", "-c", f'{MOUNT} -t tmpfs none /usr/include && exec "$@"', "sh")

LOADED = """
import tracer._core
print("\\n".join(sorted({line.split()[5] for line in open("/proc/self/maps") if "/lib" in line})))
"""
READ_RULES = """
from tracer.recommend._families import read_families
from tracer.sweep._rules import read_rules
print(len(read_rules().of) > 5, len(read_families()) > 5)
"""
READ = """
import sys, tracer
recording = tracer.read(sys.argv[1])
rows = recording.processes.to_dicts()
print(sorted(row["tool"] for row in rows))
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        built = subprocess.run([ROOT / "scripts/wheel", "--like-dev", "--out", cls.folder], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
        if built.returncode != 0:
            raise AssertionError(built.stdout[-4000:])
        cls.wheel, = cls.folder.glob("*.whl")
        with zipfile.ZipFile(cls.wheel) as archive:
            cls.files = {info.filename: info.file_size for info in archive.infolist() if not info.is_dir()}
            cls.metadata = email.message_from_bytes(archive.read(cls.file_like(r"\.dist-info/METADATA$")))
            cls.python = cls.folder / "env/bin/python"
        tools = cls.folder / "tools"
        tools.mkdir()
        for name in TOOLS:
            (tools / name).symlink_to(shutil.which(name))
        cls.environment = {"PATH": f"{cls.folder}/env/bin:{tools}", "HOME": str(cls.folder), "LC_ALL": "C.UTF-8"}
        subprocess.run([sys.executable, "-m", "venv", cls.folder / "env"], check=True)
        cls.run_there("python", "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", cls.wheel)

    @classmethod
    def file_like(cls, pattern):
        found = [name for name in cls.files if re.search(pattern, name)]
        if len(found) != 1:
            raise AssertionError(f"{pattern}: {found}")
        return found[0]

    @classmethod
    def run_there(cls, *words):
        """In the new environment, with neither compiler nor headers: what was printed."""
        result = subprocess.run([*WITHOUT_HEADERS, cls.folder / "env/bin" / words[0], *words[1:]], cwd=cls.folder,
                                env=cls.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        if result.returncode != 0:
            raise AssertionError(f"{words}: status {result.returncode}: {result.stdout}")
        return result.stdout

    def recording(self):
        path = self.folder / f"{self.id()}.tracer"
        self.run_there("tracerd", "run", "--record", path, "--", "sh", "-c", "env true; exit 0")
        return path

    def test_there_is_no_compiler_and_no_header(self):
        found = self.run_there("python", "-c", "import os, shutil; print([shutil.which(name) for name in "
                               "('cc', 'gcc', 'c++', 'clang', 'cmake', 'ninja')], os.listdir('/usr/include'))")
        self.assertEqual(found, "[None, None, None, None, None, None] []\n")

    def test_its_name_says_where_it_runs(self):
        version = f"cp{sys.version_info.major}{sys.version_info.minor}"
        name = re.fullmatch(rf"libtracer-(\d+\.\d+\.\d+)-{version}-{version}t?-(.+)\.whl", self.wheel.name)
        self.assertTrue(name, self.wheel.name)
        newest = re.findall(r"manylinux_2_(\d+)_" + re.escape(os.uname().machine), name[2])
        self.assertTrue(newest and int(newest[0]) <= NEWEST_GLIBC, self.wheel.name)
        self.assertEqual(self.run_there("tracerd", "--version"), f"tracerd {name[1]}\n")
        self.assertEqual(self.run_there("python", "-c", "import tracer._core as core; print(core.version)"), f"{name[1]}\n")

    def test_its_size(self):
        self.assertLess(self.wheel.stat().st_size, MOST_BYTES)

    def test_only_the_package_is_in_it(self):
        folders = {name.split("/")[0] for name in self.files}
        version = self.metadata["Version"]
        self.assertEqual(folders, {"tracer", f"libtracer-{version}.dist-info", f"libtracer-{version}.data", "libtracer.libs"})
        scripts = [name for name in self.files if ".data/" in name]
        self.assertEqual([name.rsplit("/", 2)[1:] for name in scripts], [["scripts", "tracerd"]])

    def test_all_of_the_package_is_in_it(self):
        """Modules, types, and the data that they read, such as rules."""
        package = ROOT / "bindings/python/tracer"
        files = {f"tracer/{path.relative_to(package)}" for path in package.rglob("*")
                 if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"}
        for name in ("tracer/py.typed", "tracer/_core.pyi", "tracer/sweep/findings.toml", "tracer/recommend/families.toml",
                     "tracer/_data/sql/tasks_last.sql"):
            self.assertIn(name, files)
        self.assertEqual(files - set(self.files), set())

    def test_its_rules_are_read(self):
        self.assertEqual(self.run_there("python", "-c", READ_RULES), "True True\n")

    def test_the_metadata(self):
        self.assertEqual(self.metadata["Requires-Python"], ">=3.11")
        self.assertEqual(self.metadata["License-Expression"], "Apache-2.0")
        self.assertEqual({*self.metadata.get_all("Provides-Extra")},
                         {"pandas", "polars", "arrow", "sql", "rich", "notebook", "cost", "aws", "ui"})
        needed = [line for line in self.metadata.get_all("Requires-Dist") if "extra ==" not in line]
        self.assertEqual(needed, [])

    def test_whatever_is_linked_has_its_license_there(self):
        licenses = [name.split("/licenses/")[1] for name in self.files if ".dist-info/licenses/" in name]
        for name in ("LICENSE", "LGPL-3", "GPL-2", "GPL-3", "LGPL-2.1", *(f"{package}/copyright" for package in (
                "libbpf-dev", "libelf-dev", "zlib1g-dev", "libzstd-dev", "libsqlite3-dev", "libfmt-dev", "libmsgpack-cxx-dev",
                "libtomlplusplus-dev", "libcli11-dev", "libc6-dev"))):
            self.assertIn(name, licenses)
        self.assertTrue(any(name.startswith("libstdc++-") for name in licenses), licenses)
        self.assertTrue(all(size for name, size in self.files.items() if "/licenses/" in name))
        for name in self.files:
            if name.startswith("libtracer.libs/"):
                library = re.match(r"lib([a-z]+)", name.split("/")[1])[1]
                package = {"z": "zlib1g-dev", "sqlite": "libsqlite3-dev"}.get(library, f"lib{library}-dev")
                self.assertIn(f"{package}/copyright", licenses)

    def test_the_libraries_are_its_own(self):
        loaded = self.run_there("python", "-c", LOADED).split("\n")
        for library in ("libbpf", "libelf"):
            paths = [path for path in loaded if f"/{library}" in path]
            self.assertTrue(paths, loaded)
            self.assertTrue(all("/libtracer.libs/" in path for path in paths), paths)

    def test_tracerd_needs_no_library(self):
        program = self.folder / "env/bin/tracerd"
        headers = subprocess.run(["readelf", "-lW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("LOAD", headers)
        self.assertNotIn("INTERP", headers)
        self.assertTrue(os.access(self.folder / "env/bin/tracerd", os.X_OK))

    def test_it_is_imported_and_checks_the_machine(self):
        self.assertIn("kernel", self.run_there("python", "-c", "import tracer; print(tracer.check())").lower())

    def test_a_recording_of_its_tracerd_is_read(self):
        self.assertEqual(self.run_there("python", "-c", READ, self.recording()), "['sh -c', 'true']\n")

    def test_a_session_sees_what_it_starts(self):
        code = ("import subprocess, tracer\nwith tracer.session() as s:\n  with s.task('t'): subprocess.run(['true'], check=True)\n"
                "print([row['tool'] for row in s.processes.to_dicts()])")
        self.assertIn("'true'", self.run_there("python", "-c", code))

    def test_a_page_to_share(self):
        page = self.folder / "report.html"
        self.run_there("tracer", "report", self.recording(), "-o", page)
        self.assertIn("</html>", page.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
