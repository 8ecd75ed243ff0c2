# SPDX-License-Identifier: Apache-2.0
"""Each wrong value, type and keyword of each public function is refused with a code and a fix, before anything happens."""

import inspect
import math
import os
import pickle
import subprocess
import tempfile
import unittest

import tracer
from support import TempDir, descriptors, needs_tracing, threads

ME = os.getpid()
HUGE = 10**400
CONTEXT = {"context": {"sample": "S"}}
# Values that are of a wrong type, and values that are of the right one but wrong.
NO_TEXT = (3, b"S", ["S"], {"a": 1}, 1.5, True)
NO_NUMBER = ("1", 1.5, True, [1], b"1")
NO_SECONDS = ("1", True, [1], b"1", 1j)
NO_FLAG = ("no", 1, [True])
NO_PATH = (3, 1.5, ["a"], True)
NO_LABELS = (3, "a", ["a"], {"a": 1}, {1: "a"}, {"a": b"b"}, {"a": None})
BAD_TEXT = ("a\0b",)
BAD_SECONDS = (-1, -0.5, math.nan, -math.inf, -HUGE)
BAD_PID = (0, -1, 2**31, 2**40, HUGE, -HUGE)

# Of each keyword: what is of a wrong type, and what is wrong; None stands for what is all right.
LABELS = {"pipeline": (NO_TEXT, BAD_TEXT), "run": (NO_TEXT, BAD_TEXT), "sample": (NO_TEXT, BAD_TEXT),
          "step": (NO_TEXT, BAD_TEXT), "labels": (NO_LABELS, ({"": "x"}, {"a\0": "b"}, {"a": "b\0"}))}
LIMITS = {name: (NO_NUMBER, (0, -1, 2**64, HUGE)) for name in
          ("ring_bytes", "max_processes", "max_threads", "max_cgroups", "max_contexts",
           "max_labeled_threads")}
OPTIONS = {
    **LABELS, **LIMITS, "max_announcements": (NO_NUMBER, (-1, 2**64)), "record": (NO_PATH, ()),
    "families": ((3, "waits", b"waits", [1], True), (["everything"], ["waits", ""])),
    "sample_interval": (NO_SECONDS, (*BAD_SECONDS, math.inf, 0.001, HUGE)),
    "max_cost_share": (NO_SECONDS, (*BAD_SECONDS, math.inf, HUGE)), "mask_secrets": (NO_FLAG, ()),
    "hash_paths": (NO_FLAG, ()),
    "read_engine_notes": (NO_FLAG, ()), "findings": (NO_FLAG, ()), "history": (NO_PATH, ()),
    "tool_rules": (NO_PATH, ()), "secret_rules": (NO_PATH, ()),
    "engine_rules": (NO_PATH, ()),
}
PIDS = (("1", 1.5, True, ["1"], [None]), (*BAD_PID, [ME, -1]))
UIDS = (("1", 1.5, True, ["1"], [None]), (-1, 2**32, HUGE))
GLOBS = ((3, 1.5, True, [3]), ("", "a\0b", [""]))
EXCLUDES = {"exclude_pid": PIDS, "exclude_uid": UIDS, "exclude_cgroup": ((3, [3]), ("",)), "exclude_exe": GLOBS,
            "exclude_tool": GLOBS, "exclude_argument": GLOBS}
SESSION = {
    **OPTIONS, **EXCLUDES, "pid": (PIDS[0], (*PIDS[1], [], 2**22 + 1)), "uid": (UIDS[0], (*UIDS[1], [])),
    "cgroup": ((3, [3]), ("", [], "/no/such/cgroup")), "exe": (GLOBS[0], (*GLOBS[1], [])), "host": (NO_FLAG, ()),
    "tool": (GLOBS[0], (*GLOBS[1], [])), "argument": (GLOBS[0], (*GLOBS[1], [])),
    "source": (NO_PATH, ("daemon", "/no/such", "")),
}
STREAMS = {"stdin": ((True, "file", 1.5, []), (-7, 99999, HUGE)), "stdout": ((True, "file", 1.5, []), (-7, 99999, HUGE)),
           "stderr": ((True, "file", 1.5, []), (-7, 99999, HUGE))}
