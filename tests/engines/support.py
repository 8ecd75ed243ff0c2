# SPDX-License-Identifier: Apache-2.0
"""Runs real workflow engines under tracerd, and compares the contexts of their tools with the truth.

Each tool in the pipelines is `marker`, which is called with the truth in its own arguments: the engine itself has put
it there. TRACERD in the environment names the binary. TRACER_ENGINES_KEEP names a folder in which all events stay.

A field of the truth must never be contradicted. A test says which fields must be there as well."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import ending
import installed

TRACERD = os.path.abspath(os.environ.get("TRACERD", "build/dev/tracerd"))
PIPELINES = pathlib.Path(__file__).resolve().parent / "pipelines"
# A guard against hanging, never a measure.
DEADLINE_SECONDS = 300
SKIPPED = 77
MOST_LINES = 12
# Fields of the context with the name of their argument; any other argument is a label.
FIELDS = ("pipeline", "run", "step", "task", "task_id", "attempt", "sample", "engine")
# Arguments of marker that say nothing about a context.
OPTIONS = ("cat", "exit", "ms", "test", "word", "depth", "hook", "probe", "job")


class Program:
    """What one process executed last, by the event of its end."""

    def __init__(self, event, first=None):
        self.event = event
        self.at_exec = first
        self.pid = event["pid"]
        self.argv = event["argv"] or []
        self.exe = event["exe"] or ""
        self.cwd = event["cwd"] or ""
        self.context = event.get("context")

    def __str__(self):
        return f"pid {self.pid} {' '.join(self.argv)[:160]!r} in {self.cwd}"

    @property
    def truth(self):
        """What a marker says: names and values."""
        return {name: value for name, value in self.arguments.items() if name not in OPTIONS and value != ""}

    @property
    def arguments(self):
        """{"step": "ALIGN"} of --step ALIGN."""
        return {name.removeprefix("--"): value for name, value in zip(self.argv, self.argv[1:]) if name[:2] == "--"}

    @property
    def own(self):
        return bool(self.context and self.context["engine_own"])

    def said(self, context=None):
        """What the tracer says: fields and "label.NAME", as text."""
        context = context or self.context
        if not context:
            return {}
        said = {name: str(context[name]) for name in FIELDS if context[name] is not None}
        return said | {f"label.{label['name']}": label["value"] for label in context["labels"]}


class Trace:
    """The events of a run of the tracer."""

    def __init__(self, lines, test):
        self.events = [json.loads(line) for line in lines]
        self.test = test
        execs = {(event["pid"], event["start_ns"]): event for event in self.of_kind("process_exec")}
        self.programs = [Program(event, execs.get((event["pid"], event["start_ns"])))
                         for event in self.of_kind("process_exit")]
        self.markers = [one for one in self.programs if os.path.basename(one.exe) == "marker" and test in one.argv]
        self.has_contexts = any("provenance" in event for event in self.of_kind("process_exit"))

    def of_kind(self, kind):
        return [event for event in self.events if event["kind"] == kind]

    def executed(self, condition):
        """The programs for which it holds."""
        return [one for one in self.programs if condition(one)]

    def ancestors(self, program):
        """From the parent upwards, as far as the ends were seen."""
        by_identity = {(one.pid, one.event["start_ns"]): one for one in self.programs}
        found = []
        while program:
            program = by_identity.get((program.event["parent_pid"], program.event["parent_start_ns"]))
            if program:
                found.append(program)
        return found

    def tree(self):
        """All that was executed, as indented text: what rules are written from."""
        children, known = {}, {}
        for event in self.events:
            if event["kind"] in ("process_start", "process_exec", "process_exit"):
                known.setdefault((event["pid"], event["start_ns"]), []).append(event)
        for identity, events in known.items():
            parent = (events[0]["parent_pid"], events[0]["parent_start_ns"])
            children.setdefault(parent if parent in known else None, []).append(identity)
        lines = []

        def show(identity, depth):
            execs = [one for one in known[identity] if one["kind"] == "process_exec"]
            for event in execs or known[identity][-1:]:
                words = [word.replace(self.test, "TEST") for word in event["argv"] or ["?"]]
                text = "  " * depth + f"{'' if execs else '(fork) '}{event['exe']} {words}"
                lines.append(f"{text[:400]}\n{'  ' * depth}    cwd={event['cwd']} cgroup={event['cgroup']} "
                             f"context={Program(event).said()}{' OWN' if Program(event).own else ''}")
            for child in children.get(identity, []):
                show(child, depth + 1)

        for root in children.get(None, []):
            show(root, 0)
        return "\n".join(lines)


def differences(markers, required, truth=lambda marker: marker.truth):
    """A line for each field that is wrong, or absent and required. What `truth` leaves out isn't compared, but for the
    names in `required`."""
    lines = []
    for marker in markers:
        said = marker.said()
        real = {name if name in FIELDS else f"label.{name}": str(value) for name, value in truth(marker).items()}
        for name, value in real.items():
            if name in said and said[name] != value:
                lines.append(f"{marker}: {name} is {said[name]!r}, not {value!r}")
            elif name not in said and name in required:
                lines.append(f"{marker}: {name} is not known, but is {value!r}")
        if marker.own:
            lines.append(f"{marker}: is said to be the engine's own")
    return lines


def known_share(markers, truth=lambda marker: marker.truth):
    """How many of the markers that have a field in truth have it in their context as well: {name: (known, all)}."""
    shares = {}
    for marker in markers:
        said = marker.said()
        for name in truth(marker):
            name = name if name in FIELDS else f"label.{name}"
            known, total = shares.get(name, (0, 0))
            shares[name] = (known + (name in said), total + 1)
    return shares


class Workspace:
    """A folder for a pipeline, with `marker` and nested.sh in bin/. `test` is in the arguments of all markers."""

    def __init__(self):
        self.test = uuid.uuid4().hex[:12]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="libtracer-engine-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.marker = self.folder / "bin/marker"
        self.marker.parent.mkdir()
        shutil.copy2(installed.marker(), self.marker)
        shutil.copy2(PIPELINES / "shared/nested.sh", self.marker.parent)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def file(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def add_pipeline(self, name):
        """The files of pipelines/NAME; in them TEST is the word that is in the arguments of all markers."""
        source = PIPELINES / name
        for path in source.rglob("*"):
            if path.is_file():
                text = path.read_text().replace("TEST", self.test)
                self.file(str(path.relative_to(source)), text, path.stat().st_mode)

    def environment(self, **more):
        path = f"{self.marker.parent}:{os.environ['PATH']}"
        return os.environ | {"PATH": path, "LC_ALL": "C.UTF-8", "HOME": str(self.folder / "home")} | more

    def trace_of(self, path, name):
        trace = Trace(path.read_text(encoding="utf-8", errors="replace").splitlines(), self.test)
        keep = os.environ.get("TRACER_ENGINES_KEEP")
        if keep:
            pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, pathlib.Path(keep, f"{name}.json"))
            pathlib.Path(keep, f"{name}.tree").write_text(trace.tree() + "\n", encoding="utf-8")
            pathlib.Path(keep, f"{name}.notes").write_text(json.dumps(self.notes()), encoding="utf-8")
        return trace

    def notes(self):
        """What the engines have written for others to read, by its path."""
        notes = {}
        for path in self.folder.rglob(".command.run"):
            notes[str(path)] = path.read_text(encoding="utf-8", errors="replace").splitlines()[:16]
        for path in sorted(self.folder.rglob(".snakemake/log/*.snakemake.log")):
            notes[str(path.parent / "*.snakemake.log")] = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for path in self.folder.rglob("Snakefile"):
            notes[str(path)] = path.read_text(encoding="utf-8").splitlines()
        return notes

    def run(self, name, *words, status=0, cwd=None, environment=None, options=()):
        """Runs a command under `tracerd run`: the trace, with what the command printed as `output`."""
        (self.folder / "home").mkdir(exist_ok=True)
        path = self.folder / f"{name}.json"
        command = [TRACERD, "run", "--no-live", "--families", "none", "--json", str(path), *options, "--",
                   *map(str, words)]
        result = subprocess.run(command, cwd=cwd or self.folder, env=environment or self.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", timeout=DEADLINE_SECONDS, check=False)
        if result.returncode != status:
            raise AssertionError(f"{name}: status {result.returncode}, not {status}:\n{result.stdout[-4000:]}")
        trace = self.trace_of(path, name)
        trace.output = result.stdout
        return trace

    @contextlib.contextmanager
    def watch(self, name):
        """Traces the host while the body runs; yields an object whose `trace` is there afterwards."""
        (self.folder / "home").mkdir(exist_ok=True)
        path = self.folder / f"{name}.json"
        watched = type("Watched", (), {"trace": None})()
        with open(self.folder / f"{name}.log", "wb") as log:
            tracer = subprocess.Popen([TRACERD, "watch", "--host", "--no-live", "--families", "none", "--json",
                                       str(path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait_until_seen(path, tracer)
            yield watched
            # What has ended by now is seen if this is.
            self.wait_until_seen(path, tracer)
        finally:
            ending.end(tracer, signal.SIGINT, 60)
        watched.trace = self.trace_of(path, name)

    def wait_until_seen(self, path, tracer):
        probe = f"probe-{uuid.uuid4().hex}"
        until = time.monotonic() + 60
        while True:
            subprocess.run([self.marker, "--probe", probe, "--ms", "1"], check=True)
            time.sleep(0.2)
            if path.exists() and probe in path.read_text(encoding="utf-8", errors="replace"):
                return
            if tracer.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"tracerd watch --host sees nothing: {path.with_suffix('.log').read_text()}")


class EngineTest(unittest.TestCase):
    """A class of tests that share what its `prepare` ran. Nothing in it runs when the engine is not there."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        reason = reason_to_skip_all()
        if reason:
            raise unittest.SkipTest(reason)
        cls.workspace = Workspace()
        cls.addClassCleanup(cls.workspace.remove)
        cls.prepare(cls.workspace)

    @classmethod
    def prepare(cls, workspace):
        raise NotImplementedError

    def need_contexts(self, trace):
        if not trace.has_contexts:
            self.skipTest("this tracerd has no contexts of tasks")

    def assert_no_loss(self, trace):
        ends = trace.of_kind("session_end")
        self.assertEqual([(end["losses"], end["processes_ended"] - end["exits_delivered"]) for end in ends], [(0, 0)])

    def assert_contexts(self, trace, required, markers=None, truth=lambda marker: marker.truth):
        """Nothing of the truth is contradicted, and what is required is known."""
        self.need_contexts(trace)
        markers = trace.markers if markers is None else markers
        self.assertTrue(markers, "no marker was seen")
        shares = ", ".join(f"{name} {known}/{total}" for name, (known, total) in known_share(markers, truth).items())
        print(f"{self.id()}: known: {shares}", flush=True)
        lines = differences(markers, required, truth)
        self.assertEqual(len(lines), 0, f"{len(lines)} differences:\n" + "\n".join(lines[:MOST_LINES]))

    def assert_brief_table(self, trace):
        """The table that is read in ten seconds: at most 25 lines, and nothing in it is called by an id."""
        lines = trace.output.splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith("run, step"))
        table = lines[begin:next(i for i in range(begin, len(lines)) if lines[i].startswith("total ")) + 1]
        self.assertLessEqual(len(table), 25, trace.output)
        for line in table:
            self.assertNotRegex(line.strip().split("  ")[0], r"\b(?=\w*\d)[0-9a-f]{8,}\b", trace.output)

    def assert_own(self, trace, programs, what):
        """All are the engine's own work."""
        self.need_contexts(trace)
        self.assertTrue(programs, f"not seen: {what}")
        others = [str(one) for one in programs if not one.own]
        self.assertEqual(len(others), 0, f"{what}: not the engine's own:\n" + "\n".join(others[:MOST_LINES]))

    def assert_no_other_tasks(self, trace):
        """A task that has begun has a marker in it."""
        self.need_contexts(trace)
        # What the engine writes may be read when the task has begun: then it is known by another id from there on.
        renamed = {(one["before"]["run_id"], one["before"]["task_id"]): one["after"]
                   for one in trace.of_kind("context_change") if one["before"] and one["after"]}

        def task_of(context):
            task = (context["run_id"], context["task_id"])
            after = renamed.get(task, context)
            return task if after["task_id"] == context["task_id"] else task_of(after)

        real = {task_of(marker.context) for marker in trace.markers if marker.context}
        others = [one for one in trace.of_kind("task_start") if task_of(one["context"]) not in real]
        lines = [f"pid {one['pid']}: {one['context']}" for one in others]
        self.assertEqual(len(lines), 0, f"{len(lines)} tasks have no tool:\n" + "\n".join(lines[:MOST_LINES]))

    def assert_same_task(self, trace, groups, markers=None):
        """The markers of a group are in one task, and no two groups in the same; `groups` gives a marker's."""
        self.need_contexts(trace)
        tasks = {}
        for marker in trace.markers if markers is None else markers:
            context = marker.context or {}
            tasks.setdefault(groups(marker), set()).add((context.get("run_id"), context.get("task_id")))
        for group, found in tasks.items():
            self.assertEqual(len(found), 1, f"{group} is in several tasks: {found}")
            self.assertIsNotNone(next(iter(found))[1], f"{group} is in no task")
        self.assertEqual(len(set().union(*tasks.values())), len(tasks), f"tasks are mixed up: {tasks}")


def reason_to_skip_all():
    if os.geteuid() != 0:
        return "these tests need root"
    if not os.access(TRACERD, os.X_OK):
        return f"no tracerd at {TRACERD}: TRACERD names it"
    check = subprocess.run([TRACERD, "check"], stdout=subprocess.PIPE, text=True, check=False)
    if check.returncode != 0:
        missing = [line for line in check.stdout.split("\n") if line.startswith("MISSING")]
        return "tracing does not work here: " + "; ".join(missing)
    return None


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"SKIP: {test.id()}: {reason}", flush=True)


def main():
    program = unittest.main(testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=2), exit=False)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and result.testsRun <= len(result.skipped) else 0)
