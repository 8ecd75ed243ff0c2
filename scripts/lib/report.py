# SPDX-License-Identifier: Apache-2.0
"""What the steps came to: a line for each, notes, and the sum."""
import contextlib
import dataclasses
import pathlib
import re
import subprocess
import sys
import threading
import time

LINES_IN_NOTES = 8  # Of each failed case; all of it is printed where it failed, and in the log.

COLOR = re.compile(r"\x1b\[[0-9;]*m")


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    skips: list = dataclasses.field(default_factory=list)  # What was skipped, and why.
    again: list = dataclasses.field(default_factory=list)  # What passed at the second try only.
    failures: dict = dataclasses.field(default_factory=dict)  # What was printed, by the names of failed cases.

    @property
    def clean(self):
        return self.failed == 0 and not self.again


def skips_of(text):
    return sorted(set(re.findall(r"SKIP: (.*)", text)) | set(re.findall(r"skipped ['\"](.*)['\"]$", text, re.M)))


def failed_cases(text):
    """What was printed of each case in which doctest reports an error, by its name."""
    found = {}
    name = None
    printed = []
    for line in text.split("\n"):
        if line.startswith("TEST CASE:"):
            name, printed = line[len("TEST CASE:"):].strip(), []
            continue
        if line.startswith("===="):
            name, printed = None, []
        printed.append(line)
        if name and re.search(r": (FATAL )?ERROR:", line):
            found[name] = printed
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def words_of_sanitizer(text):
    found = re.search(r"^(.*: runtime error: |==\d+==ERROR: |WARNING: ThreadSanitizer).*(\n.*){0,20}", text, re.M)
    return {"(sanitizer)": found.group()} if found else {}


def outcome_of(status, text):
    """From doctest's own counts, over all its runs in a log, or unittest's; else one for the whole step."""
    text = COLOR.sub("", text)
    counts = re.findall(r"^\[doctest\] test cases:.*?\| *(\d+) passed *\| *(\d+) failed", text, re.M)
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    passed = sum(int(good) for good, _ in counts) if counts else int(ran.group(1)) if ran and status == 0 else int(status == 0)
    failed = 0 if status == 0 else max(1, sum(int(bad) for _, bad in counts))
    skips = skips_of(text)
    again = re.findall(r"^SECOND TRY: (.*)", text, re.M) if status == 0 else []
    failures = failed_cases(text) | words_of_sanitizer(text) if failed else {}
    return Outcome(max(0, passed - len(skips)), failed, skips, again, failures=failures)


class Report:
    def __init__(self, logs, flakes):
        self.logs = logs
        self.flakes = flakes
        self.passed = self.failed = self.skipped = 0
        self.notes = []
        self.left_out = []
        self.began = time.monotonic()
        self.lock = threading.Lock()

    def log_of(self, name):
        return self.logs / (re.sub(r"[^a-zA-Z0-9.]", "_", name) + ".log")

    def add(self, name, outcome, seconds):
        with self.lock:
            self.passed += outcome.passed
            self.failed += outcome.failed
            self.skipped += len(outcome.skips)
            print(f"{name:<34} {outcome.passed:4d} passed {outcome.failed:3d} failed {seconds:6.0f} s", flush=True)
            self.notes += [f"skipped in {name}: {skip}" for skip in outcome.skips]
            self.notes += [f"failed once, then passed, in {name}: {again}" for again in outcome.again]
            if outcome.failed:
                log = self.log_of(name)
                self.notes.append(f"FAILED: {name}, see {log}")
                for case, text in outcome.failures.items():
                    lines = text.split("\n")
                    self.notes += [f"    {case}", *(f"        {line}" for line in lines[:LINES_IN_NOTES])]
                for text in outcome.failures.values() or [log.read_text(errors="replace")]:
                    print("".join(f"    {line}\n" for line in text.rstrip().split("\n")[-40:]), end="")
            self.flakes.add(name, outcome)

    def step(self, name, command, **options):
        """Runs a command to its end, its output into a log, and adds what came of it."""
        begin = time.monotonic()
        with open(self.log_of(name), "w", encoding="utf-8") as log:
            status = self.watch(name, command, log, **options)
        return self.finish(name, status, time.monotonic() - begin)

    def watch(self, name, command, log, **options):
        """Runs a command; meanwhile a terminal shows its name, and how far a build is. Its status."""
        with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                              **options) as process:
            try:
                while sys.stdout.isatty():
                    at = re.findall(r"^\[\d+/\d+\]", pathlib.Path(log.name).read_text(errors="replace"), re.M)[-1:]
                    self.show(" ".join([name, *at]))
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        return process.wait(1)
                return process.wait()
            except BaseException:
                process.kill()
                raise
            finally:
                self.show("")

    def show(self, text):
        """On a terminal, until something else is printed."""
        if sys.stdout.isatty():
            with self.lock:
                print(f"\r\x1b[K{text}", end="\r", flush=True)

    def finish(self, name, status, seconds):
        """Adds what a step's log says."""
        text = self.log_of(name).read_text(errors="replace")
        outcome = outcome_of(status, text)
        for what in re.findall(r"^LEFT OUT: (.*)", text, re.M):
            self.leave_out(name, what)
        self.add(name, outcome, seconds)
        return outcome

    def as_passed(self, name, date):
        print(f"{name:<34} as passed on {date}", flush=True)

    def skip(self, name, why):
        self.skipped += 1
        self.notes.append(f"skipped: {name}: {why}")

    def leave_out(self, name, why):
        """It has its turn in a later run."""
        with self.lock:
            self.left_out.append(f"left out this time: {name}: {why}")

    def minutes(self):
        return (time.monotonic() - self.began) / 60

    def end(self):
        """Prints the summary and ends the program."""
        print("\n" + "".join(f"{note}\n" for note in self.notes + self.left_out), end="")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(self.failed != 0)