COMMAND = {
    **STREAMS, "check": (NO_FLAG, ()), "capture_output": (NO_FLAG, ()), "text": (NO_FLAG, ()),
    "cwd": (NO_PATH, ("/no/such", "a\0b", "")), "timeout": (NO_SECONDS, BAD_SECONDS), "input": ((3, [1], "text"), ()),
    "env": ((3, "A=b", ["A=b"], {"A": 1}, {1: "a"}, {"A": None}),
            ({"A": "x\0y"}, {"A\0": "x"}, {"A=B": "x"}, {"": "x"}, {b"A=": b"x"})),
    "user": ((1.5, True, [], b"root"), (-1, 2**32, "no such user", "", "a\0b")),
    "encoding": ((3, b"utf-8"), ("nope", "a\0b")), "errors": ((3, b"strict"), ("nope",)),
}
ARGV = ((3, "true", b"true", {"true"}, {"true": 1}, None, [1], [None], ["true", 1]), ([], (), ["a\0b"], ["true", b"\0"]))
RUN = {"argv": ARGV, **COMMAND, **{name: OPTIONS[name] for name in (
    *LABELS, "record", "families", "sample_interval", "max_cost_share", "engine_rules", "mask_secrets", "hash_paths")}}
TASK_TEXT = (NO_TEXT, ("", "a\0b"))
TASK = {"name": (TASK_TEXT[0] + (None,), TASK_TEXT[1]), "sample": TASK_TEXT, "step": TASK_TEXT, "task_id": TASK_TEXT,
        "attempt": (NO_NUMBER, (0, -1, 2**32, HUGE)), "labels": LABELS["labels"]}
KINDS = ((3, b"loss", [1], [None], True), ("nothing", ["nothing"], [], set(), [""]))
CAPACITY = (NO_NUMBER, (0, -1, 2**64, HUGE))
MOST = (NO_NUMBER, (0, -1, 2**40, HUGE))
TIMEOUT = (NO_SECONDS, BAD_SECONDS)
TABLE = ((3, b"events", ["events"], None), ("nothing", "", "a\0b"))
ATTACH = {"pid": SESSION["pid"], "cgroup": SESSION["cgroup"], "container": ((3, b"f" * 64), ("short", "../" * 9, "f" * 64)),
          "slurm_job": ((1.5, True, [1]), ("../1", "", 0, -1, 99999999))}


def cases(table, fixed=None):
    for name, (types, values) in table.items():
        for value in types:
            yield {**(fixed or {}), name: value}, True
        for value in values:
            yield {**(fixed or {}), name: value}, False


class Refusals(TempDir):
    def refused(self, function, keywords, wrong_type):
        with self.subTest(function=function.__qualname__, keywords=keywords):
            try:
                result = function(**keywords)
            except tracer.InvalidArgumentError as error:
                self.assertTrue(error.code.startswith("TRC"))
                self.assertIn(error.code, ("TRC101",) if wrong_type else ("TRC101", "TRC106", "TRC122"))
                self.assertTrue(error.fix)
                self.assertNotIn("C++", str(error))
                self.assertNotIn("_core", str(error))
                self.assertLess(len(str(error)), 500)
                self.assertIsInstance(error, TypeError if wrong_type else ValueError)
                again = pickle.loads(pickle.dumps(error))
                self.assertEqual((type(again), again.problems), (type(error), error.problems))
            else:
                close = getattr(result, "close", None)
                if close is not None:
                    close()
                self.fail(f"it was taken: {result!r}")

    def check_all(self, function, table, fixed=None):
        """All keywords of `function` are in the table, and what is there is refused."""
        names = set(inspect.signature(function).parameters) - set(fixed or ())
        self.assertEqual(set(table), names, function)
        for keywords, wrong_type in cases(table, fixed):
            self.refused(function, keywords, wrong_type)
        self.check_keywords(function, {**(fixed or {})})

    def check_keywords(self, function, keywords):
        names = list(inspect.signature(function).parameters)
        with self.assertRaises(TypeError) as caught:
            function(**keywords, no_such_thing=1)
        self.assertIsInstance(caught.exception, tracer.InvalidTypeError)
        self.assertEqual(caught.exception.code, "TRC101")
        self.assertIn("no_such_thing", str(caught.exception))
        self.assertIn(names[-1], caught.exception.fix)
        self.assertIsNone(caught.exception.__cause__ or caught.exception.__context__)
        with self.assertRaises(tracer.InvalidTypeError) as caught:
            function(**keywords, **{names[-1] + "x": 1})
        self.assertEqual(caught.exception.fix, f"did you mean {names[-1]}?")
        with self.assertRaises(tracer.InvalidTypeError) as caught:
            function(*[None] * 40)
        self.assertTrue(caught.exception.code and caught.exception.fix)


