# SPDX-License-Identifier: Apache-2.0
"""The plugin `snakemake --logger tracer` with a fake service: by itself, and in real runs of Snakemake 9.

Needs a Python that has Snakemake; as a program, it looks for one as the tests of engines do."""

import collections
import contextlib
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugins/snakemake"
sys.path[:0] = [str(PLUGIN), str(ROOT / "tests/engines")]

try:
    from snakemake_interface_logger_plugins.common import LogEvent
    from snakemake_interface_logger_plugins.tests import MockOutputSettings, TestLogHandlerBase
except ImportError:
    import installed

    if __name__ != "__main__":
        raise unittest.SkipTest("this Python has no Snakemake") from None
    python = os.path.join(os.path.dirname(installed.snakemake()[0]), "python")
    os.execv(python, [python, "-B", *sys.argv])

from fake_service import FakeService, text_matches, words_match
from snakemake_logger_plugin_tracer import LogHandler, LogHandlerSettings, reporter, service as connection
from snakemake_logger_plugin_tracer.notes import note_of

# Whoever runs the tests in the background ignores it, and what they start would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
SNAKEMAKE = os.path.join(os.path.dirname(sys.executable), "snakemake")
DEADLINE_SECONDS = 60


@contextlib.contextmanager
def standard_error():
    """Yields a list that gets the lines that were written to the descriptor."""
    lines = []
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().decode().splitlines()


def record(event, **facts):
    made = logging.LogRecord("snakemake.logging", logging.INFO, "x.py", 1, None, (), None)
    made.__dict__.update(event=event, **facts)
    return made


def job_info(number=1, rule="align", **facts):
    facts = {"wildcards": {"sample": "S1"}, "threads": 4, "resources": {}, "output": ["out/S1.bam"], "local": False,
             "indent": False, "shellcmd": "bwa mem > out/S1.bam", "is_checkpoint": False} | facts
    return record(LogEvent.JOB_INFO, jobid=number, rule_name=rule, **facts)


def finished(number=1):
    return record(LogEvent.JOB_FINISHED, job_id=number)


def failed(number=1, **facts):
    return record(LogEvent.JOB_ERROR, jobid=number, **facts)


STARTED = record(LogEvent.WORKFLOW_STARTED, workflow_id="5d0e", snakefile="/x/workflow.py",
                 snakefile_main="/w/workflow/Snakefile")
STATS = record(LogEvent.RUN_INFO, stats={"align": 2, "all": 1, "total": 3})


class Interface(TestLogHandlerBase, unittest.TestCase):
    """The interface's own tests."""
    __test__ = True

    def setUp(self):
        os.environ["TRACER_SOCKET"] = "/nonexistent/tracer.sock"
        self._handlers = []
        self.addCleanup(lambda: [handler.close() for handler in self._handlers])
        self.enterContext(standard_error())

    def get_log_handler_cls(self):
        return LogHandler

    def get_log_handler_settings(self):
        return LogHandlerSettings()

    def _create_handler(self):
        self._handlers.append(super()._create_handler())
        return self._handlers[-1]

    def test_it_takes_no_stream_and_no_file_and_all_events(self):
        handler = self._create_handler()
        self.assertEqual((handler.writes_to_stream, handler.writes_to_file, handler.has_filter), (False, False, True))


class WithService(unittest.TestCase):
    def serve(self, *words, **options):
        service = FakeService(*words, **options)
        self.addCleanup(service.close)
        os.environ["TRACER_SOCKET"] = service.path
        return service

    def report(self, *records, sample=None, waits=False, **settings):
        """Returns the lines that the plugin prints for these events. `waits`: until it has done all."""
        common = MockOutputSettings()
        common.__dict__.update(settings)
        with standard_error() as lines:
            handler = LogHandler(common, LogHandlerSettings(**({"sample": sample} if sample else {})))
            for one in records:
                begin = time.monotonic()
                handler.emit(one)
                self.assertLess(time.monotonic() - begin, 1.5, "it blocks")  # An answer has 2 s.
            while waits and handler._reporter._notes.qsize():
                time.sleep(0.01)
            begin = time.monotonic()
            handler.close()
            self.assertLess(time.monotonic() - begin, 3, "the end waits too long")
        return lines

    def warnings(self, lines):
        return [line for line in lines if "warning" in line]


