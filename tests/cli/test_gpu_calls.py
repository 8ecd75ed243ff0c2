# SPDX-License-Identifier: Apache-2.0
"""What processes ask of a GPU's driver, by uprobes on a library that stands for NVIDIA's: a real kernel, real programs that
load it, made-up functions. No real driver has been there."""

import json
import os
import shutil
import sys
import tempfile
import time
import unittest

import support
from support import of_kind

BUILD = os.path.dirname(support.TRACERD)
FAKE = os.path.join(BUILD, "tests", "fake_cuda.so")
FEW = os.path.join(BUILD, "tests", "fake_cuda_few.so")
MIB = 1 << 20
MS = 1_000_000

# Loads the library as dlopen() finds it, and calls it as each word says: FUNCTION,ARGUMENT…; `out`: where an address goes.
CALLER = """
import ctypes, os, sys, threading, time
library = ctypes.CDLL(sys.argv[1])
out = ctypes.byref(ctypes.c_ulonglong())
def call(word):
    name, *values = word.split(",")
    return getattr(library, name)(*[out if each == "out" else ctypes.c_ulonglong(int(each)) for each in values])
for word in sys.argv[2:]:
    verb, _, rest = word.partition(":")
    if verb == "times":
        times, _, word = rest.partition(":")
        for _ in range(int(times)): call(word)
    elif verb == "threads":
        count, _, word = rest.partition(":")
        ready = threading.Barrier(int(count))
        def wait_and_call(): ready.wait(); call(word)
        threads = [threading.Thread(target=wait_and_call) for _ in range(int(count))]
        for each in threads: each.start()
        for each in threads: each.join()
    elif verb == "sleep": time.sleep(float(rest))
    elif verb == "exit": os._exit(int(rest))
    elif verb == "touch": open(rest, "w").close()
    elif verb == "until":
        while not os.path.exists(rest): time.sleep(0.01)
    elif verb == "killed":
        if os.fork() == 0: time.sleep(float(rest)); os.kill(os.getppid(), 9); os._exit(0)
    else: call(word)
"""