class Functions(Refusals):
    def test_session(self):
        before = threads(), descriptors()
        self.check_all(tracer.session, SESSION)
        self.refused(tracer.session, {"host": True, "pid": ME}, False)
        self.assertEqual((threads(), descriptors()), before)

    def test_attach(self):
        self.assertEqual(
            set(inspect.signature(tracer.attach).parameters) - {"container", "slurm_job"},
            set(inspect.signature(tracer.session).parameters) - {"uid", "exe", "tool", "argument", "host", "source"})
        of_session = inspect.signature(tracer.session).parameters
        for name, parameter in inspect.signature(tracer.attach).parameters.items():
            if name in of_session and name not in ("pid", "cgroup"):
                self.assertEqual(parameter, of_session[name])
        for keywords, wrong_type in cases(ATTACH):
            self.refused(tracer.attach, keywords, wrong_type)
        self.check_all(tracer.attach, {**OPTIONS, **EXCLUDES, **{name: ((), ()) for name in ATTACH if name != "pid"}},
                       {"pid": ME})
        self.refused(tracer.attach, {}, False)
        self.refused(tracer.attach, {"pid": 1, "cgroup": "/x"}, False)

    def test_run(self):
        before = threads(), descriptors()
        self.check_all(tracer.run, {name: RUN[name] for name in RUN if name != "argv"}, {"argv": ["true"]})
        for keywords, wrong_type in cases({"argv": ARGV}):
            self.refused(tracer.run, keywords, wrong_type)
        for keywords in ({"input": b"x", "stdin": subprocess.DEVNULL}, {"capture_output": True, "stdout": subprocess.PIPE},
                         {"stdin": subprocess.PIPE}, {"stdout": subprocess.STDOUT}):
            self.refused(tracer.run, {"argv": ["true"], **keywords}, False)
        self.assertEqual((threads(), descriptors()), before)

    def test_task(self):
        for function in (tracer.task, tracer.Task):
            for keywords, wrong_type in cases({name: TASK[name] for name in TASK if name != "name"}, {"name": "x"}):
                self.refused(function, keywords, wrong_type)
            for keywords, wrong_type in cases({"name": TASK["name"]}):
                self.refused(function, keywords, wrong_type)
        self.check_keywords(tracer.task, {"name": "x"})
        with self.assertRaises(tracer.InvalidTypeError):
            tracer.task()
        for function in (None, 3, "f"):
            self.refused(tracer.task("x").__call__, {"function": function}, True)

    def test_read_and_check(self):
        for function in (tracer.read, tracer.check_engine_rules):
            self.check_all(function, {"path": ((3, None, 1.5, ["a"]), ())})

    def test_an_environment_that_is_refused_is_not_shown(self):
        for env in ({"TOKEN": "secret\0"}, {"TOKEN": ["secret"]}):
            with self.assertRaises(tracer.InvalidArgumentError) as caught:
                tracer.run(["true"], env=env)
            self.assertIn("TOKEN", str(caught.exception))
            self.assertNotIn("secret", str(caught.exception))

    def test_a_type_error_of_ones_own_stays_what_it_is(self):
        class Path(os.PathLike):
            def __fspath__(self):
                return int("1") + "2"

        with self.assertRaises(TypeError) as caught:
            tracer.read(Path())
        self.assertNotIsInstance(caught.exception, tracer.TracerError)