class Reports(WithService):
    def test_a_run_with_its_jobs(self):
        service = self.serve()
        lines = self.report(
            STARTED, STATS, job_info(resources={"mem_mb": 2000, "mem_mib": 1908, "runtime": 90, "_cores": 4}), finished(),
            job_info(2, wildcards={"unit": "u", "sample": "S2"}), failed(2), job_info(2), finished(2),
            job_info(3, "all", wildcards={}, shellcmd=None, threads=1), finished(3))
        run = {"engine": "snakemake", "run_id": "5d0e", "pipeline": "Snakefile"}
        of_run, *of_jobs = service.of("submit")
        self.assertEqual(of_run, {"request": "submit", "context": run, "expected": {"align": 2, "all": 1}})
        self.assertEqual(of_jobs[0]["context"], run | {
            "step": "align", "task": "align (S1)", "task_id": "job 1/1", "attempt": 1, "sample": "S1",
            "labels": {"sample": "S1"}})
        self.assertEqual(of_jobs[0]["requested"],
                         {"millicpus": 4000, "memory_bytes": 2_000_000_000, "time_ns": 5400 * 10**9})
        self.assertEqual([(one["context"]["task"], one["context"]["task_id"], one["context"]["attempt"])
                          for one in of_jobs], [("align (S1)", "job 1/1", 1), ("align (S2, unit=u)", "job 2/1", 1),
                                                ("align (S1)", "job 2/2", 2), ("all", "job 3/1", 1)])
        announced = service.of("announce")
        self.assertEqual(announced[0]["key"], {"pid": os.getpid()})
        self.assertEqual(announced[1]["key"],
                         {"below": {"pid": os.getpid()}, "argv": ["*", "-c", "*;  bwa mem > out/S1.bam"]})
        self.assertEqual(announced[2]["key"]["argv"],
                         ["...", "--target-jobs", "align:sample=S1", "...", "--attempt", "1", "..."])
        of_jobs = [one for one in of_jobs for _ in range(1 if one["context"]["step"] == "all" else 2)]
        for submit, announce in zip(of_jobs, announced[1:], strict=True):
            self.assertEqual([submit[key] for key in ("context", "requested")],
                             [announce[key] for key in ("context", "requested")])
        of_jobs = service.of("submit")[1:]
        self.assertEqual([{**one, "request": ""} for one in service.of("withdraw")], [
            {"request": "", "task_key": "key of job 1/1", "state": "succeeded", "exit_code": 0},
            {"request": "", "task_key": "key of job 2/1", "state": "failed"},
            {"request": "", "task_key": "key of job 2/2", "state": "succeeded", "exit_code": 0},
            {"request": "", "task_key": "key of job 3/1", "state": "succeeded"},
            {"request": "", "run_key": "key of the run", "state": "succeeded"}])
        self.assertEqual(lines[:-1], ["tracer: align (S1): succeeded", "tracer: align (S2, unit=u): failed",
                                      "tracer: align (S1), attempt 2: succeeded", "tracer: all: succeeded"])
        self.assertEqual(lines[-1], "tracer: run 5d0e of Snakefile: jobs: 3 succeeded. More of it: tracerd report, tracerd why")

    def test_where_more_of_a_run_is(self):
        """Recordings of the host are root's."""
        for how, sees, words in (("new", "own", ""), ("old", "own", ""),
                                 ("new", "all", ". In a recording of the service: tracerd report FILE, tracerd why FILE")):
            with self.subTest(how=how, sees=sees):
                self.serve(how, sees=sees, by_owner=False)
                lines = self.report(STARTED, STATS, job_info(), finished())
                self.assertEqual(lines[-1], "tracer: run 5d0e of Snakefile: jobs: 1 succeeded" + words)

    def test_the_figures_of_the_service_and_its_causes(self):
        row = {"wall_ns": 10 * 10**9, "cpu_ns": 12 * 10**9, "memory_bytes": 1_500_000_000}
        self.serve(tasks={"job 1/1": row, "job 2/1": row | {"memory_bytes": 1_990_000_000},
                          "job 3/1": {"wall_ns": 4000 * 10**9, "cpu_ns_at_least": 5000 * 10**9}},
                   findings={"job 2/1": [{"code": "oom_kill", "severity": "error", "text": "x",
                                          "evidence": [{"name": "limit_bytes", "value": 2_000_000_000, "unit": "bytes"}]}],
                             "job 3/1": [{"code": "first_failure", "severity": "warning",
                                          "text": "align (S3) failed: bwa (pid 5) in it exited with status 3"}]})
        memory = {"mem_mb": 2000}
        lines = self.report(STARTED, STATS, *(job_info(number, wildcards={"sample": f"S{number}"}, resources=memory)
                                              for number in (1, 2, 3)), finished(), failed(2), failed(3))
        self.assertEqual(lines[:-1], [
            "tracer: align (S1): succeeded, 10.0 s, CPU 1.2 of 4, memory 1.5 of 2.0 GB",
            "tracer: align (S2): killed: out of memory at 2.0 of 2.0 GB, 10.0 s, CPU 1.2 of 4, memory 2.0 of 2.0 GB",
            "tracer: align (S3): failed: bwa (pid 5) in it exited with status 3, 1 h 7 min, CPU ≥ 1.2 of 4"])
        self.assertIn("; 2 findings", lines[-1])

    def test_a_job_that_succeeded_though_a_program_was_killed(self):
        self.serve(tasks={"job 1/1": {"memory_bytes": 3_000_000}},
                   findings={"job 1/1": [{"code": "oom_kill", "severity": "error", "text": "x"}]})
        self.assertEqual(self.report(STARTED, STATS, job_info(), finished())[0], "tracer: align (S1): succeeded, but one of "
                         "its programs was killed: out of memory at 3 MB, memory 3 MB")

    def test_the_exit_status_is_that_of_the_command(self):
        service = self.serve()
        message = "RuleException:\nCommand 'set -euo pipefail;  bwa mem > out/S1.bam' returned non-zero exit status 3."
        error = record(LogEvent.ERROR, exception="RuleException", msg=message)
        lines = self.report(STARTED, STATS, job_info(1), job_info(2, shellcmd="bwa mem > out/S2.bam"), error, failed(1),
                            failed(2))
        self.assertEqual([one.get("exit_code") for one in service.of("withdraw")], [3, None, None])
        self.assertEqual(lines[:2], ["tracer: align (S1): failed: exit status 3", "tracer: align (S1): failed"])

    def test_unknown_requests_are_left_out(self):
        service = self.serve()
        self.report(STARTED, STATS, job_info(resources={"mem_mb": "<TBD>", "runtime": 0, "mem_mib": True}), finished())
        self.assertEqual(service.of("submit")[1]["requested"], {"millicpus": 4000})

    def test_the_option_names_the_sample(self):
        service = self.serve()
        self.report(STARTED, STATS, job_info(wildcards={"sample": "no", "id": "P7"}), sample="id")
        context = service.of("submit")[1]["context"]
        self.assertEqual((context["sample"], context["task"]), ("P7", "align (P7, sample=no)"))
        self.assertEqual(context["labels"], {"sample": "no", "id": "P7"})

    def test_odd_wildcards(self):
        service = self.serve()
        odd = {"sample": 'a "b"\n\'c\' {x} * \\', "long": "ü" * 10_000, "half": "\udc80", "nul": "a\0"}
        lines = self.report(STARTED, STATS, job_info(wildcards=odd, shellcmd=None), finished())
        context = service.of("submit")[1]["context"]
        self.assertEqual(context["sample"], odd["sample"])
        self.assertEqual(context["labels"]["long"], "ü" * 1100)
        self.assertEqual((context["labels"]["half"], context["labels"]["nul"]), ("?", "a?"))
        # One line, whatever is in it.
        self.assertEqual([len(lines), "\n" in lines[0]], [2, False])
        self.assertRegex(lines[0], r"^tracer: align \(a \"b\" 'c' .*: succeeded$")
        self.assertTrue(text_matches(service.of("announce")[1]["key"]["argv"][2], 
                                     'align:sample=a "b"\n\'c\' {x} * \\,long=' + "ü" * 10_000 + ",half=\udc80,nul=a"))

    def test_groups_and_what_runs_elsewhere(self):
        service = self.serve()
        self.report(STARTED, record(LogEvent.RESOURCES_INFO, nodes=10), STATS,
                    record(LogEvent.GROUP_INFO, group_id="both_1", jobs=[]), job_info(1, indent=True),
                    job_info(2), job_info(3, local=True))
        self.assertEqual([one["context"]["labels"].get("group") for one in service.of("submit")[1:]],
                         ["both_1", None, None])
        self.assertEqual([one["context"].get("task_id") for one in service.of("announce")], [None, "job 3/1", "job 3/1"])

    def test_an_error_names_the_container_and_the_environment(self):
        service = self.serve()
        self.report(STARTED, STATS, job_info(),
                    failed(container_img="docker://bwa", conda_env="/w/.snakemake/conda/1"), job_info())
        again = service.of("submit")[2]
        self.assertEqual((again["requested"]["container"], again["context"]["labels"]["conda_env"]),
                         ("docker://bwa", "/w/.snakemake/conda/1"))

    def test_what_is_left_is_aborted(self):
        service = self.serve()
        self.report(STARTED, STATS, job_info(1), job_info(2), finished(1))
        self.assertEqual([one["state"] for one in service.of("withdraw")], ["succeeded", "aborted", "aborted"])

    def test_many_jobs_leave_nothing(self):
        service = self.serve()
        jobs = [one for number in range(300) for one in (job_info(number), finished(number))]
        self.report(STARTED, STATS, *jobs, waits=True)
        self.assertEqual(len(service.of("submit")), 301)
        self.assertEqual(len({one.get("task_key") for one in service.of("withdraw")}), 301)
        self.assertEqual(len(service.of("withdraw")), 301)

    def test_a_process_takes_256_announcements_below_it(self):
        service = self.serve()
        self.report(STARTED, STATS, *(job_info(number) for number in range(150)), waits=True)
        self.assertEqual(len(service.of("announce")), 1 + 150 + 100)

    def test_a_dry_run_reports_nothing(self):
        service = self.serve()
        self.assertEqual(self.report(STARTED, STATS, job_info(), finished(), dryrun=True), [])
        self.assertEqual(service.requests, [])

    def test_quiet(self):
        service = self.serve()
        self.assertEqual(self.report(STARTED, STATS, job_info(), finished(), quiet=["all"]), [])
        self.assertEqual(len(service.of("withdraw")), 2)

    def test_two_runs_one_after_the_other(self):
        service = self.serve()
        other = record(LogEvent.WORKFLOW_STARTED, workflow_id="6e1f", snakefile="b.smk")
        self.report(STARTED, STATS, job_info(), finished(), other, STATS, job_info(), finished())
        self.assertEqual([(one["context"]["run_id"], one["context"].get("task_id")) for one in service.of("submit")],
                         [("5d0e", None), ("5d0e", "job 1/1"), ("6e1f", None), ("6e1f", "job 1/1")])

    def test_events_that_it_does_not_understand(self):
        self.serve()
        lines = self.report(STARTED, STATS, record(LogEvent.JOB_INFO), record(LogEvent.JOB_FINISHED), job_info(), finished())
        self.assertEqual(len(self.warnings(lines)), 1, lines)
        self.assertIn("tracer: align (S1): succeeded", lines)