@unittest.skipUnless(os.path.exists(FAKE) and shutil.which("unshare"), "the fake library is not built, or no unshare")
class GpuCalls(support.TestCase):
    def setUp(self):
        super().setUp()
        # Libraries of drivers are looked for in folders of the system: one of them is another folder for tracerd here.
        self.place = tempfile.mkdtemp(prefix="tracerd-gpu-calls-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.place, True)
        os.chmod(self.place, 0o755)
        self.libraries = os.path.join(self.place, "lib")
        os.mkdir(self.libraries)
        # A copy: tracer-gpu is looked for beside it, and must not be found.
        shutil.copy(support.TRACERD, os.path.join(self.place, "tracerd"))
        self.binary = os.path.join(self.place, "in_its_place")
        with open(self.binary, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexec unshare -m sh -c 'mount --bind \"$0\" /usr/local/lib && exec \"$@\"' "
                       f"{self.libraries} {self.place}/tracerd \"$@\"\n")
        os.chmod(self.binary, 0o755)
        self.install(FAKE)
        self.library = os.path.join(self.libraries, "libcuda.so.1")

    def install(self, fake):
        new = os.path.join(self.libraries, "new")
        shutil.copy(fake, new)
        os.chmod(new, 0o644)
        os.rename(new, os.path.join(self.libraries, "libcuda.so.1"))

    def caller(self, *calls, library=None):
        return [sys.executable, "-c", CALLER, library or self.library, *calls]

    def gpu_trace(self, *words, options=(), families="gpu"):
        """The result, and the events of a recording."""
        path = self.path("trace.tracer")
        result = self.tracerd("run", "--families", families, "--record", path, *options, "--", *words, binary=self.binary)
        return result, self.dump(path)

    def use_of(self, events, calls=1):
        """The last use of each process and library, of so many."""
        last = {}
        for event in of_kind(events, "gpu_use"):
            last[event["pid"], event["library"], event["start_ns"]] = event
        self.assertEqual(len(last), calls, of_kind(events, "gpu_use"))
        return list(last.values()) if calls != 1 else next(iter(last.values()))

    def assert_sums(self, use, **sums):
        names = ("allocations", "allocated_bytes", "failed_allocations", "frees", "waits", "context_switches")
        self.assertEqual({name: use[name] for name in names}, {name: sums.get(name, 0) for name in names})

    def test_all_that_is_counted(self):
        result, events = self.gpu_trace(*self.caller(
            f"times:100:cuMemAlloc_v2,out,{MIB}", f"times:10:cuMemAllocManaged,out,{2 * MIB},1",
            "times:3:cuMemAllocPitch_v2,out,out,1000,50,4", f"times:7:cuMemAlloc_v2,out,{2 << 30}",
            "times:60:cuMemFree_v2,4096", "times:2:cuMemFree_v2,1", "times:5:cuMemFree_v2,0",
            "times:20:cuStreamSynchronize,5", "times:3:cuCtxSynchronize", "times:2:cuEventSynchronize,20",
            "times:4:cuMemcpyDtoH_v2,0,0,10", "times:6:cuCtxSetCurrent,9", "times:2:cuCtxSetCurrent,0",
            "cuCtxPushCurrent_v2,9", "cuCtxPopCurrent_v2,out", "times:1000:cuLaunchKernel,1"))
        self.assertEqual(result.returncode, 0, result.stderr)
        use = self.use_of(events)
        self.assert_sums(use, allocations=113, allocated_bytes=120 * MIB + 150_000, failed_allocations=7, frees=60, waits=29,
                         context_switches=8)
        program = of_kind(events, "process_exit")[-1]
        self.assertEqual((use["pid"], use["start_ns"]), (program["pid"], program["start_ns"]))
        self.assertEqual((use["interface"], use["library"]), ("cuda", "/usr/local/lib/libcuda.so.1"))
        # No sleep is shorter than it was asked for: 100 + 30 + 40 + 40 ms. A copy that waits in another function is one wait.
        self.assertGreaterEqual(use["wait_ns"], 210 * MS)
        self.assertLessEqual(use["wait_ns"], program["end_ns"] - program["start_ns"])
        self.assertLess(events.index(use), events.index(program))
        end = of_kind(events, "session_end")[-1]
        self.assertEqual((end["losses"], end["missing_families"]), (0, []))

    def test_waits_of_threads_are_summed(self):
        _, events = self.gpu_trace(*self.caller("threads:4:cuStreamSynchronize,200"))
        use = self.use_of(events)
        self.assert_sums(use, waits=4)
        self.assertGreaterEqual(use["wait_ns"], 800 * MS)

    def test_a_library_without_some_of_the_functions(self):
        self.install(FEW)
        _, events = self.gpu_trace(*self.caller(f"times:3:cuMemAlloc_v2,out,{MIB}", "cuMemFree_v2,4096", "cuStreamSynchronize,1"))
        self.assert_sums(self.use_of(events), allocations=3, allocated_bytes=3 * MIB, frees=1, waits=1)
        self.assertIn("uprobes on libcuda.so.1 (3 functions)", self.gpu_family()["mechanism"])

    def test_a_process_that_ends_without_freeing(self):
        result, events = self.gpu_trace(*self.caller(f"times:5:cuMemAlloc_v2,out,{MIB}", "exit:3"))
        self.assertEqual(result.returncode, 3)
        self.assert_sums(self.use_of(events), allocations=5, allocated_bytes=5 * MIB)

    def test_a_wait_that_ends_with_its_process(self):
        result, events = self.gpu_trace(*self.caller("killed:2", "threads:2:cuStreamSynchronize,60000"))
        self.assertEqual(result.returncode, 128 + 9)
        use = self.use_of(events)
        self.assert_sums(use, waits=2)
        self.assertGreater(use["wait_ns"], 0)
        caller, = [event for event in of_kind(events, "process_exit") if event["pid"] == use["pid"]]
        self.assertLessEqual(use["wait_ns"], 2 * (caller["end_ns"] - caller["start_ns"]))

    def test_two_processes(self):
        begun = self.path("begun")
        first = self.caller(f"times:3:cuMemAlloc_v2,out,{MIB}", f"touch:{begun}", "cuStreamSynchronize,100")
        second = self.caller(f"until:{begun}", f"times:4:cuMemAlloc_v2,out,{2 * MIB}")
        words = [f'{sys.executable} -c "$CALLER" {" ".join(each[3:])}' for each in (first, second)]
        os.environ["CALLER"] = CALLER
        self.addCleanup(os.environ.pop, "CALLER")
        _, events = self.gpu_trace("sh", "-c", f"{words[0]} & {words[1]}; wait")
        uses = sorted(self.use_of(events, 2), key=lambda use: use["allocations"])
        self.assert_sums(uses[0], allocations=3, allocated_bytes=3 * MIB, waits=1)
        self.assert_sums(uses[1], allocations=4, allocated_bytes=8 * MIB)
        self.assertNotEqual(uses[0]["pid"], uses[1]["pid"])

    def test_snapshots_report_what_has_grown_and_waits_under_way(self):
        _, events = self.gpu_trace(
            *self.caller(f"cuMemAlloc_v2,out,{MIB}", "sleep:0.8", "cuStreamSynchronize,1500"), families="gpu,snapshots",
            options=("--interval", "200"))
        uses = of_kind(events, "gpu_use")
        idle = [use for use in uses if use["waits"] == 0]
        self.assertEqual(len(idle), 1, "nothing new, but reported again")
        self.assert_sums(idle[0], allocations=1, allocated_bytes=MIB)
        waiting = [use for use in uses if use["waits"] == 1]
        self.assertGreaterEqual(len(waiting), 3)
        times = [use["wait_ns"] for use in waiting]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[1], times[0])
        self.assertGreaterEqual(times[-1], 1500 * MS)

    def test_a_library_that_is_replaced_while_it_is_probed(self):
        go = self.path("go")
        done = self.path("done")
        with open(self.write("steps.sh", ""), "w", encoding="utf-8") as file:
            for step, calls in enumerate((f"cuMemAlloc_v2,out,{MIB}", f"times:2:cuMemAlloc_v2,out,{MIB}")):
                file.write(f'{sys.executable} -c "$CALLER" /usr/local/lib/libcuda.so.1 {calls}\n')
                if step == 0:
                    file.write(f"touch {done}; while [ ! -e {go} ]; do sleep 0.05; done\n")
        os.environ["CALLER"] = CALLER
        self.addCleanup(os.environ.pop, "CALLER")
        path = self.path("trace.tracer")
        running = self.start(self.binary, "run", "--families", "gpu,snapshots", "--interval", "100", "--record", path, "--",
                             "sh", self.path("steps.sh"))
        support.wait_until(lambda: os.path.exists(done), "the first step ends")
        self.install(FEW)
        # The next snapshots look for libraries.
        time.sleep(1)
        with open(go, "w", encoding="ascii"):
            pass
        self.assertEqual(running.wait(timeout=support.DEADLINE_SECONDS), 0)
        # To probe the new one takes CAP_SYS_ADMIN, which tracerd has dropped by then.
        self.assert_sums(self.use_of(self.dump(path)), allocations=1, allocated_bytes=MIB)

    def test_what_finds_no_room_is_counted(self):
        _, events = self.gpu_trace(*self.caller("threads:4:cuStreamSynchronize,1000"), options=("--max-threads", "2"))
        use = self.use_of(events)
        lost = sum(loss["count"] for loss in of_kind(events, "loss") if loss["cause"] == "gpu_table_full")
        self.assertEqual((use["waits"], lost), (2, 2))

    def test_nothing_is_counted_unless_it_is_asked_for(self):
        _, events = self.gpu_trace(*self.caller(f"cuMemAlloc_v2,out,{MIB}"), families="snapshots")
        self.assertEqual(of_kind(events, "gpu_use"), [])

    def gpu_family(self):
        families = json.loads(self.tracerd("check", "--json", binary=self.binary).stdout)["families"]
        family, = [family for family in families if family["name"] == "gpu"]
        return family

    def test_check_reports_what_is_probed(self):
        family = self.gpu_family()
        self.assertTrue(family["available"])
        self.assertEqual(family["mechanism"], "experimental uprobes on libcuda.so.1 (11 functions)")
        text = self.tracerd("check", binary=self.binary).stdout
        self.assertIn("allocations and waits for GPUs, experimental, by probes on the driver's library", text)
        self.assertIn("not on those in containers' images", text)
        self.assertIn("use by process, by experimental uprobes on libcuda.so.1 (11 functions)", text)

    def test_check_reports_why_a_library_is_not_probed(self):
        with open(self.library + ".new", "w", encoding="ascii") as file:
            file.write("no library\n")
        os.rename(self.library + ".new", self.library)
        family = self.gpu_family()
        self.assertFalse(family["available"])
        text = self.tracerd("check", binary=self.binary).stdout
        self.assertRegex(text, r"gpu: .*of /usr/local/lib/libcuda\.so\.1 can't be probed")

    def test_a_process_under_a_seccomp_filter_lives_on(self):
        program = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
# Kills who makes one of the two calls that the kernel makes for whom it probes.
code = b"".join(struct.pack("HBBI", *line) for line in (
    (0x20, 0, 0, 0), (0x15, 1, 0, 335), (0x15, 0, 1, 336), (6, 0, 0, 0x80000000), (6, 0, 0, 0x7fff0000)))
buffer = ctypes.create_string_buffer(code)
class Filter(ctypes.Structure): _fields_ = [("size", ctypes.c_ushort), ("code", ctypes.c_void_p)]
library = ctypes.CDLL(sys.argv[1])
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(5, ctypes.addressof(buffer))), 0, 0) == 0
library.cuStreamSynchronize(1)
os._exit(7)
"""
        result, events = self.gpu_trace(sys.executable, "-c", program, self.library)
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assert_sums(self.use_of(events), waits=1)


if __name__ == "__main__":
    support.main()