@needs_tracing
class Methods(Refusals):
    def setUp(self):
        super().setUp()
        self.session = tracer.session(record=self.folder / "r")
        self.addCleanup(self.session.close)

    def tearDown(self):
        # It goes on all the same.
        self.assertEqual(self.session.run(["true"]).returncode, 0)

    def test_run(self):
        keywords = {**COMMAND, **{name: TASK[name] for name in ("sample", "step", "labels")}, "task": TASK_TEXT}
        before = threads(), descriptors()
        self.check_all(self.session.run, keywords, {"argv": ["true"]})
        for keywords, wrong_type in cases({"argv": ARGV}):
            self.refused(self.session.run, keywords, wrong_type)
        self.assertEqual((threads(), descriptors()), before)

    def test_task(self):
        self.check_all(self.session.task, {name: TASK[name] for name in TASK if name != "name"}, {"name": "x"})
        for keywords, wrong_type in cases({"name": TASK["name"]}):
            self.refused(self.session.task, keywords, wrong_type)

    def test_track(self):
        self.check_all(self.session.track, LABELS, {"pid": ME})
        for keywords, wrong_type in cases({"pid": (NO_NUMBER + (None,), (*BAD_PID, 2**22 + 1))}):
            self.refused(self.session.track, keywords, wrong_type)

    def test_announce(self):
        keys = {
            "pid": (NO_NUMBER, (*BAD_PID, 2**22 + 1)), "work_dir": (NO_PATH, ("relative", "/", "", "/tmp/a\0b")),
            "cgroup": (NO_PATH, ("",)), "container": ((3, b"f" * 64), ("", "short")),
            "slurm_job": ((1.5, True), ("x y", "", 0, -1)),
            "below": ((3, "x", (ME,), (ME, ["a"], 3), ("1", ["a"]), (ME, "a"), (ME, [1]), (ME, {"a"})),
                      ((0, ["a"]), (2**40, ["a"]), (ME, []), (ME, ["a\0"]))),
        }
        for keywords, wrong_type in cases(keys, CONTEXT):
            self.refused(self.session.announce, keywords, wrong_type)
        for fields, wrong_type in [({}, False), ([1], True), (3, True), ("x", True), ({"unknown": "x"}, True),
                                   ({"attempt": -1}, False), ({"attempt": "1"}, True), ({"attempt": 2**32}, False),
                                   ({"sample": 3}, True), ({"sample": "a\0"}, False), ({"labels": {"a": 1}}, True),
                                   ({"labels": ["a"]}, True), ({1: "a"}, True)]:
            self.refused(self.session.announce, {"pid": ME, "context": fields}, wrong_type)
        for requested, wrong_type in [([1], True), (3, True), ({"cpus": 1}, True), ({1: 1}, True),
                                      ({"memory_bytes": -1}, False), ({"memory_bytes": 2**64}, False),
                                      ({"memory_bytes": 1.5}, True), ({"millicpus": "1"}, True), ({"time_ns": True}, True),
                                      ({"container": 3}, True), ({"tag": b"x"}, True), ({"tag": "a\0"}, False)]:
            self.refused(self.session.announce, {"pid": ME, **CONTEXT, "requested": requested}, wrong_type)
        for keywords, wrong_type in cases({"expires_after": (NO_SECONDS + (None,), (*BAD_SECONDS, math.inf, HUGE))},
                                          {"pid": ME, **CONTEXT}):
            self.refused(self.session.announce, keywords, wrong_type)
        self.refused(self.session.announce, CONTEXT, False)
        self.refused(self.session.announce, {"pid": ME, "cgroup": "/x", **CONTEXT}, False)
        self.check_keywords(self.session.announce, {"pid": ME})

    def test_streams(self):
        streams = {"kinds": KINDS, "timeout": TIMEOUT, "capacity_bytes": CAPACITY, "living_first": (NO_FLAG, ())}
        self.check_all(self.session.events, streams)
        self.check_all(self.session.batches, {**streams, "most": MOST})
        self.check_all(self.session.table_batches, {**streams, "most": MOST, "table": TABLE})

    def test_flush_and_on(self):
        self.check_all(self.session.flush, {"timeout": TIMEOUT})
        for keywords, wrong_type in cases({"kind": ((3, b"loss", ["loss"]), ("nothing", "", "a\0b"))}, {"callback": print}):
            self.refused(self.session.on, keywords, wrong_type)
        for keywords, wrong_type in cases({"callback": ((3, None, "f"), ())}, {"kind": "loss"}):
            self.refused(self.session.on, keywords, wrong_type)
        self.check_keywords(self.session.on, {"kind": "loss"})

    def test_tables_and_reports(self):
        self.session.flush()
        for source in (self.session, tracer.read(self.folder / "r")):
            self.check_all(source.table, {"name": TABLE})
            self.check_all(source.sql, {"query": ((3, b"x", None), ("",))})
            self.check_all(source.report.text, {"by": ((3, b"run"), ("x", "")), "columns": (NO_NUMBER, (0, -1, 2**70))})
        self.check_all(tracer.read(self.folder / "r").select, {"kinds": (KINDS[0] + (None,), KINDS[1])})

    def test_a_recording_is_not_replayed_into_itself(self):
        self.session.run(["true"])
        self.session.close()
        path = self.folder / "r"
        link = self.folder / "link"
        link.symlink_to(path)
        size = path.stat().st_size
        for source, record in ((path, path), (path, link), (link, path)):
            self.refused(tracer.session, {"source": source, "record": record}, False)
        self.assertEqual(path.stat().st_size, size)
        self.session = tracer.session()
        self.addCleanup(self.session.close)

    def test_what_is_all_right_is_taken(self):
        """Neither numbers of numpy nor times without end are mistakes."""
        class Number(int):
            def __index__(self):
                return int(self)

        self.session.track(Number(ME))
        self.assertTrue(self.session.flush(math.inf))
        with tempfile.TemporaryFile() as file:
            for keywords in ({"timeout": math.inf}, {"timeout": 1e30, "capture_output": True}, {"timeout": HUGE},
                             {"stdout": file}, {"stdout": file.fileno()}, {"text": None}, {"env": {}},
                             {"user": os.geteuid()}, {"env": {b"A": "b", "C": self.folder}}, {"input": bytearray(b"x")}):
                with self.subTest(keywords=keywords):
                    self.assertEqual(self.session.run(["/bin/true"], **keywords).returncode, 0)
        self.assertEqual([*self.session.events(timeout=0, kinds="loss")], [])


if __name__ == "__main__":
    unittest.main()