class BadServices(WithService):
    JOBS = (STARTED, STATS, job_info(1), job_info(2), finished(1), failed(2), job_info(2), finished(2))

    def one_warning(self, lines, *words):
        self.assertEqual(len(self.warnings(lines)), 1, lines)
        for word in words:
            self.assertIn(word, self.warnings(lines)[0])

    def test_none(self):
        os.environ["TRACER_SOCKET"] = "/nonexistent/tracer.sock"
        lines = self.report(*self.JOBS * 20)
        self.one_warning(lines, "/nonexistent/tracer.sock", "No such file")
        self.assertEqual(len(lines), 1, lines)

    def test_one_that_is_no_service(self):
        for how in ("garbage", "deaf", "hung", "endless"):
            with self.subTest(how):
                service = self.serve(how)
                lines = self.report(*self.JOBS)
                self.one_warning(lines, service.path)
                self.assertEqual(len(lines), 1, lines)
                self.assertLess(len(service.requests), 3)

    def test_a_full_one(self):
        service = self.serve("full")
        lines = self.report(*self.JOBS)
        self.one_warning(lines, "too many announcements [TRC142]")
        self.assertIn("tracer: align (S1): succeeded", lines)
        self.assertEqual(len(service.of("withdraw")), 0)

    def test_an_older_one_gets_announcements(self):
        service = self.serve("old", tasks={"job 1/1": {"wall_ns": 10**9}})
        lines = self.report(*self.JOBS)
        self.one_warning(lines, "TRC142", "submit")
        self.assertEqual(len(service.of("submit")), 1)
        self.assertEqual([one["context"].get("task_id") for one in service.of("announce")],
                         [None, "job 1/1", "job 2/1", "job 2/2"])
        self.assertEqual(service.of("withdraw"), [])
        self.assertIn("tracer: align (S1): succeeded, 1.0 s", lines)

    def test_one_that_dies(self):
        for count in (1, 4, 8, 12):
            with self.subTest(count):
                self.one_warning(self.report(*(self.serve(dies_after=count) and self.JOBS)))

    def test_one_that_is_restarted(self):
        """The new one is given the run and what is open; the ends that none has heard are for one that has kept the tasks."""
        self.enterContext(unittest.mock.patch.object(connection, "AGAIN_SECONDS", 0.5))
        self.enterContext(unittest.mock.patch.object(reporter, "IDLE_PAUSE_SECONDS", 0.1))
        for pause in (0, 1):
            with self.subTest(pause=pause), standard_error() as lines:
                first = self.serve()
                handler = LogHandler(MockOutputSettings(), LogHandlerSettings())
                self.emit(handler, STARTED, STATS, *map(job_info, (1, 2, 3)), finished(3))
                self.wait_until(lambda: first.of("withdraw"))
                first.die()
                # Nothing happens meanwhile, or a job ends, is tried again, and another begins.
                self.emit(handler, *((failed(2), job_info(2), job_info(4)) if pause else ()))
                time.sleep(pause)
                second = self.serve(path=first.path, tasks={"job 1/1": {"wall_ns": 10**9}})
                count = 4 if pause else 3
                self.wait_until(lambda: len(second.of("submit")) == count and len(second.of("announce")) == 2 * count - 1)
                self.assertEqual([one["request"] for one in second.requests[:3]], ["hello", "submit", "announce"])
                self.assertEqual(second.requests[1:3], [first.of("submit")[0], first.of("announce")[0]])
                self.assertEqual([one["context"]["task_id"] for one in second.of("submit")[1:]],
                                 ["job 1/1", "job 2/2", "job 4/1"] if pause else ["job 1/1", "job 2/1"])
                self.assertEqual(second.of("announce")[1:3], first.of("announce")[1:3])
                self.assertEqual(second.of("withdraw"), [{"request": "withdraw", "task_key": "key of job 2/1", "state": "failed"}]
                                 if pause else [])
                self.emit(handler, finished(1))
                handler.close()
                self.assertEqual([one["state"] for one in second.of("withdraw") if one.get("task_key") == "key of job 1/1"],
                                 ["succeeded"])
                self.assertEqual(len(second.of("hello")), 1)
            self.one_warning(lines, first.path, "until one answers")
            self.assertIn("tracer: align (S1): succeeded, 1.0 s", lines)

    def test_one_that_comes_later(self):
        self.enterContext(unittest.mock.patch.object(connection, "AGAIN_SECONDS", 0.2))
        self.enterContext(unittest.mock.patch.object(reporter, "IDLE_PAUSE_SECONDS", 0.1))
        first = self.serve()
        first.die()
        with standard_error() as lines:
            handler = LogHandler(MockOutputSettings(), LogHandlerSettings())
            self.emit(handler, STARTED, STATS, job_info())
            time.sleep(1)
            second = self.serve(path=first.path)
            self.wait_until(lambda: len(second.of("announce")) == 3)
            handler.close()
        self.one_warning(lines, "No such file")
        self.assertEqual([one["state"] for one in second.of("withdraw")], ["aborted", "aborted"])

    def test_one_of_another_version(self):
        service = self.serve("newer")
        self.enterContext(unittest.mock.patch.object(connection, "AGAIN_SECONDS", 0))
        self.one_warning(self.report(*self.JOBS), "the service speaks version 2 [TRC141]")
        self.assertEqual(len(service.requests), 1)

    def emit(self, handler, *records):
        for one in records:
            handler.emit(one)

    def wait_until(self, holds):
        until = time.monotonic() + DEADLINE_SECONDS
        while not holds():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_nothing_is_kept_after_the_warning(self):
        self.serve("garbage")
        with standard_error():
            handler = LogHandler(MockOutputSettings(), LogHandlerSettings())
            self.emit(handler, *self.JOBS * 100)
            self.wait_until(lambda: handler._reporter._notes.qsize() == 0)
            handler.close()
            handler.close()

    def test_a_queue_that_is_full(self):
        self.serve("hung")
        self.enterContext(unittest.mock.patch.object(reporter, "MOST_WAITING", 100))
        lines = self.report(STARTED, STATS, *[job_info()] * 150)
        self.one_warning(lines, "too slow")


