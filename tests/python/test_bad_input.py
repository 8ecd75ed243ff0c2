# SPDX-License-Identifier: Apache-2.0
"""What is wrong is refused with an exception that says what, and how to fix it; nothing is opened."""

import os
import pickle
import subprocess
import unittest
from pathlib import Path

import tracer
from support import TempDir, descriptors, needs_tracing, threads
from tracer import _errors

FAMILIES = {
    100: tracer.InternalError, 101: tracer.InvalidArgumentError, 102: tracer.NotPermittedError,
    103: tracer.UnsupportedKernelError, 104: tracer.UnsupportedKernelError, 105: tracer.UnsupportedKernelError,
    106: tracer.InvalidArgumentError, 107: tracer.InvalidArgumentError, 108: tracer.OutOfMemoryError,
    110: tracer.RecordingError, 111: tracer.RecordingError, 112: tracer.RecordingError, 113: tracer.RecordingError,
    114: tracer.RecordingError, 115: tracer.RulesError, 116: tracer.CallbackError, 117: tracer.RecordingError,
    118: tracer.UnsupportedKernelError,
    120: tracer.CommandError, 121: tracer.CommandError, 122: tracer.InvalidArgumentError,
}


class Errors(unittest.TestCase):
    def test_each_code_has_its_class(self):
        for number, expected in FAMILIES.items():
            error = _errors.error_of([(number, 13, "what\udcff", "fix", "detail"), (101, 0, "more", "", "")])
            self.assertIs(type(error), expected)
            self.assertEqual((error.code, error.errno, error.fix), (f"TRC{number}", 13, "fix"))
            self.assertEqual([each.what for each in error.problems], ["what\udcff", "more"])
            self.assertIn("TRC101: more", str(error))
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), again.problems), (type(error), error.problems))

    def test_what_python_itself_would_raise_is_caught_too(self):
        self.assertTrue(issubclass(tracer.InvalidArgumentError, ValueError))
        self.assertTrue(issubclass(tracer.NotPermittedError, PermissionError))
        self.assertTrue(issubclass(tracer.OutOfMemoryError, MemoryError))
        self.assertTrue(issubclass(tracer.CommandFailedError, subprocess.CalledProcessError))
        for name in tracer.__all__:
            each = getattr(tracer, name)
            if isinstance(each, type) and issubclass(each, Exception):
                self.assertTrue(issubclass(each, tracer.TracerError), name)

    def test_codes_of_the_library_are_known_here(self):
        header = (Path(__file__).resolve().parents[2] / "include/tracer/error.hpp").read_text()
        numbers = {int(line.split("= ")[1].split(",")[0]) for line in header.splitlines() if line.strip().startswith("k")
                   and " = " in line}
        # 109 is only ever a problem of a family, never an exception.
        self.assertEqual(numbers - set(_errors._BY_NUMBER), {109})


