# SPDX-License-Identifier: Apache-2.0
"""The steps of scripts/test, in their order. What passed on this machine with the same artifacts is not run again, but for the
essential cases. The slow steps take turns where TRACER_TEST_MINUTES limits the time."""
import argparse
import itertools
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import artifacts
import python_package
import tidy
from background import Background
from cases import doctest_cases, filter_of, quarter_of, run_cases, run_twice, unittest_cases
from flakes import Flakes
from report import Report
from stamps import Stamps, cache_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FUZZ_SECONDS = int(os.environ.get("TRACER_FUZZ_SECONDS", 20))
KERNELS = os.environ.get("TRACER_KERNELS", "5.10 sid 6.1 6.12").split()
MINUTES = float(os.environ.get("TRACER_TEST_MINUTES", 600))  # What would take longer waits for its turn in a later run.
# On two CPUs, with their builds: how long steps take that never ran here.
TYPICAL_MINUTES = {"build": 5, "unit": 1, "fault": 0.2, "c interface": 0.5, "kernel, ground truth, essential": 1,
                   "command line, essential": 1, "python package, essential": 1.5, "package": 3, "asan": 25, "tsan": 25, "fuzz": 8, "engines": 12, "deb and tarball": 4, "wheel": 5,
                   "other Pythons": 8, "documents": 4, "attacks": 4, "kernel, ground truth": 7, "command line": 12, "python package": 7}
EMULATED_MINUTES = 8

ESSENTIAL_STEPS = ("unit", "fault", "kernel, ground truth, essential", "command line, essential", "c interface",
                   "python package, essential")
MACHINE_DIED = "the emulated machine died"  # As tests/kernel/emulate says it.

# Words in the doctest suites of tests/kernel.
ESSENTIAL = "-ts=*essential*"  # A way through the whole library.
SANITIZED = "-ts=*sanitized*"
NOT_NATIVE = "-tse=*native*"  # All but those in which one kernel is as good as another.
# Those of tests/unit that take long and have no second thread say nothing to the thread sanitizer.
WITH_THREADS = "-tse=*one_thread*"