class Patterns(unittest.TestCase):
    def pattern(self, command, *outputs):
        return note_of(job_info(shellcmd=command, output=list(outputs)))[1].arguments()[0]

    def assert_tells_apart(self, make):
        """make(name): a command that makes the output NAME."""
        names = ("d/a.1", "d/a.10", "d/b.1")
        shown = [["/bin/bash", "-c", f"set -euo pipefail;  {make(name).strip()}"] for name in names]
        for number, name in enumerate(names):
            pattern = self.pattern(make(name), name)
            self.assertEqual([words_match(pattern, words) for words in shown], [other == number for other in range(3)])

    def test_commands(self):
        for make in (lambda name: f"sort x > {name}", lambda name: f"\n  sort x \\\n    > {name}  \n\n",
                     lambda name: f"awk '{{print $1}} /\\*?/' > {name} && echo \"ü\"",
                     lambda name: f"{'echo filler; ' * 40} sort > {name} && echo {'more ' * 60}",
                     lambda name: f"{'echo filler; ' * 40} sort > {name}",
                     lambda name: f"sort > {name}\n{'echo ü; ' * 300}"):
            with self.subTest(make("NAME")[:40]):
                self.assert_tells_apart(make)

    def test_a_short_command_is_not_the_end_of_another(self):
        for words, is_meant in (("set -euo pipefail;  true", True), ("source x; set -euo pipefail;  true", True),
                                ("set -euo pipefail;  sort x || true", False)):
            self.assertEqual(words_match(self.pattern("true"), ["/bin/bash", "-c", words]), is_meant)

    def test_no_command(self):
        self.assertIn("--target-jobs", self.pattern(" \n"))

    def test_a_long_command_is_seen_without_its_middle(self):
        """The service has the first 3 KiB and the last 1 KiB of arguments above 4 KiB."""
        for command in (f"sort > d/out {'x' * 20_000}", f"{'x' * 20_000} > d/out", f"{'x' * 9000} d/out {'y' * 9000}"):
            words = ["/bin/bash", "-c", "set -euo pipefail;  " + command]
            seen = [*words[:2], words[2][:3072 - 16] + "…" + words[2][-1024:]]
            self.assertTrue(words_match(self.pattern(command, "d/out"), seen), command[:20])


