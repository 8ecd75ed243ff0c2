# SPDX-License-Identifier: Apache-2.0
"""What scripts/packages builds: Debian's packages are installed, upgraded, removed and purged in a root of Debian that has
nothing else, and so is what install.sh installs. As root; nothing is installed on this machine."""
import contextlib
import email
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts/lib"))
import help_texts
import deb_python
import manual_pages
import release_repositories
import staged_files
import static_tarball
from debian_roots import RootCopy

RELEASE = pathlib.Path(os.environ["TRACER_RELEASE"]) if "TRACER_RELEASE" in os.environ else None
# Written by dpkg, apt and ldconfig whatever is installed.
KEPT_BY_THE_SYSTEM = re.compile(r"/(proc|sys|dev|tmp|run)(/|$)|/var/(lib/dpkg|lib/apt|cache|log)/|/etc/ld\.so\.cache$")
# In place of systemd's, to see what the packages' scripts and install.sh ask for.
SYSTEMCTL = """#!/bin/sh
echo "$*" >> /systemctl.log
case "$*" in
    *is-enabled*) [ -e /service-is-enabled ] && echo enabled || { echo disabled; exit 1; } ;;
    *is-active*) [ -e /service-runs ] ;;
esac
"""
COMPLETE = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_tracerd
printf '%s\\n' "${COMPREPLY[@]}"
"""


def output_of(*command, **options):
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command[0]} failed, with status {result.returncode}: {result.stdout[-4000:]}")
    return result.stdout


def make(what):
    """For the tests of a module: those of TRACER_RELEASE, a folder that scripts/release has made, else new ones."""
    global made, debs
    made = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-packages-"))
    unittest.addModuleCleanup(shutil.rmtree, made, True)
    if RELEASE:
        later = re.compile(r"\+deb\d+_")  # For a Debian that is not this one.
        for path in (*RELEASE.glob("debian/pool/**/*.deb"), *RELEASE.glob(f"tarballs/{platform.machine()}/*")):
            if not later.search(path.name):
                shutil.copy2(path, made)
    else:
        output_of(ROOT / "scripts/packages", what, "--like-dev", "--out", made)
    debs = {path.name.partition("_")[0]: path for path in made.glob("*.deb")}


def write_later_version(path, tree):
    """tracerd as a later version has it, with another configuration, by way of the new folder `tree`."""
    output_of("dpkg-deb", "-R", debs["tracerd"], tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*", "Version: 99.0", control.read_text()))
    with open(tree / "etc/tracer/tracerd.toml", "a", encoding="utf-8") as file:
        file.write("# A later version.\n")
    output_of("dpkg-deb", "-Zgzip", "-z1", "-b", tree, path)


def setUpModule():
    make("all")


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-package-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def extracted(self, *names):
        for name in names:
            output_of("dpkg-deb", "-x", debs[name], self.folder / "extracted")
        return self.folder / "extracted"


class WithRoot(WithFolder):
    def setUp(self):
        super().setUp()
        self.root = RootCopy(self.folder)
        self.addCleanup(self.root.close)

    def good(self, *words, **variables):
        status, text = self.root.run(*words, **variables)
        self.assertEqual(status, 0, f"{words}: {text[-3000:]}")
        return text

    def apt(self, *words):
        """With the package lists as they are; again with new ones where those are too old."""
        words = ("apt-get", "-q", "-y", "--no-install-recommends", *words)
        if self.root.run(*words)[0] != 0:
            self.good("apt-get", "-q", "update")
            self.good(*words)

    def files(self):
        listed = self.good("find", "/", "-xdev", "-mindepth", "1").splitlines()
        return {path for path in listed if not KEPT_BY_THE_SYSTEM.match(path)}

    def completed(self, *words, script="/usr/share/bash-completion/completions/tracerd"):
        return self.good("bash", "-c", COMPLETE, "bash", script, *words).split()

    def with_service_manager(self):
        self.root.put("/usr/bin/systemctl", text=SYSTEMCTL, mode=0o755)
        self.root.path("/run/systemd/system").mkdir(parents=True)

    def asked_of_service_manager(self):
        """What was asked since the last time, but for questions."""
        log = self.root.path("/systemctl.log")
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [re.sub(r"--(quiet|system) ?", "", line) for line in lines if not re.search(r"is-(enabled|active)", line)]


class Contents(WithFolder):
    def test_the_packages_are_those_of_the_sonames(self):
        self.assertEqual(set(debs), {"tracerd", "tracer-python", "libtracer0.2", "libtracer-c0", "libtracer-dev"})
        extracted = self.extracted("libtracer0.2", "libtracer-c0")
        sonames = {re.search(r"SONAME.*\[(.*)\]", output_of("readelf", "-d", path))[1]
                   for path in extracted.glob("usr/lib/*/*.so.*") if not path.is_symlink()}
        self.assertEqual(sonames, {"libtracer.so.0.2", "libtracer-c.so.0"})

    def test_all_files_have_one_time(self):
        for path in debs.values():
            times = {tuple(line.split()[3:5]) for line in output_of("dpkg-deb", "-c", path).splitlines()}
            self.assertEqual(len(times), 1, path)

    def test_lintian_finds_nothing(self):
        listed = sorted(made.glob("*.changes")) or debs.values()
        self.assertEqual(output_of("lintian", "--allow-root", "--tag-display-limit", "0", *listed), "")

    @unittest.skipUnless(shutil.which("rpmlint") and shutil.which("rpmbuild"), "rpm or rpmlint is not installed")
    def test_rpmlint_finds_nothing_in_the_rpm_of_the_tarball(self):
        archive, = made.glob("*.tar.gz")
        package = release_repositories.make_rpm(self.folder, archive, platform.machine(), staged_files.project_version(), 1_700_000_000)
        self.assertIn("0 errors, 0 warnings", output_of("rpmlint", "-c", ROOT / "packaging/rpm/rpmlint.toml", package))

    def test_the_example_is_that_of_the_sources(self):
        for path in (self.extracted("tracerd") / "etc/tracer").iterdir():
            self.assertEqual(path.read_bytes(), (ROOT / "packaging" / path.name).read_bytes(), path)
        self.assertEqual(output_of("dpkg-deb", "-I", debs["tracerd"], "conffiles"), "/etc/tracer/tracerd.toml\n")

    def test_the_python_package_names_no_folder_of_the_build(self):
        extracted = self.extracted("tracer-python")
        for path in extracted.rglob("*"):
            self.assertNotIn(path.name, ("__pycache__", "direct_url.json"))
            if path.is_file():
                data = path.read_bytes()
                for folder in (ROOT, made, pathlib.Path.home() / ".cache"):
                    self.assertNotIn(f"{folder}/".encode(), data, path)
        self.assertEqual([path.name for path in (extracted / "usr/bin").iterdir()], ["tracer"])
        self.assertEqual([path.name for path in (extracted / "opt").rglob("bin")], [])
        self.assertEqual((extracted / "usr/bin/tracer").read_text().splitlines()[0], f"#!/usr/bin/{deb_python.interpreter()} -IS")

    def test_the_python_package_has_all_that_the_wheel_has_and_what_its_extras_need(self):
        modules = self.extracted("tracer-python") / deb_python.PLACE
        package = ROOT / "bindings/python/tracer"
        for path in package.rglob("*"):
            if path.is_file() and path.suffix not in (".so", ".pyc"):
                self.assertEqual((modules / "tracer" / path.relative_to(package)).read_bytes(), path.read_bytes())
        pinned = dict(re.findall(r"(?m)^(\S+)==(\S+)", (ROOT / "packaging/python-versions.txt").read_text()))
        there = {}
        for path in modules.glob("*.dist-info"):
            about = email.message_from_bytes((path / "METADATA").read_bytes())
            there[about["Name"].lower()] = about["Version"]
            self.assertTrue([each for each in path.rglob("*") if re.search("(?i)licen[cs]e|copying", each.name)], f"the license of {path.name}")
        self.assertEqual(there, {name.lower(): version for name, version in pinned.items()})
        needed = output_of("dpkg-deb", "--field", debs["tracer-python"], "Depends").split(", ")
        for each in ("python3 (>= 3.11)", deb_python.interpreter(), f"tracerd (= {output_of('dpkg-deb', '--field', debs['tracerd'], 'Version').strip()})"):
            self.assertIn(each, [need.strip() for need in needed])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_the_unit_has_no_mistakes_and_few_rights(self):
        extracted = self.extracted("tracerd")
        unit = self.folder / "tracerd.service"
        text = (extracted / "lib/systemd/system/tracerd.service").read_text()
        unit.write_text(text.replace("/usr/bin/tracerd", str(extracted / "usr/bin/tracerd")))
        self.assertEqual((extracted / "usr/share/doc/tracerd/examples/grafana.json").read_text(),
                         (ROOT / "packaging/grafana/tracer.json").read_text())
        # Its status is 0 also where it finds mistakes.
        socket = self.folder / "tracerd.socket"
        socket.write_text((extracted / "usr/share/doc/tracerd/examples/tracerd.socket").read_text())
        self.assertEqual(output_of("systemd-analyze", "verify", "--man=no", unit, socket), "")
        said = output_of("systemd-analyze", "security", "--offline=true", "--no-pager", f"--root={extracted}",
                         "--threshold=28", "tracerd.service")
        self.assertIn("Overall exposure level for tracerd.service:", said)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_the_units_of_notify_and_lakes_have_no_mistakes(self):
        extracted = self.extracted("tracerd", "tracer-python")
        shutil.copy(extracted / "lib/systemd/system/tracerd.service", self.folder)
        for name in ("tracer-notify.service", "tracer-ship.service", "tracer-compact.service", "tracer-compact.timer"):
            text = (extracted / "lib/systemd/system" / name).read_text()
            self.assertEqual(text, (ROOT / "packaging/systemd" / name).read_text())
            unit = self.folder / name
            unit.write_text(text.replace("/usr/bin/tracer ", f"{extracted}/usr/bin/tracer "))
            self.assertEqual(output_of("systemd-analyze", "verify", "--man=no", unit), "")
        for name in ("tracer-ship.service", "tracer-compact.service"):
            said = output_of("systemd-analyze", "security", "--offline=true", "--no-pager", f"--root={extracted}", "--threshold=28", name)
            self.assertIn(f"Overall exposure level for {name}:", said)

    def test_another_project_builds_with_the_development_package(self):
        extracted = self.extracted("tracerd", "libtracer0.2", "libtracer-c0", "libtracer-dev")
        folder, = extracted.glob("usr/lib/*/pkgconfig")
        for name, compiler, source in (("tracer", ("c++", "-std=c++20"), "consumer.cpp"), ("tracer-c", ("cc",), "consumer.c")):
            flags = output_of("pkg-config", "--cflags", "--libs", name, env=os.environ | {"PKG_CONFIG_PATH": str(folder)}).split()
            program = self.folder / name
            output_of(*compiler, ROOT / "tests/package/consumer" / source, *flags, "-o", program)
            self.assertEqual(output_of(program, env={"LD_LIBRARY_PATH": str(folder.parent)}),
                             f"tracer {staged_files.project_version()}\n")
        output_of("cmake", "-S", ROOT / "tests/package/consumer", "-B", self.folder / "build", f"-DCMAKE_PREFIX_PATH={extracted}/usr")


class Texts(WithFolder):
    def setUp(self):
        super().setUp()
        self.extracted("tracerd")
        self.share = self.folder / "extracted/usr/share"
        self.texts = help_texts.read(self.folder / "extracted/usr/bin/tracerd")

    def test_the_page_of_tracer_has_each_of_its_commands(self):
        self.extracted("tracer-python")
        page = output_of("zcat", self.share / "man/man1/tracer.1.gz")
        path = self.folder / "tracer.1"
        path.write_text(page)
        self.assertEqual(output_of("sh", "-c", f"mandoc -T lint -W warning {path} 2>&1 || true"), "")
        commands = set(re.findall(r"(?m)^\\fBtracer (\w+)\\fR$", page))
        self.assertEqual(commands & {"report", "cost", "recommend", "sweep", "top", "ui", "notify"}, {"report", "cost", "recommend", "sweep", "top", "ui", "notify"})

    def pages(self):
        for path in sorted((self.share / "man").glob("man?/*.gz")):
            yield path.name.removesuffix(".gz"), output_of("zcat", path)

    def test_manual_pages_are_right_for_both_formatters(self):
        names = []
        for name, text in self.pages():
            names.append(name)
            path = self.folder / name
            path.write_text(text)
            self.assertEqual(output_of("sh", "-c", f"mandoc -T lint -W warning {path} 2>&1 || true"), "")
            rendered = output_of("groff", "-man", "-Tutf8", "-P-cbou", "-ww", path)
            self.assertNotIn("warning:", rendered)
            self.assertIn("NAME", rendered)
        self.assertEqual(set(names), {"tracerd.1", "tracerd.toml.5", *(f"tracerd-{name}.1" for name in self.texts[1])})

    def test_each_option_of_the_help_is_in_a_page(self):
        pages = dict(self.pages())
        for name, command in self.texts[1].items():
            self.assertGreater(len(command.options), 0)
            for option in command.options:
                self.assertIn(manual_pages.plain(option.long_name) + "\\fR", pages[f"tracerd-{name}.1"])

    def test_each_key_of_the_configuration_is_in_page_and_example(self):
        page = dict(self.pages())["tracerd.toml.5"]
        example = (ROOT / "packaging/tracerd.toml").read_text()
        keys = [key for _, key, _, _ in manual_pages.configuration_keys((ROOT / "docs/service.md").read_text())]
        self.assertGreater(len(keys), 20)
        for key in keys:
            self.assertIn(f"\\fB{manual_pages.plain(key)}\\fR", page)
            self.assertRegex(example, rf"(?m)^#{key} = .*")
        self.assertEqual({*keys, "schema"}, set(re.findall(r"(?m)^#?(\w+) = ", example)))

    def test_the_example_is_right_with_every_key(self):
        text = re.sub(r"(?m)^#(?=[a-z\[])", "", (ROOT / "packaging/tracerd.toml").read_text())
        own = self.folder / "named by the example"
        own.mkdir()
        for rules in ("engines.toml", "secrets.toml"):
            shutil.copy(ROOT / "rules" / rules, own)
        for here, there in (("/etc/tracer", own), ("/var/lib/tracer", own), ("alice", "root"), ("lab", "root")):
            self.assertIn(f'"{here}', text)
            text = text.replace(f'"{here}', f'"{there}')
        path = self.folder / "all.toml"
        path.write_text(text)
        self.assertIn("no mistakes", output_of(self.folder / "extracted/usr/bin/tracerd", "serve", "--check", "--config", path))


class DebianPackages(WithRoot):
    def install(self, *names):
        for name in names:
            self.root.put(f"/root/{debs[name].name}", debs[name])
        self.apt("install", *(f"/root/{debs[name].name}" for name in names))

    def later_version(self):
        write_later_version(self.root.path("/root/later.deb"), self.folder / "later")

    def test_from_installation_to_purge(self):
        before = self.files()
        self.install("tracerd")
        version = staged_files.project_version()
        self.assertEqual(self.good("tracerd", "--version"), f"tracerd {version}\n")
        self.assertIn("no mistakes", self.good("tracerd", "serve", "--check"))
        self.assertEqual(self.completed("tracerd", "ru"), ["run", "runs"])
        self.assertEqual(self.completed("tracerd", "run", "--fam"), ["--families"])
        self.assertEqual(self.completed("tracerd", "run", "--families", "waits,snap"), ["waits,snapshots"])
        self.assertEqual(self.completed("tracerd", "report", "--by", "ta"), ["task"])
        self.assertIn("/etc/tracer/tracerd.toml", self.completed("tracerd", "serve", "--config", "/etc/tracer/"))
        self.assertIn("gzip", self.completed("tracerd", "run", "--record", "x", "gzi"))
        self.user_is_served()

        self.root.put("/etc/tracer/tracerd.toml", text="schema = 1\n# Mine.\n")
        self.root.put("/var/lib/tracer/host.tracer", text="a recording")
        self.later_version()
        self.good("dpkg", "--force-confold", "-i", "/root/later.deb")
        self.assertEqual(self.good("cat", "/etc/tracer/tracerd.toml"), "schema = 1\n# Mine.\n")
        self.good("dpkg", "--remove", "tracerd")
        self.assertEqual(self.good("cat", "/etc/tracer/tracerd.toml"), "schema = 1\n# Mine.\n")
        self.assertEqual(self.good("cat", "/var/lib/tracer/host.tracer"), "a recording")
        self.good("dpkg", "--purge", "tracerd")
        self.apt("autoremove", "--purge")
        left = self.files() - before
        self.assertEqual({path for path in left if not path.startswith("/root/")}, set())

    def user_is_served(self):
        """Two commands: installed, started; then an ordinary user sees what their own command did."""
        with self.served():
            text = self.good("setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", "--no-new-privs", "tracerd", "run",
                             "--no-history", "--", "sh", "-c", "gzip --version; gzip --help", HOME="/tmp")
        self.assertRegex(text, r"(?m)^ *gzip +2 ")
        self.assertRegex(text, r"complete: (\d+) of \1 ended processes seen, by the service, nothing lost")

    @contextlib.contextmanager
    def served(self):
        """The service in the root until the end of the block."""
        service = subprocess.Popen(self.root.words("tracerd", "serve"),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            until = time.monotonic() + 60
            while self.root.run("tracerd", "status")[0] != 0 and service.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            self.assertIsNone(service.poll(), "the service has ended")
            yield
        finally:
            service.terminate()
            said = service.communicate(timeout=60)[0]
        self.assertEqual(service.returncode, 0, said)

    def test_the_service_is_neither_enabled_nor_started_restarted_if_it_runs_and_stopped(self):
        self.with_service_manager()
        self.install("tracerd")
        self.assertEqual(self.asked_of_service_manager(), ["daemon-reload"])
        self.assertNotIn("tracerd.service", self.good("sh", "-c", "ls -R /etc/systemd"))
        self.later_version()
        self.good("dpkg", "-i", "/root/later.deb")
        self.assertEqual(self.asked_of_service_manager(), ["daemon-reload"])
        self.root.put("/service-runs")
        self.good("dpkg", "-i", f"/root/{debs['tracerd'].name}")
        self.assertEqual(self.asked_of_service_manager(), ["daemon-reload", "restart tracerd.service"])
        self.good("dpkg", "--remove", "tracerd")
        self.assertEqual(self.asked_of_service_manager(), ["stop tracerd.service", "daemon-reload"])

    def test_tracer_runs_for_an_ordinary_user_whatever_python_they_have_and_leaves_nothing(self):
        before = self.files()
        self.with_service_manager()
        self.install("tracerd", "tracer-python")
        asked = self.asked_of_service_manager()
        self.assertEqual(set(asked), {"daemon-reload"}, "it is neither enabled nor started")
        enabled = self.good("sh", "-c", "ls -R /etc/systemd")
        self.assertNotIn("tracer-notify", enabled)
        self.assertNotIn("tracer-ship", enabled)
        self.assertNotIn("tracer-compact", enabled)
        self.root.put("/tmp/run.tracer", ROOT / "tests/data/recordings/nextflow-24.tracer")
        self.tracer_is_alone()
        self.commands_work()
        self.good("dpkg", "--purge", "tracer-python", "tracerd")
        self.apt("autoremove", "--purge")
        ours = {"/usr/bin/systemctl", "/systemctl.log"}
        self.assertEqual({path for path in self.files() - before - ours if not path.startswith(("/root/", "/home/"))}, set())
        self.assertEqual(before - self.files(), set())

    def of_user(self, *words, **variables):
        """What they have set and installed must not matter: modules that shadow, and a Python of their own in PATH."""
        own = "/home/jo/.local/lib/" + deb_python.interpreter() + "/site-packages"
        return self.root.run("setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", "env", "--chdir=/home/jo", *words, HOME="/home/jo",
                             PYTHONPATH="/home/jo/shadows", PYTHONHOME="/home/jo", PYTHONSTARTUP="/home/jo/shadows/json.py", PYTHONUSERBASE=own,
                             CONDA_PREFIX="/home/jo/conda", VIRTUAL_ENV="/home/jo/conda", TERM="xterm-256color",
                             PATH="/home/jo/conda/bin:/usr/bin:/bin", **variables)

    def tracer_is_alone(self):
        shadow = "raise SystemExit('shadowed')\n"
        places = ("/home/jo", "/home/jo/shadows", f"/home/jo/.local/lib/{deb_python.interpreter()}/site-packages",
                  f"/usr/local/lib/{deb_python.interpreter()}/dist-packages")
        for place in places:
            for name in ("json", "tracer", "textual", "starlette", "rich", "sitecustomize", "usercustomize"):
                self.root.put(f"{place}/{name}.py", text=shadow)
        for name in ("python3", "python", deb_python.interpreter()):
            self.root.put(f"/home/jo/conda/bin/{name}", text="#!/bin/sh\nexit 99\n", mode=0o755)
        self.good("chown", "-R", "4711", "/home/jo")
        self.addCleanup(self.root.run, "rm", "-rf", "/home/jo")
        status, text = self.of_user("tracer", "--version")
        self.assertEqual((status, text), (0, f"tracer {staged_files.project_version()}\n"))
        self.good("rm", "-r", places[-1])

    def commands_work(self):
        status, text = self.of_user("tracer", "report", "--text", "/tmp/run.tracer")
        self.assertEqual(status, 0, text)
        self.assertIn("QC:ALIGN", text)
        status, text = self.of_user("tracer", "ui", "--export", "/home/jo/page.html", "/tmp/run.tracer")
        self.assertEqual((status, text), (0, ""))
        self.assertIn("QC:ALIGN", self.good("cat", "/home/jo/page.html"))
        status, text = self.of_user("sh", "-c", "(sleep 5; printf q) | script -qec 'tracer top /tmp/run.tracer' /dev/null")
        self.assertEqual(status, 0, text[-2000:])
        self.assertIn("QC:ALIGN", text)
        status, text = self.of_user("sh", "-c", "tracer ui --socket /home/jo/ui.sock /tmp/run.tracer & sleep 4; kill -TERM $!; wait $!")
        self.assertEqual(status, 0, text)
        self.assertIn("?token=", text)
        status, text = self.of_user("tracer", "tune", "/tmp/run.tracer")
        self.assertEqual(status, 0, text)
        status, text = self.of_user("tracer", "notify", "--on", "error,run-end", "/tmp/run.tracer", "--", "cat")
        self.assertEqual(status, 0, text)
        self.assertIn('"event": "run_end"', text)
        # As root, too, nothing is written beside what was installed.
        compiled = self.files()
        self.good("tracer", "report", "--text", "/tmp/run.tracer")
        self.assertEqual(self.files(), compiled)

    def test_the_libraries_bring_what_they_need(self):
        self.install("libtracer0.2", "libtracer-c0")
        for path in self.good("sh", "-c", "ls /usr/lib/*/libtracer*.so.*").split():
            self.assertNotIn("not found", self.good("ldd", path))


class Installer(WithRoot):
    def setUp(self):
        super().setUp()
        self.archive, = made.glob("*.tar.gz")
        self.put(self.archive, made / "install.sh", "/root")

    def put(self, archive, installer, place):
        self.root.put(f"{place}/{archive.name}", archive)
        self.root.put(f"{place}/install.sh", installer, mode=0o755)

    def earlier_version(self):
        """The same tracerd with a page that the later version has not."""
        output_of("tar", "-xzf", self.archive, "-C", self.folder)
        tree = self.folder / self.archive.name.removesuffix(".tar.gz")
        tree = tree.rename(tree.with_name("tracerd-0.0.9"))
        (tree / "share/doc/tracerd/gone.md").write_text("gone\n")
        (tree / "share/doc/tracerd/gone").mkdir()
        (tree / "share/doc/tracerd/gone/too.md").write_text("gone\n")
        self.put(*static_tarball.finish(tree, self.folder / "earlier", "0.0.9", 1), "/root/earlier")

    def refused(self, *words, because):
        before = self.files()
        status, text = self.root.run(*words)
        self.assertEqual((status, self.files() - before), (1, set()), text)
        self.assertIn(because, text)

    def test_shells_and_shellcheck_accept_it(self):
        self.assertEqual(output_of("shellcheck", "-s", "sh", made / "install.sh"), "")
        for shell in ("dash", "bash"):
            output_of(shell, "-n", made / "install.sh")

    def test_a_copy_that_was_cut_off_does_nothing(self):
        whole = (made / "install.sh").read_bytes()
        # The last newline is none that anything depends on.
        end = len(whole.rstrip())
        lengths = sorted({*range(0, end, 200), *range(end - 60, end)})
        for length in lengths:
            self.root.path(f"/root/cut-{length}").write_bytes(whole[:length])
        before = self.files()
        printed = self.good("sh", "-c", "cd /root; for each in cut-*; do sh $each 2>/dev/null; bash $each 2>/dev/null; done; true")
        self.assertEqual((printed, self.files() - before), ("", set()))
        self.assertGreater(len(lengths), 80)

    def test_dry_run_prints_what_a_run_does_and_changes_nothing(self):
        before = self.files()
        printed = self.good("/root/install.sh", "--dry-run")
        self.assertEqual(self.files(), before)
        done = self.good("/root/install.sh")

        def commands(text):
            return [re.sub(r"^(\+ cp(?: -p)?) \S+", r"\1", line) for line in text.splitlines() if line.startswith("+")]
        self.assertEqual(commands(printed), commands(done))
        installed = self.files()
        self.good("/root/install.sh", "--uninstall", "--dry-run")
        self.assertEqual(self.files(), installed)

    def test_installed_upgraded_and_uninstalled(self):
        self.earlier_version()
        before = self.files()
        self.assertIn("(in the foreground)", self.good("/root/earlier/install.sh"))
        self.assertIn("/usr/local/share/doc/tracerd/gone.md", self.files())
        self.assertEqual(self.good("cat", "/etc/tracer/tracerd.toml"), (ROOT / "packaging/tracerd.toml").read_text())
        self.root.put("/etc/tracer/tracerd.toml", text="schema = 1\n# Mine.\n")
        for _ in range(2):
            self.good("/root/install.sh")
            self.assertEqual(self.good("cat", "/etc/tracer/tracerd.toml"), "schema = 1\n# Mine.\n")
            self.assertEqual(self.good("tracerd", "--version", PATH="/usr/local/bin"),
                             f"tracerd {staged_files.project_version()}\n")
            self.assertFalse({"/usr/local/share/doc/tracerd/gone.md", "/usr/local/share/doc/tracerd/gone/too.md"} & self.files())
        self.assertIn("ExecStart=/usr/local/bin/tracerd serve\n", self.good("cat", "/usr/local/lib/systemd/system/tracerd.service"))
        self.assertEqual(self.completed("tracerd", "ru", script="/usr/local/share/bash-completion/completions/tracerd"), ["run", "runs"])
        self.assertEqual({path for path in self.files() - before if ".new" in path or ".tracerd-install" in path}, set())
        self.assertIn("/etc/tracer stays", self.good("/root/install.sh", "--uninstall"))
        self.assertEqual(self.files() - before, {"/etc/tracer", "/etc/tracer/tracerd.toml"})
        self.assertEqual(before - self.files(), set())
        self.refused("/root/install.sh", "--uninstall", because="nothing was installed")

    def test_what_failed_half_way_can_be_uninstalled(self):
        self.good("sh", "-c", "rm -r /usr/local/share/man; rm -f /usr/local/man; touch /usr/local/share/man")
        before = self.files()
        status, text = self.root.run("/root/install.sh")
        self.assertNotEqual(status, 0)
        self.assertIn("not finished; run it again, or with --uninstall", text)
        self.assertIn("/usr/local/bin/tracerd", self.files())
        self.good("/root/install.sh", "--uninstall")
        self.assertEqual({path for path in self.files() ^ before if not path.startswith("/etc/tracer")}, set())

    def test_the_service_manager_hears_of_it(self):
        self.with_service_manager()
        self.assertIn("systemctl enable --now tracerd", self.good("/root/install.sh"))
        self.assertEqual(self.asked_of_service_manager(), ["daemon-reload"])
        self.good("/root/install.sh")
        self.assertEqual(self.asked_of_service_manager(), ["daemon-reload", "try-restart tracerd.service"])
        self.good("/root/install.sh", "--uninstall")
        self.assertEqual(self.asked_of_service_manager(), ["disable --now tracerd.service", "daemon-reload"])

    def test_an_ordinary_user_installs_it_at_home(self):
        self.good("sh", "-c", "mkdir -p /home/jo && cp /root/*.tar.gz /root/install.sh /home/jo && chown -R 4711 /home/jo")
        user = ("setpriv", "--reuid=4711", "--regid=4711", "--clear-groups")
        before = self.files()
        self.good(*user, "/home/jo/install.sh", "--prefix", "/home/jo/.local")
        self.assertIn("tracerd", self.good(*user, "/home/jo/.local/bin/tracerd", "--version"))
        self.assertEqual({path for path in self.files() - before if not path.startswith("/home/jo/.local")}, set())
        self.refused(*user, "/home/jo/install.sh", because="you may not write to /usr/local; use sudo")
        self.good(*user, "/home/jo/install.sh", "--prefix=/home/jo/.local", "--uninstall")
        self.assertEqual(self.files() - before, {"/home/jo/.local"})

    def test_the_same_content_gives_the_same_tarball(self):
        output_of("tar", "-xzf", self.archive, "-C", self.folder)
        tree = self.folder / self.archive.name.removesuffix(".tar.gz")
        date = int(tree.stat().st_mtime)
        for path in [tree, *tree.rglob("*")]:
            os.utime(path)
        packed, _ = static_tarball.finish(tree, self.folder / "again", "x", date)
        self.assertEqual(packed.read_bytes(), self.archive.read_bytes())

    def test_another_tarball_is_refused(self):
        data = bytearray(self.archive.read_bytes())
        data[len(data) // 2] ^= 1
        self.root.path(f"/root/{self.archive.name}").write_bytes(data)
        self.refused("/root/install.sh", because="its SHA-256 is")
        self.root.path(f"/root/{self.archive.name}").unlink()
        self.refused("/root/install.sh", because=f"put {self.archive.name} beside this script")
        self.refused("/root/install.sh", "--prefix", "here", because="absolute path")

    def test_what_a_package_owns_is_left_to_it(self):
        self.root.put("/var/lib/dpkg/info/tracerd.list", text="/.\n/usr/bin/tracerd\n")
        status = self.root.path("/var/lib/dpkg/status")
        self.root.put("/var/lib/dpkg/status", text=status.read_text() + "Package: tracerd\nStatus: install ok installed\n"
                      "Maintainer: x <x@example.org>\nArchitecture: all\nVersion: 1\nDescription: x\n\n")
        self.refused("/root/install.sh", "--prefix", "/usr", because="belongs to a package")


if __name__ == "__main__":
    unittest.main(verbosity=2)