def commits():
    """Of this branch: where no stamps say whose turn it is, each commit moves on to the next."""
    counted = subprocess.run(["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    return int(counted or 0)


def c_tests(preset):
    return ["ctest", "--test-dir", ROOT / "build" / preset, "-L", "^c$", "--no-tests=error", "--output-on-failure"]


class TestRun:
    def __init__(self, arguments):
        self.full = arguments.what == "full"
        self.documents = arguments.what != "quick"
        self.stamps = Stamps(ignore=arguments.all)
        logs = ROOT / "build/test-logs"
        logs.mkdir(parents=True, exist_ok=True)
        for old in logs.glob("*.log"):
            old.unlink()
        self.report = Report(logs, Flakes(cache_folder()))
        self.background = Background(self.report)
        self.python = None  # The interpreter that the tests of the Python package run under.

    def run(self):
        self.say_what_runs()
        try:
            self.python = python_package.tests_environment()
        except python_package.NotThere as error:
            self.report.skip("python package", error)
        self.build("dev")
        if self.python:
            python_package.put_beside_package(ROOT / "build/dev")
        try:
            self.background.start(self.steps_that_need_no_quiet())
            self.on_this_machine()
            if self.full:
                # An emulated machine keeps less than one CPU busy: what needs no quiet is built and run beside it.
                with ThreadPoolExecutor(1) as beside:
                    kernels = beside.submit(self.emulated_kernels)
                    self.slow_steps()
                    kernels.result()
            elif self.documents and self.python:
                self.take_turns(*self.documents_step())
            self.background.collect()
        finally:
            self.background.end()
        self.report.end()

    def say_what_runs(self):
        steps = ["build", *ESSENTIAL_STEPS, *["documents"] * self.documents]
        if self.full:
            print("scripts/test full: all that this machine has not seen pass: hours"
                  + f", but at most {MINUTES:.0f} minutes" * (MINUTES < 600), flush=True)
            return
        minutes = sum(self.stamps.minutes(step, TYPICAL_MINUTES[step]) for step in steps)
        print(f"{', '.join(steps)}: about {max(minutes, 1):.0f} minutes", flush=True)

    def build(self, preset, *targets):
        """A build that fails ends the run, as there is nothing to test."""
        more = python_package.configuration(self.python) if preset == "dev" else []
        begin = self.report.minutes()
        self.must_build(preset, ["cmake", "--preset", preset, *more],
                        ["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else [])])
        if preset == "dev":
            self.stamps.note_run("build", self.report.minutes() - begin)

    def must_build(self, what, *commands):
        log = self.report.log_of(f"build_{what}")
        politely = [] if what == "dev" else ["nice", "-n", "19"]
        with open(log, "w", encoding="utf-8") as file:
            good = all(self.report.watch(f"build {what}", [*politely, *command], file, cwd=ROOT) == 0 for command in commands)
        if not good:
            print(f"building '{what}' failed; {log} ends:")
            print("\n".join(log.read_text(errors="replace").split("\n")[-40:]))
            self.report.failed += 1
            self.report.end()

    def steps_that_need_no_quiet(self):
        steps = [("readme", [ROOT / "scripts/check_readme"], None), ("format", [ROOT / "scripts/check_format"], None)]
        steps.append(("scripts", [sys.executable, "-m", "unittest", "discover", "-s", ROOT / "tests/scripts"], None))
        if not self.full:
            return steps
        if tidy.changed_sources(ROOT, self.stamps):
            seconds = (MINUTES - self.report.minutes()) * 60
            steps.append(("clang-tidy", [ROOT / "scripts/check_tidy", f"--seconds={seconds:.0f}", f"--turn={commits()}",
                                         *(["--all"] if self.stamps.ignore else [])], None))
        else:
            self.report.as_passed("clang-tidy", "an earlier run")
        return steps

    def on_this_machine(self):
        dev = ROOT / "build/dev"
        for name in ("unit", "fault"):
            self.timed(name, lambda named: self.report.step(named, [dev / f"tests/{named}/{named}_tests"]))
        self.cases("kernel, ground truth", doctest_cases(dev / "tests/kernel/kernel_tests"),
                   lambda case: "essential" in case.words, artifacts.of_this_kernel(ROOT))
        self.cases("command line", unittest_cases(ROOT / "tests/cli"),
                   lambda case: case.name.startswith("test_run.") and case.beside, artifacts.of_command_line(ROOT),
                   cwd=ROOT / "tests/cli",
                   env=os.environ | {"TRACERD": str(dev / "tracerd"), "TRACERD_STATIC": "1", "PYTHONDONTWRITEBYTECODE": "1"})
        self.c_interface()
        if self.python:
            self.python_modules()

    def cases(self, name, cases, is_essential, parts, **options):
        """The essential ones in each run; the others where they have not passed and the time suffices."""
        cases = list(cases)
        whole = self.full and not self.as_passed(name, parts) and self.in_time(name)
        chosen = cases if whole else [case for case in cases if is_essential(case)]
        outcome = self.timed(name if whole else f"{name}, essential", lambda named: run_cases(
            self.report, named, chosen, self.background.pause, self.background.resume, **options))
        if whole and outcome.clean:
            self.stamps.record(name, parts)

    def timed(self, name, run):
        begin = self.report.minutes()
        self.stamps.note_run(name)
        result = run(name)
        # A failure may have cut it short, as that of an emulated machine.
        if not getattr(result, "failed", 0):
            self.stamps.note_run(name, self.report.minutes() - begin)
        return result

    def c_interface(self):
        parts = artifacts.of_c_interface(ROOT)
        if not self.as_passed("c interface", parts):
            self.stamped("c interface", parts, [self.timed("c interface", lambda name: self.report.step(name, c_tests("dev")))])

    def python_modules(self):
        """Two modules at a time; one that has passed with the same package, helpers and tests is not run again, but for those of
        the quick loop."""
        variables = os.environ | python_package.test_variables(ROOT / "build/dev")
        chosen = {}
        for module, classes in python_package.modules(self.python, variables).items():
            if module in python_package.SLOW or not self.full and module not in python_package.QUICK:
                continue
            parts = artifacts.of_python_module(ROOT, module)
            if module in python_package.QUICK or not self.stamps.passed_on(f"python {module}", parts):
                chosen[module] = (parts, list(python_package.cases_of(self.python, module, classes)))
        whole = bool(chosen.keys() - set(python_package.QUICK))
        if whole and not self.in_time("python package"):
            whole = False
            chosen = {module: of_module for module, of_module in chosen.items() if module in python_package.QUICK}
        cases = [case for _, of_module in chosen.values() for case in of_module]
        outcome = self.timed("python package" if whole else "python package, essential", lambda named: run_cases(
            self.report, named, cases, self.background.pause, self.background.resume, at_once=python_package.BESIDE,
            cwd=python_package.TESTS, env=variables))
        unclean = {*outcome.failures, *outcome.again}
        for module, (parts, of_module) in chosen.items():
            if not unclean & {case.name for case in of_module}:
                self.stamps.record(f"python {module}", parts)

    def slow_steps(self):
        """Those that need no quiet machine, one after the other."""
        package = ["ctest", "--test-dir", ROOT / "build/dev", "-L", "package", "--output-on-failure"]
        steps = {"package": lambda parts: self.stamped("package", parts, [self.report.step("package", package)]),
                 "asan": lambda parts: self.sanitized("asan", parts),
                 "tsan": lambda parts: self.sanitized("tsan", parts), "fuzz": self.fuzzing, "engines": self.engines,
                 "deb and tarball": lambda parts: self.stamped("deb and tarball", parts, [
                     self.report.step(name, [sys.executable, ROOT / f"tests/package/{test}.py"])
                     for name, test in (("deb and tarball", "test_packages"), ("deb under systemd", "test_systemd"), ("get.sh under systemd", "test_get"))])}
        parts = {"package": artifacts.of_package(ROOT), "asan": artifacts.of_sanitizer(ROOT, "asan"),
                 "tsan": artifacts.of_sanitizer(ROOT, "tsan"),
                 "fuzz": artifacts.of_fuzzing(ROOT, FUZZ_SECONDS), "engines": artifacts.of_engines(ROOT),
                 "deb and tarball": artifacts.of_packages(ROOT)}
        # In quarters, as all of them would outlast a run of CI.
        for number, store in itertools.product(range(1, 5), (False, True)):
            name = f"attacks on the service{' with a store' * store}, quarter {number}"
            command = [sys.executable, "-B", ROOT / "tests/hostile/serve", "--minutes=0.1", f"--quarter={number}", *["--store"] * store]
            steps[name] = lambda parts, name=name, command=command: self.stamped(name, parts, [self.report.step(
                name, command, env=os.environ | {"TRACERD": str(ROOT / "build/dev/tracerd")})])
            parts[name] = artifacts.of_attacks(ROOT)
        if self.python:
            for name, of_step, command in (
                    ("wheel", artifacts.of_wheel(ROOT), [self.python, ROOT / "tests/python/test_wheel.py"]),
                    ("other Pythons", artifacts.of_other_pythons(ROOT), [sys.executable, ROOT / "tests/python/test_pythons.py"])):
                steps[name], parts[name] = self.python_step(name, command), of_step
            for own, other in zip((steps, parts), self.documents_step()):
                own.update(other)
        self.take_turns(steps, parts)

    def python_step(self, name, command):
        environment = os.environ | python_package.test_variables(ROOT / "build/dev")
        return lambda parts: self.stamped(name, parts, [self.report.step(name, command, env=environment)])

    def documents_step(self):
        return ({"documents": self.python_step("documents", [self.python, ROOT / "tests/docs/run.py"])},
                {"documents": artifacts.of_documents(ROOT)})

    def take_turns(self, steps, parts):
        """Runs what has not passed with these parts, as much of it as the time allows; all has its turn."""
        for name in self.stamps.by_turn(list(steps), commits()):
            typical = TYPICAL_MINUTES[name.split(" on ")[0]]
            if not self.as_passed(name, parts[name]) and self.in_time(name, typical):
                self.timed(name, lambda named: steps[named](parts[named]))

    def stamped(self, name, parts, outcomes):
        if all(outcome.clean for outcome in outcomes):
            self.stamps.record(name, parts)

    def sanitized(self, preset, parts):
        self.build(preset, "unit_tests", "fault_tests", "kernel_tests", "tests/c/all")
        tests = ROOT / "build" / preset / "tests"
        chosen = {"unit": [WITH_THREADS] if preset == "tsan" else []}
        outcomes = [self.report.step(f"{preset}: {name}", [tests / f"{name}/{name}_tests", *chosen.get(name, [])])
                    for name in ("unit", "fault")]
        # At its end the leak detector makes a process of its own, which these tests would see.
        outcomes.append(run_twice(self.report, f"{preset}: kernel", [tests / "kernel/kernel_tests", SANITIZED],
                                  env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}))
        outcomes.append(self.report.step(f"{preset}: c interface", c_tests(preset)))
        self.stamped(preset, parts, outcomes)

    def fuzzing(self, parts):
        self.must_build("fuzz", [ROOT / "tests/fuzz/run.sh", "0"])
        self.stamped("fuzz", parts, [self.report.step(f"fuzz, {FUZZ_SECONDS} s each", [ROOT / "tests/fuzz/run.sh", FUZZ_SECONDS])])

    def engines(self, parts):
        """Real workflow engines under the daemon, and the plugins for them. Each test says why it is skipped where its engine
        can't be had."""
        environment = os.environ | {"TRACERD": str(ROOT / "build/dev/tracerd"), "PYTHONDONTWRITEBYTECODE": "1"}
        tests = sorted((ROOT / "tests/engines").glob("test_*.py")) + sorted((ROOT / "tests/plugins").glob("test_*.py"))
        self.stamped("engines", parts, [self.report.step(
            f"engines: {path.stem.removeprefix('test_')}", [sys.executable, path.name], cwd=path.parent, env=environment)
            for path in tests])

    def emulated_kernels(self):
        """Each kernel in quarters: a whole run would outlast a run of CI, and a machine that died would take all with it."""
        common = artifacts.of_any_kernel(ROOT)
        whole = artifacts.of_whole_kernel_tests(ROOT)
        sources = list((ROOT / "tests/kernel").glob("*_test.cpp"))
        packages = {kernel: artifacts.kernel_package(ROOT, kernel) for kernel in KERNELS}
        quarters = {f"kernel {kernel} (emulated), quarter {number + 1}": (kernel, quarter_of(sources, number))
                    for number in range(4) for kernel in KERNELS}
        outcomes = []
        for name in self.stamps.by_turn(list(quarters), commits()):
            kernel, of_quarter = quarters[name]
            package = packages[kernel]
            parts = common | {"kernel": package}
            if package and self.as_passed(name, parts):
                continue
            if self.in_time(name, EMULATED_MINUTES):
                left = self.stamps.left(name, parts)
                # Another name: how long a quarter takes is remembered by it.
                outcome = (self.emulate(f"{name}, again", kernel, filter_of(left)) if left
                           else self.emulate(name, kernel, NOT_NATIVE, of_quarter))
                outcomes.append(outcome)
                # A machine that died is no case that could be run alone.
                if package and not outcome.failed and not any(MACHINE_DIED in each for each in outcome.again):
                    self.stamps.record(name, parts, left=outcome.again)
        if any(outcome.clean for outcome in outcomes):
            self.stamps.record("essential cases, emulated", whole)
        elif KERNELS and not outcomes and not self.stamps.passed_on("essential cases, emulated", whole):
            # The parts that kernels differ in are as they were; something else is not.
            kernel = self.stamps.by_turn(KERNELS, commits())[0]
            name = f"kernel {kernel} (essential, emulated)"
            if self.in_time(name, EMULATED_MINUTES / 2) and self.emulate(name, kernel, ESSENTIAL).clean:
                self.stamps.record("essential cases, emulated", whole)

    def emulate(self, name, kernel, *chosen):
        self.stamps.note_run(kernel)
        return self.timed(name, lambda named: run_twice(self.report, named, [
            ROOT / "tests/kernel/emulate", kernel, ROOT / "build/dev/tests/kernel/kernel_tests", *chosen]))

    def as_passed(self, name, parts):
        date = self.stamps.passed_on(name, parts)
        if date:
            self.report.as_passed(name, date)
        else:
            self.report.notes.append(f"{name}: {self.stamps.why_not(name, parts)}")
        return date

    def in_time(self, name, otherwise=None):
        """Whether it would end within the limit, by how long it took last, or else by what is typical."""
        takes = self.stamps.minutes(name, TYPICAL_MINUTES[name] if otherwise is None else otherwise)
        left = MINUTES - self.report.minutes()
        if takes <= left:
            return True
        self.report.leave_out(name, f"it takes {takes:.0f} minutes, {max(left, 0):.0f} of {MINUTES:.0f} are left")
        return False


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["quick", "full"], help="without documents; with all that takes hours")
    parser.add_argument("--all", action="store_true", help="of full: also what has passed on this machine as it is")
    parser.add_argument("--flakes", action="store_true", help="only report how often tests needed a second try here")
    arguments = parser.parse_args()
    if arguments.flakes:
        print("\n".join(Flakes(cache_folder()).lines()) or "no test needed a second try on this machine")
        return
    TestRun(arguments).run()


if __name__ == "__main__":
    main()