# The words of each job's first process go to a file, as far as it knows them.
SNAKEFILE = r'''
WORDS = "import sys; print(open('/proc/%s/cmdline' % sys.argv[1]).read(), end='')"
SAMPLES = ["S1", "it's \"2\""]

rule all:
    input: expand("out/{sample}.1.txt", sample=SAMPLES), expand("out/{sample}.2.end", sample=["S1", "S 2"]), \
        "flaky", "script.S1", "script.S10"

rule shell_rule:
    output: "out/{sample}.{unit}.txt"
    threads: 2
    resources: mem_mb=100, runtime=5
    shell:
        """
        cat /proc/$$/cmdline > {output:q}
        : '*? \\ {{x}}' {wildcards.unit}
        """

rule run_rule:
    input: "out/{sample}.{unit}.txt"
    output: "out/{sample}.{unit}.end"
    run:
        with open(output[0], "w") as file:
            file.write(open("/proc/self/cmdline").read())

rule flaky:
    output: "flaky"
    retries: 1
    resources: tries=lambda wildcards, attempt: attempt
    shell: "cat /proc/$$/cmdline > flaky.{resources.tries}; [ {resources.tries} = 2 ] && touch flaky"

rule script:
    output: "script.{sample}"
    script: "script.py"

rule broken:
    output: "broken"
    shell: "exit 3"

rule missing:
    output: "missing"
    shell: "true"

rule slow:
    output: "slow"
    shell: "sleep 1; touch slow"

rule endless:
    output: "endless"
    shell: "sleep 100; touch endless"
'''