@needs_tracing
class Options(TempDir):
    def test_values(self):
        nothing = str(self.folder / "nothing")
        before = threads(), descriptors()
        for options, code in (
            ({"pid": 2**22 + 1}, "TRC106"), ({"pid": -1}, "TRC101"), ({"pid": 0}, "TRC101"), ({"pid": True}, "TRC101"),
            ({"pid": "1"}, "TRC101"), ({"pid": 2**80}, "TRC101"), ({"uid": -1}, "TRC101"), ({"uid": 2**33}, "TRC101"),
            ({"cgroup": "/no/such/cgroup"}, "TRC106"), ({"cgroup": 7}, "TRC101"),
            ({"exe": 1.5}, "TRC101"), ({"host": True, "pid": 1}, "TRC101"),
            ({"families": ["everything"]}, "TRC101"), ({"sample_interval": 0.001}, "TRC101"),
            ({"sample_interval": -1}, "TRC101"), ({"sample_interval": float("nan")}, "TRC101"),
            ({"sample_interval": float("inf")}, "TRC101"), ({"max_cost_share": -0.5}, "TRC101"),
            ({"ring_bytes": 12345}, "TRC101"), ({"ring_bytes": -1}, "TRC101"), ({"ring_bytes": 2**70}, "TRC101"),
            ({"max_processes": 0}, "TRC101"), ({"source": "daemon"}, "TRC101"), ({"source": nothing}, "TRC101"),
            ({"source": 3}, "TRC101"), ({"record": nothing + "/file"}, "TRC114"), ({"record": self.folder}, "TRC114"),
            ({"record": "a\0b"}, "TRC114"), ({"engine_rules": nothing}, "TRC110"),
            ({"pipeline": 7}, "TRC101"), ({"sample": b"S1"}, "TRC101"), ({"labels": ["a"]}, "TRC101"),
            ({"labels": {"a": 1}}, "TRC101"), ({"labels": {1: "a"}}, "TRC101"),
        ):
            with self.subTest(options=options), self.assertRaises(tracer.TracerError) as caught:
                tracer.session(**options)
            with self.subTest(options=options):
                self.assertEqual(caught.exception.code, code, str(caught.exception))
                self.assertTrue(str(caught.exception))
        self.assertEqual((threads(), descriptors()), before)

    def test_types_and_names(self):
        for options in (
            {"unknown": 1}, {"ring_bytes": "1"}, {"ring_bytes": 1.0}, {"ring_bytes": True}, {"families": "waits"},
            {"mask_secrets": 1}, {"sample_interval": "1"}, {"engine_rules": 5}, {"families": [1]},
        ):
            with self.subTest(options=options), self.assertRaises(tracer.InvalidTypeError) as caught:
                tracer.session(**options)
            self.assertTrue(caught.exception.fix)

    def test_mistakes_in_rules_are_told_with_their_lines(self):
        rules = self.folder / "tools.toml"
        rules.write_text("[[tool]]\nname = 3\n")
        with self.assertRaises(tracer.RulesError) as caught:
            tracer.session(tool_rules=rules)
        self.assertEqual(caught.exception.code, "TRC115")
        self.assertIn("tools.toml", str(caught.exception))

    def test_of_attach(self):
        for options, code in (
            ({}, "TRC101"), ({"pid": 1, "cgroup": "/x"}, "TRC101"), ({"container": "short"}, "TRC101"),
            ({"container": "../../../../etc"}, "TRC101"), ({"container": "f" * 64}, "TRC106"),
            ({"slurm_job": "../1"}, "TRC101"), ({"slurm_job": 99999999}, "TRC106"), ({"pid": 2**22 + 1}, "TRC106"),
        ):
            with self.subTest(options=options), self.assertRaises(tracer.InvalidArgumentError) as caught:
                tracer.attach(**options)
            with self.subTest(options=options):
                self.assertEqual(caught.exception.code, code)

    def test_of_what_a_session_does(self):
        with tracer.session() as s:
            for use in (
                lambda: s.events(kinds={"nothing"}), lambda: s.events(kinds=set()), lambda: s.events(timeout=-1),
                lambda: s.events(timeout="1"), lambda: s.events(timeout=float("nan")), lambda: s.batches(most=0),
                lambda: s.batches(most=2**40), lambda: s.on("nothing", print), lambda: s.on("loss", 3),
                lambda: s.events(capacity_bytes=0), lambda: s.track(2**22 + 1), lambda: s.track(-1),
                lambda: s.track("1"), lambda: s.track(1, sample=3), lambda: s.announce(context={"sample": "S"}),
                lambda: s.announce(pid=1, cgroup="/x", context={"sample": "S"}), lambda: s.announce(work_dir="/",
                context={"sample": "S"}), lambda: s.announce(work_dir="/tmp/x", context={}), lambda: s.run("true"),
            ):
                with self.assertRaises(tracer.InvalidArgumentError) as caught:
                    use()
                self.assertIn(caught.exception.code, ("TRC101", "TRC106"))
            for use in (
                lambda: s.events(kinds=[1]), lambda: s.on(1, print), lambda: s.flush("1"),
                lambda: s.announce(work_dir="/tmp/x", context={"unknown": "x"}),
                lambda: s.announce(work_dir="/tmp/x", context={"sample": "x"}, requested={"cpus": 1}),
            ):
                with self.assertRaises(tracer.InvalidTypeError):
                    use()
            # It goes on all the same.
            s.run(["true"])

    def test_texts_that_are_no_utf8(self):
        name = os.fsdecode(b"caf\xe9 \xff.tracer")
        with tracer.session(record=self.folder / name, sample="S\udcff1", labels={"\udcfe": "\udcfd"}):
            subprocess.run(["echo", b"\xff"], stdout=subprocess.DEVNULL, cwd=self.folder)
        (seen,) = [event for event in tracer.read(self.folder / name) if event.kind == "process_exit"]
        self.assertEqual((seen.argv, seen.context.sample), (("echo", "\udcff"), "S\udcff1"))
        self.assertEqual([(each.name, each.value) for each in seen.context.labels], [("\udcfe", "\udcfd")])
        with self.assertRaises(tracer.RecordingError) as caught:
            tracer.read(self.folder / (name + "\udcff"))
        self.assertIn("\udcff", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
