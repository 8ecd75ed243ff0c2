# SPDX-License-Identifier: Apache-2.0
"""tracer.run(): what a command consumed, against what is known of it."""

import concurrent.futures
import copy
import json
import multiprocessing
import os
import pickle
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
import unittest

import tracer
from support import TRACERD, TempDir, descriptors, needs_tracing, threads

PYTHON = sys.executable
MIB = 1 << 20
# What it consumes is known: 64 MiB of memory, 8 MiB written, 8 MiB read, two children.
WORKLOAD = """
import os, subprocess, sys
held = bytearray(64 << 20)
for at in range(0, len(held), 4096): held[at] = 1
with open(sys.argv[1], "wb", buffering=0) as file:
    for _ in range(8): file.write(b"x" * (1 << 20))
fd = os.open(sys.argv[1], os.O_RDONLY)
while os.read(fd, 1 << 20): pass
subprocess.run(["true"]); subprocess.run(["sh", "-c", "exit 4"])
"""


def fail():
    tracer.run(["sh", "-c", "echo out; exit 4"], check=True, capture_output=True, text=True)


def own_cpu_ns():
    """Of children that were waited for: the kernel's own account."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


@needs_tracing
class Accounts(TempDir):
    def test_they_are_right(self):
        before = own_cpu_ns()
        result = tracer.run([PYTHON, "-S", "-c", WORKLOAD, self.folder / "data"], sample="S1")
        cpu_ns = own_cpu_ns() - before
        usage = result.usage
        self.assertEqual((result.returncode, usage.processes, usage.failed), (0, 3, 1))
        self.assertGreaterEqual(usage.peak_rss_bytes, 64 * MIB)
        self.assertLess(usage.peak_rss_bytes, 128 * MIB)
        self.assertGreaterEqual(usage.peak_memory_bytes, usage.peak_rss_bytes)
        self.assertEqual(usage.bounds.get("peak_rss_bytes", "exact"), "exact")
        self.assertGreaterEqual(usage.written_bytes, 8 * MIB)
        self.assertLess(usage.written_bytes, 8 * MIB + 4096)
        self.assertGreaterEqual(usage.read_bytes, 8 * MIB)
        self.assertLess(usage.read_bytes, 12 * MIB)
        # The system's account ends a little before ours, and has the copy of this process besides.
        self.assertGreater(usage.cpu_ns, 0.7 * cpu_ns)
        self.assertLess(usage.cpu_ns, 1.3 * cpu_ns + 20e6)
        self.assertAlmostEqual(sum(result.where_time_went.values()), 1.0, places=6)
        self.assertEqual(list(result.where_time_went.values()), sorted(result.where_time_went.values(), reverse=True))
        self.assertIn("CPU", result.where_time_went)
        self.assertEqual(set(result.time_ns), set(result.where_time_went))

    def test_they_are_those_of_tracerd_run(self):
        command = [PYTHON, "-S", "-c", WORKLOAD, str(self.folder / "data")]
        done = subprocess.run([TRACERD, "run", "--json", self.folder / "events", "--", *command], capture_output=True,
                              text=True, check=True)
        ours = tracer.run(command)
        theirs = [json.loads(line) for line in (self.folder / "events").read_text().splitlines()]
        exits = [event for event in theirs if event["kind"] == "process_exit"]
        copies = [event["ended"]["written_bytes"] or 0 for event in theirs if event["kind"] == "process_exec"]
        self.assertEqual(ours.usage.processes, len(exits))
        self.assertEqual(ours.usage.failed, sum(event["exit_code"] not in (0, None) for event in exits))
        self.assertEqual(ours.usage.written_bytes, sum(event["program"]["written_bytes"] for event in exits) + sum(copies))
        reader = ours.open_reader()
        mine = reader.read(10_000)
        self.assertEqual([event.tool for event in mine if event.kind == "process_exit"], [e["tool"] for e in exits])
        self.assertRegex(done.stderr + done.stdout, r"python")

    def test_in_a_session_that_follows_others_they_are_its_own(self):
        with tracer.session() as s:
            noise = subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"])
            try:
                result = s.run([PYTHON, "-S", "-c", WORKLOAD, self.folder / "data"])
            finally:
                noise.kill()
                noise.wait()
            self.assertEqual((result.usage.processes, result.usage.failed), (3, 1))
            self.assertGreaterEqual(result.usage.written_bytes, 8 * MIB)
            self.assertLess(result.usage.written_bytes, 8 * MIB + 4096)
            reader = result.open_reader()
            tools = sorted(event.tool for event in reader.read(10_000) if event.kind == "process_exit")
            self.assertEqual(len(tools), 3)
        # And when the session is closed.
        self.assertEqual(len(result.open_reader().read(10_000)) > 0, True)

    def test_an_open_session_that_follows_this_process_has_it(self):
        with tracer.session() as s:
            result = tracer.run([PYTHON, "-S", "-c", WORKLOAD, self.folder / "data"], sample="S7")
            self.assertEqual((result.usage.processes, result.usage.failed), (3, 1))
            self.assertGreaterEqual(result.usage.written_bytes, 8 * MIB)
            own = tracer.run(["true"], run="of its own")
        self.assertEqual({row["sample"] for row in result.processes.to_dicts()}, {"S7"})
        self.assertLessEqual({row["pid"] for row in result.processes.to_dicts()},
                             {row["pid"] for row in s.processes.to_dicts()})
        self.assertEqual({row["run"] for row in own.processes.to_dicts()}, {"of its own"})
        with tracer.session(pid=1):
            self.assertEqual(tracer.run(["true"]).usage.processes, 1)

    def test_in_a_session_that_follows_others_it_is_of_its_task(self):
        for options in ({"host": True, "run": "r1"}, {"pid": os.getpid(), "run": "r1", "sample": "S0"},
                        {"pid": 1, "run": "r1"}):
            with self.subTest(options), tracer.session(**options) as s:
                with s.task("t", sample="S1"):
                    results = [s.run(["true"])]
                results.append(s.run(["true"], task="t", sample="S1"))
                for result in results:
                    ((row),) = result.processes.to_dicts()
                    self.assertEqual((row["run"], row["task"], row["sample"]), ("r1", "t", "S1"))

    def test_a_slow_callback_does_not_make_them_wrong(self):
        with tracer.session() as s:
            s.on("process_exit", lambda event: time.sleep(1))
            s.run(["true"])
            usage = s.run(["true"]).usage
            self.assertEqual((usage.processes, usage.failed), (1, 0))
            self.assertGreater(usage.cpu_ns, 0)

    def test_a_later_process_with_its_pid_is_another(self):
        with tracer.session() as s:
            result = s.run(["true"])
            for _ in range(200):
                with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
                    file.write(str(result.pid - 1))
                other = subprocess.Popen(["sh", "-c", "exit 3"])
                other.wait()
                if other.pid == result.pid:
                    break
            else:
                self.skipTest("its pid could not be had again")
            self.assertEqual([row["tool"] for row in result.processes.to_dicts()], ["true"])

    def test_threads_run_commands_in_one_session(self):
        with tracer.session() as s:
            results = {}

            def work(number):
                results[number] = s.run(["sh", "-c", "for i in $(seq $0); do /bin/true; done", str(number)])

            workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            # The shell, seq in a copy of it, and so many times true.
            self.assertEqual({number: each.usage.processes for number, each in results.items()},
                             {number: number + 2 for number in results})


@needs_tracing
class Results(TempDir):
    def test_a_status_and_a_signal(self):
        self.assertEqual(tracer.run(["sh", "-c", "exit 3"]).returncode, 3)
        self.assertEqual(tracer.run(["sh", "-c", "kill -9 $$"]).returncode, -signal.SIGKILL)

    def test_check(self):
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            tracer.run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=True, capture_output=True, text=True)
        error = caught.exception
        self.assertIsInstance(error, tracer.TracerError)
        self.assertEqual((error.returncode, error.stdout, error.stderr), (3, "out\n", "err\n"))
        self.assertEqual(error.result.usage.processes, 1)
        self.assertIn("sh -c 'echo out; echo err >&2; exit 3': has returned 3", str(error))
        self.assertTrue(error.code.startswith("TRC"))

    def test_a_failure_is_itself_in_another_process(self):
        with self.assertRaises(tracer.CommandFailedError) as caught:
            tracer.run(["sh", "-c", "echo out; exit 3"], check=True, capture_output=True)
        for again in (pickle.loads(pickle.dumps(caught.exception)), copy.copy(caught.exception)):
            self.assertIs(type(again), tracer.CommandFailedError)
            self.assertEqual((again.returncode, again.cmd, again.stdout, again.stderr),
                             (3, ["sh", "-c", "echo out; exit 3"], b"out\n", b""))
            self.assertEqual((again.problems, str(again)), (caught.exception.problems, str(caught.exception)))
            self.assertIsNone(again.result)
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            with self.assertRaises(subprocess.CalledProcessError) as caught:
                pool.submit(fail).result()
            self.assertEqual((type(caught.exception), caught.exception.returncode, caught.exception.stdout),
                             (tracer.CommandFailedError, 4, "out\n"))

    def test_input_and_output(self):
        # More than pipes hold, both ways.
        data = os.urandom(3 * MIB)
        result = tracer.run(["cat"], input=data, stdout=subprocess.PIPE)
        self.assertEqual(result.stdout, data)
        result = tracer.run(["sh", "-c", "cat; echo e >&2"], input="ä", capture_output=True, text=True)
        self.assertEqual((result.stdout, result.stderr), ("ä", "e\n"))
        result = tracer.run(["sh", "-c", "echo o; echo e >&2"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((sorted(result.stdout.split()), result.stderr), ([b"e", b"o"], None))
        with open(self.folder / "out", "wb") as out:
            tracer.run(["echo", "x"], stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.assertEqual((self.folder / "out").read_text(), "x\n")

    def test_it_need_not_read_its_input(self):
        self.assertEqual(tracer.run(["true"], input=b"x" * MIB).returncode, 0)

    def test_folder_and_environment(self):
        (self.folder / "own").write_text("#!/bin/sh\necho $X $0 $(pwd)\n")
        (self.folder / "own").chmod(0o755)
        result = tracer.run(["own"], cwd=self.folder, env={"X": "ü\udcff", "PATH": f"{self.folder}:{os.environ['PATH']}"},
                            stdout=subprocess.PIPE)
        self.assertEqual(result.stdout, b"\xc3\xbc\xff " + os.fsencode(f"{self.folder}/own {self.folder}\n"))

    def test_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        result = tracer.run(["id", "-un"], user="nobody", capture_output=True, text=True)
        self.assertEqual(result.stdout, "nobody\n")
        with tracer.session() as s:
            result = s.run(["id", "-un"], user="nobody", capture_output=True, text=True)
            self.assertEqual((result.stdout, result.usage.processes), ("nobody\n", 1))
        with self.assertRaises(tracer.InvalidArgumentError) as caught:
            tracer.run(["true"], user="no such user")
        self.assertEqual(caught.exception.code, "TRC122")

    def test_a_timeout_ends_it(self):
        with self.assertRaises(subprocess.TimeoutExpired) as caught:
            tracer.run(["sh", "-c", "echo begun; exec sleep 60"], timeout=0.5, stdout=subprocess.PIPE)
        self.assertEqual(caught.exception.stdout, b"begun\n")

    def test_words_that_are_no_text(self):
        result = tracer.run(["echo", b"\xff\xfe", "\udc80"], stdout=subprocess.PIPE)
        self.assertEqual(result.stdout, b"\xff\xfe \x80\n")
        (exit_event,) = [e for e in result.open_reader().read(1000) if e.kind == "process_exit"]
        self.assertEqual(exit_event.argv, ("echo", "\udcff\udcfe", "\udc80"))

    def test_a_recording(self):
        tracer.run(["true"], record=self.folder / "r", sample="S1")
        (exit_event,) = [event for event in tracer.read(self.folder / "r") if event.kind == "process_exit"]
        self.assertEqual((exit_event.tool, exit_event.context.sample), ("true", "S1"))

    def test_one_that_nobody_waits_for_is_ended(self):
        from tracer import _core

        with tracer.session() as s:
            for session in (s._core, None):
                command = _core.CommandRun(["sleep", "600"], None, None, None, [-1, -1, -1], session)
                pid = command.pid
                del command
                self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_in_a_session_that_follows_this_process_nothing_is_left(self):
        with tracer.session() as s:
            s.run(["true"])
            before = threads(), descriptors()
            for _ in range(5):
                s.run(["sh", "-c", "true"], capture_output=True, input=b"x")
                with self.assertRaises(tracer.CommandError) as caught:
                    s.run(["/no/such"], capture_output=True)
                self.assertEqual(caught.exception.code, "TRC120")
                with self.assertRaises(subprocess.TimeoutExpired):
                    s.run(["sleep", "600"], timeout=0.05)
            self.assertEqual((threads(), descriptors()), before)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_nothing_is_left(self):
        tracer.run(["true"])
        before = threads(), descriptors()
        for _ in range(5):
            tracer.run(["sh", "-c", "true"], capture_output=True, input=b"x")
            with self.assertRaises(tracer.CommandError):
                tracer.run(["/no/such"], capture_output=True)
        self.assertEqual((threads(), descriptors()), before)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_descriptors_of_this_process_are_not_inherited(self):
        ours, theirs = os.pipe()
        os.set_inheritable(theirs, True)
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        result = tracer.run(["ls", "/proc/self/fd"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(set(map(int, result.stdout.split())) - {3}, {0, 1, 2})


@needs_tracing
class Mistakes(TempDir):
    def test_commands_that_can_not_run(self):
        (self.folder / "text").write_text("no program")
        for argv, code in ((["no-such-command"], "TRC120"), ([self.folder / "text"], "TRC121"), ([self.folder], "TRC121")):
            with self.subTest(argv=argv), self.assertRaises(tracer.CommandError) as caught:
                tracer.run(argv)
            self.assertEqual(caught.exception.code, code)

    def test_arguments(self):
        for use in (
            lambda: tracer.run("true"), lambda: tracer.run([]), lambda: tracer.run([1]), lambda: tracer.run(["a\0b"]),
            lambda: tracer.run(["true"], cwd="/no/such"), lambda: tracer.run(["true"], timeout="1"),
            lambda: tracer.run(["true"], timeout=float("nan")), lambda: tracer.run(["true"], input="x"),
            lambda: tracer.run(["true"], input=b"x", stdin=subprocess.DEVNULL),
            lambda: tracer.run(["true"], capture_output=True, stdout=subprocess.PIPE),
            lambda: tracer.run(["true"], stdin=subprocess.PIPE), lambda: tracer.run(["true"], stdout="file"),
        ):
            with self.assertRaises(tracer.InvalidArgumentError) as caught:
                use()
            self.assertEqual(caught.exception.code, "TRC101")

    def test_without_rights(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to give up rights")
        from support import run_python

        # Files of this package may be root's alone.
        done = run_python("""
            import ctypes, os, tracer, tracer._run, tracer._session, tracer._events
            os.environ["TRACER_SOURCE"] = "kernel"
            libc = ctypes.CDLL(None)
            for number in (38, 39, 21):  # CAP_PERFMON, CAP_BPF, CAP_SYS_ADMIN
                assert libc.prctl(24, number, 0, 0, 0) == 0
            header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
            assert libc.capget(header, data) == 0
            for word, number in ((0, 21), (1, 38 - 32), (1, 39 - 32)):
                for part in range(3):
                    data[3 * word + part] &= ~(1 << number) & 0xffffffff
            assert libc.capset(header, data) == 0
            try:
                tracer.run(["samtools", "sort", "a b", "$(rm -rf out)", "; rm x", "it's"])
            except tracer.NotPermittedError as error:
                print(error.code)
                print(error.problems[0].what)
                print(error.fix)
            print(bool(tracer.check()))
        """)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "TRC102", done.stdout + done.stderr)
        self.assertIn("CAP_BPF", done.stdout)
        # It is to be pasted: a shell takes it as these words, and nothing else of that line.
        way = lines[2].partition("sudo ")[2]
        self.assertEqual(shlex.split(way), ["env", "PATH=$PATH", "tracerd", "run", "--record", "run.tracer", "--", "samtools",
                                            "sort", "a b", "$(rm -rf out)", "; rm x", "it's"])
        said = subprocess.run(["bash", "-c", "env() { printf '%s|' \"${@:3}\"; }; " + way], capture_output=True, text=True)
        self.assertEqual(said.stderr, "")
        self.assertEqual(said.stdout, "run|--record|run.tracer|--|samtools|sort|a b|$(rm -rf out)|; rm x|it's|")
        self.assertEqual(lines[3].strip(), 'and read that: tracer.read("run.tracer")')
        self.assertEqual(lines[4], "False")


if __name__ == "__main__":
    unittest.main()