class RealSnakemake(WithService):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tracer-smk-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "Snakefile").write_text(SNAKEFILE)
        (self.folder / "script.py").write_text(
            "import time\nopen(snakemake.output[0], 'w').write(open('/proc/self/cmdline').read())\ntime.sleep(0.5)\n")
        other = self.folder / "plugins/snakemake_logger_plugin_jsonish"
        other.mkdir(parents=True)
        (other / "__init__.py").write_text(OTHER_PLUGIN)

    def start(self, *words):
        environment = {"PYTHONPATH": f"{PLUGIN}:{self.folder}/plugins", "PYTHONDONTWRITEBYTECODE": "1",
                       "PYTHONHASHSEED": "0"}
        return subprocess.Popen([SNAKEMAKE, "--cores", "2", "--nocolor", "--scheduler", "greedy", *words],
                                cwd=self.folder, text=True, env=os.environ | environment, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_snakemake(self, *words):
        process = self.start(*words)
        output, errors = process.communicate(timeout=DEADLINE_SECONDS)
        return process.returncode, output, errors

    def test_each_job_has_its_name_before_it_runs(self):
        service = self.serve()
        status, _, errors = self.run_snakemake("--logger", "tracer", "jsonish")
        self.assertEqual(status, 0, errors)
        of_run, *of_jobs = service.of("submit")
        self.assertEqual(of_run["expected"], {"shell_rule": 4, "run_rule": 2, "flaky": 1, "script": 2, "all": 1})
        self.assertEqual(collections.Counter(one["context"]["step"] for one in of_jobs),
                         {"shell_rule": 4, "run_rule": 2, "flaky": 2, "script": 2, "all": 1})
        # Each process has the arguments of exactly one announcement.
        announced = [one for one in service.of("announce") if "below" in one["key"]]
        shown = {}
        for kind, step in (("txt", "shell_rule"), ("end", "run_rule")):
            for file in (self.folder / "out").glob(f"*.{kind}"):
                sample, unit = file.name.removesuffix(f".{kind}").rsplit(".", 1)
                shown[step, sample, unit, 1] = file.read_text()
        for attempt in (1, 2):
            shown["flaky", None, None, attempt] = (self.folder / f"flaky.{attempt}").read_text()
        for sample in ("S1", "S10"):
            shown["script", sample, None, 1] = (self.folder / f"script.{sample}").read_text()
        self.assertEqual(len(shown), 10)
        for name, words in shown.items():
            names = [(one["context"]["step"], one["context"].get("sample"), one["context"]["labels"].get("unit"),
                      one["context"]["attempt"]) for one in announced
                     if words_match(one["key"]["argv"], words.split("\0")[:-1])]
            self.assertEqual(names, [name])
        self.assertEqual(of_jobs[[one["context"]["step"] for one in of_jobs].index("shell_rule")]["requested"],
                         {"millicpus": 2000, "memory_bytes": 100_000_000, "time_ns": 300 * 10**9})
        states = collections.Counter(one["state"] for one in service.of("withdraw") if "task_key" in one)
        self.assertEqual(states, {"succeeded": 10, "failed": 1})
        self.assertEqual(service.of("withdraw")[-1],
                         {"request": "withdraw", "run_key": "key of the run", "state": "succeeded"})
        lines = [line for line in errors.splitlines() if line.startswith("tracer: ")]
        self.assertEqual(len(lines), 12, lines)
        self.assertIn("tracer: flaky, attempt 2: succeeded", lines)
        # The other plugin has seen all as well.
        other = (self.folder / "jsonish.log").read_text().split()
        self.assertEqual((other.count("job_finished"), other.count("job_info")), (10, 11))

    def test_outputs_and_status_are_those_without_it(self):
        """With no service, one that hangs, one that dies."""
        def without_tracer(errors):
            kept = "\n".join(line for line in errors.splitlines() if not line.startswith("tracer: "))
            varying = (r"\d\d:\d\d:\d\d|[0-9a-f-]{36}|\d{4}-\d\d-\d\dT?[\d.]*|tmp\S+|jobid: \d|Job \d*|Elapsed.*"
                       r"|Command:.*")
            return sorted(re.sub(varying, "", kept).split("\n"))

        targets = ("--keep-going", "--forceall", "broken", "missing", "slow", "--latency-wait", "0")
        expected = self.run_snakemake(*targets)
        self.assertEqual(expected[0], 1)
        for name, options in (("none", None), ("hung", {"how": "hung"}), ("dies", {"dies_after": 7})):
            with self.subTest(name):
                os.environ["TRACER_SOCKET"] = "/nonexistent/tracer.sock" if options is None else self.serve(**options).path
                status, output, errors = self.run_snakemake(*targets, "--logger", "tracer")
                self.assertEqual((status, output), expected[:2])
                self.assertEqual(without_tracer(errors), without_tracer(expected[2]))
                lines = [line for line in errors.splitlines() if line.startswith("tracer: ")]
                self.assertEqual(len(self.warnings(lines)), 1, errors)

    def test_failures(self):
        """Snakemake logs no event for a job that lacks its output, and not its number if that is 0."""
        service = self.serve()
        status, _, errors = self.run_snakemake("--keep-going", "missing", "broken", "slow", "--latency-wait", "0",
                                               "--logger", "tracer")
        self.assertEqual(status, 1)
        keys = {f"key of {one['context'].get('task_id')}": one["context"].get("step") for one in service.of("submit")}
        self.assertEqual({keys.get(one.get("task_key")): one["state"] for one in service.of("withdraw")},
                         {"broken": "failed", "missing": "failed", "slow": "succeeded", None: "failed"}, errors)
        self.assertEqual([one["exit_code"] for one in service.of("withdraw") if one.get("exit_code")], [3])
        self.assertIn("tracer: broken: failed: exit status 3", errors.splitlines())

    def test_a_run_that_ctrl_c_ends(self):
        service = self.serve()
        process = self.start("endless", "--logger", "tracer")
        until = time.monotonic() + DEADLINE_SECONDS
        while len(service.of("announce")) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(process.returncode, 1, errors)
        of_job, of_run = service.of("withdraw")
        self.assertIn((of_job["state"], of_run["state"]), [("aborted", "aborted"), ("failed", "failed")])
        self.assertEqual(self.warnings([line for line in errors.splitlines() if "tracer: " in line]), [])

    def test_two_runs_in_one_folder(self):
        service = self.serve()
        both = [self.start("--nolock", "--logger", "tracer", "--", target) for target in ("slow", "script.S1")]
        for process in both:
            _, errors = process.communicate(timeout=DEADLINE_SECONDS)
            self.assertEqual(process.returncode, 0, errors)
        runs = collections.defaultdict(set)
        for one in service.of("submit"):
            runs[one["context"]["run_id"]].add(one["context"].get("step"))
        self.assertEqual(sorted(map(sorted, (steps - {None} for steps in runs.values()))), [["script"], ["slow"]])


OTHER_PLUGIN = '''
from snakemake_interface_logger_plugins.base import LogHandlerBase


class LogHandler(LogHandlerBase):
    def emit(self, record):
        with open("jsonish.log", "a") as file:
            print(getattr(record, "event", None), file=file)

    writes_to_stream = writes_to_file = needs_rulegraph = False
    has_filter = has_formatter = True
'''


if __name__ == "__main__":
    unittest.main(verbosity=2)
