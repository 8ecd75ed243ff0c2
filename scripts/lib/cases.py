# SPDX-License-Identifier: Apache-2.0
"""Runs test cases one process each: those that only wait beside each other, those that measure alone."""
import concurrent.futures
import dataclasses
import json
import os
import re
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from report import COLOR, Outcome, failed_cases, skips_of
from stamps import file_name

BESIDE = 2 * (os.cpu_count() or 1)
LIMIT_SECONDS = 600
STOLEN_MS = 20  # Taken by the host from this machine: a measurement that failed meanwhile says nothing.
QUIET_SECONDS = 60  # At most; so long the second try waits for the host to leave the CPUs alone.


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    command: tuple
    beside: bool
    words: tuple = ()  # Of its doctest suite.


def filter_of(names):
    """For doctest's -tc, in which a comma would end a name; nothing is to be quoted on its way into an emulated machine."""
    return "-tc=" + ",".join(re.sub(r"[^A-Za-z0-9]", "?", name) for name in names)


def quarter_of(sources, number):
    """For doctest's -sf: every fourth of these test programs' sources, from `number` on."""
    return "-sf=" + ",".join(f"*/{path.name}" for path in sorted(sources)[number::4])


def doctest_cases(program):
    """The suite of a case holds words: `waits` may run beside others, all else runs alone."""
    listing = subprocess.run([program, "-ltc", "-r=xml"], stdout=subprocess.PIPE, check=True).stdout
    for each in xml.etree.ElementTree.fromstring(listing).iter("TestCase"):
        words = tuple(each.get("testsuite", "").split())
        yield Case(each.get("name"), (str(program), filter_of([each.get("name")])), "waits" in words, words)


def unittest_cases(folder):
    """A class that has ALONE, which says why, runs alone; all else may run beside others."""
    suites = [unittest.defaultTestLoader.discover(folder, "test_*.py")]
    while suites:
        each = suites.pop(0)
        if isinstance(each, unittest.TestSuite):
            suites += each
        else:
            yield Case(each.id(), (sys.executable, "-m", "unittest", "-v", each.id()), not hasattr(each, "ALONE"))


def stolen_ms():
    """The CPU time that the host has taken from this machine so far."""
    with open("/proc/stat", encoding="utf-8") as file:
        return int(file.readline().split()[8]) * 1000 // os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Try:
    status: int
    text: str
    seconds: float
    stolen_ms: int


def run_case(case, options):
    stolen = stolen_ms()
    begin = time.monotonic()
    try:
        result = subprocess.run(case.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", timeout=LIMIT_SECONDS, check=False, **options)
        status, text = result.returncode, COLOR.sub("", result.stdout)
    except subprocess.TimeoutExpired as expired:
        status, text = 124, (expired.stdout or b"").decode(errors="replace") + f"not done after {LIMIT_SECONDS} s\n"
    return Try(status, text, time.monotonic() - begin, stolen_ms() - stolen)


def wait_for_quiet():
    """Until the host has taken nothing worth mentioning for a second."""
    until = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        stolen = stolen_ms()
        time.sleep(1)
        if stolen_ms() - stolen < STOLEN_MS:
            return


def longest_first(cases, durations):
    """By their last runs, so that none is left over at the end; those that never ran come first."""
    try:
        known = json.loads(durations.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    return sorted(cases, key=lambda case: -known.get(case.name, LIMIT_SECONDS)), known


def run_cases(report, name, cases, before_alone, after, at_once=BESIDE, **options):
    """What fails is run once more, alone."""
    begin = time.monotonic()
    durations = report.flakes.path.parent / f"durations-{file_name(name)}.json"
    cases, known = longest_first(cases, durations)
    outcome = Outcome()
    with open(report.log_of(name), "w", encoding="utf-8") as log:
        def run(case, heading):
            tried = run_case(case, options)
            log.write(f"== {heading}{case.name} ({tried.seconds:.1f} s, status {tried.status}, "
                      f"{tried.stolen_ms} ms stolen)\n{tried.text}\n")
            log.flush()
            known[case.name] = tried.seconds
            return tried

        def run_again(case, tried):
            # There is no third try: while the host takes CPU time, the second one would be wasted.
            if tried.stolen_ms >= STOLEN_MS:
                wait_for_quiet()
            tried = run(case, "second try: ")
            if tried.status != 0:
                outcome.failed += 1
                outcome.failures[case.name] = tried.text
                return
            outcome.passed += 1
            outcome.again.append(case.name)

        def first_tries():
            beside = [case for case in cases if case.beside]
            with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
                yield from zip(beside, pool.map(lambda case: run(case, ""), beside))
            before_alone()
            for case in cases:
                if not case.beside:
                    yield case, run(case, "alone: ")

        failed = []
        for case, tried in first_tries():
            skips = [f"{case.name}: {skip}" for skip in skips_of(tried.text)]
            outcome.skips += skips
            if tried.status != 0:
                failed.append((case, tried))
            elif not skips:
                outcome.passed += 1
        for case, tried in failed:
            run_again(case, tried)
    after()
    durations.write_text(json.dumps(known, indent=1, sort_keys=True), encoding="utf-8")
    report.add(name, outcome, time.monotonic() - begin)
    return outcome


def run_twice(report, name, command, **options):
    """A doctest program that runs all its cases itself. Those that failed are run once more."""
    begin = time.monotonic()

    def run(words, log):
        lines = []
        with subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", **options) as process:
            for line in process.stdout:
                lines.append(COLOR.sub("", line))
                log.write(lines[-1])
                log.flush()
        return process.returncode, "".join(lines)

    with open(report.log_of(name), "w", encoding="utf-8") as log:
        status, text = run(command, log)
        failed = failed_cases(text) if status != 0 else []
        if failed:
            log.write("".join(f"SECOND TRY: {each}\n" for each in failed))
            status, text = run([*command, filter_of(failed)], log)
            if status == 0 and not re.search(r"\| *[1-9]\d* passed", text):
                status = 1
    return report.finish(name, status, time.monotonic() - begin)
