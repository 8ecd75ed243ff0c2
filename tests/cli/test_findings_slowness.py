# SPDX-License-Identifier: Apache-2.0
"""Findings about what is slow or stands still, of programs that are so on purpose."""

import contextlib
import os

import support
from support import of_kind

# Not one behind a shim, which begins dozens of processes and tasks of its own.
PYTHON = "/usr/bin/python3"
BUSY = """
import multiprocessing, sys, time
def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
if __name__ == "__main__":
    others = [multiprocessing.Process(target=burn, args=(float(sys.argv[2]),)) for _ in range(int(sys.argv[1]) - 1)]
    for each in others: each.start()
    burn(float(sys.argv[2]))
    for each in others: each.join()
"""
# Until it has waited for storage for 6 s and 40 % of its time: what it neither ran nor stood in line for a CPU, by the
# kernel's own count. 3: others use this machine too much for that.
SYNC = """
import os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
def queued():
    with open("/proc/thread-self/schedstat") as stat: return int(stat.read().split()[1]) / 1e9
begin, line = time.monotonic(), queued()
cpu = time.thread_time()
while True:
    os.pwrite(file, b"x" * 4096, 0)
    os.fsync(file)
    took = time.monotonic() - begin
    waited = took - (time.thread_time() - cpu) - (queued() - line)
    if took > 12 and waited > 6 and waited > 0.4 * took: break
    if took > 30: sys.exit(3)
"""
SLOW_STAGE = """
import sys, time
end = time.monotonic() + 13
while time.monotonic() < end:
    data = sys.stdin.buffer.read(65536)
    until = time.monotonic() + 0.05
    while time.monotonic() < until: pass
    sys.stdout.buffer.write(data)
"""
DEADLOCK = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", '''
import sys
for line in sys.stdin.buffer:
    if line == b"end" + bytes([10]): break
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.stdin.buffer.read()
'''], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for i in range(200):
    child.stdin.write(b"line" + bytes([10])); child.stdin.flush()
    child.stdout.readline()
child.stdin.write(b"end" + bytes([10])); child.stdin.flush()
child.stdout.read(1)
"""


class Slowness(support.TestCase):
    def findings(self, *command, options=()):
        """The last report of each finding, by code; all that were open are closed."""
        result, events = self.trace(*command, options=options, cwd=self.folder)
        last = {each["finding_key"]: each for each in of_kind(events, "finding")}
        for each in last.values():
            self.assertEqual(each["state"], "closed", each["text"])
        return {each["code"]: each for each in last.values()}, result

    def evidence(self, finding):
        return {each["name"]: each["value"] if each["text"] is None else each["text"] for each in finding["evidence"]}

    def test_waits_for_storage(self):
        found, result = self.findings(PYTHON, self.write("sync.py", SYNC), self.path("data"))
        if result.returncode == 3:
            self.skipTest("others have the CPUs of this machine")
        self.assertEqual(list(found), ["disk_wait"])
        finding = found["disk_wait"]
        figures = self.evidence(finding)
        self.assertEqual((finding["subject"], finding["tool"]), ("run", "sync.py"))
        self.assertGreaterEqual(figures["wait_ns"], 5_000_000_000)
        self.assertEqual(figures["percent"], figures["wait_ns"] * 100 // figures["wall_ns"])

    def test_more_at_once_than_cpus(self):
        """Where others have more than a quarter of the CPUs, the threads of the task are not to blame: tried again then."""
        cpus = len(os.sched_getaffinity(0))
        for _ in range(4):
            result, events = self.trace(PYTHON, self.write("busy.py", BUSY), str(cpus * 4), "12", cwd=self.folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            last = {each["finding_key"]: each for each in of_kind(events, "finding")}
            run, = of_kind(events, "run_finish")
            got = run["cpu_ns"] / (run["end_ns"] - run["begin_ns"]) / os.cpu_count()
            if got >= 0.8:
                break
            self.assertLessEqual({each["code"] for each in last.values()}, {"oversubscribed"} if got > 0.7 else set())
        else:
            self.skipTest("others have the CPUs of this machine")
        finding, = last.values()
        self.assertEqual((finding["code"], finding["state"]), ("oversubscribed", "closed"))
        figures = self.evidence(finding)
        self.assertEqual(figures["cpus"], str(os.cpu_count()))
        self.assertGreaterEqual(figures["percent"], 60)

    def test_more_at_once_than_the_cpus_that_it_may_use(self):
        cpu = str(min(os.sched_getaffinity(0)))
        found, result = self.findings("taskset", "-c", cpu, PYTHON, self.write("busy.py", BUSY), "4", "14")
        self.assertEqual(result.returncode, 0, result.stderr)
        # On a machine where others have this CPU, too, it is not to blame.
        self.assertLessEqual(set(found), {"oversubscribed"})
        for finding in found.values():
            self.assertEqual(self.evidence(finding)["cpus"], "1")

    def test_workers_that_a_program_pins_itself(self):
        pinned = BUSY.replace("def burn(seconds):", "def burn(seconds):\n    os.sched_setaffinity(0, {int(sys.argv[3])})")
        cpu = str(min(os.sched_getaffinity(0)))
        script = self.write("pinned.py", pinned.replace("import ", "import os, ", 1))
        found, result = self.findings(PYTHON, script, "4", "14", cpu)
        self.assertEqual(result.returncode, 0, result.stderr)
        # As above.
        self.assertLessEqual(set(found), {"oversubscribed"})
        for finding in found.values():
            figures = self.evidence(finding)
            self.assertEqual((figures["cpus"], figures["pinned_to"]), ("1", f"CPU {cpu}"))

    def test_computing_is_no_finding(self):
        found, _ = self.findings(PYTHON, self.write("busy.py", BUSY), "1", "12")
        self.assertEqual(found, {})

    def test_sleeping_is_no_finding(self):
        found, _ = self.findings("sleep", "12")
        self.assertEqual(found, {})

    def limited_group(self):
        """A cgroup with a tenth of a CPU, for v1 or v2: so little it gets on a busy machine, too."""
        v1 = os.path.isdir("/sys/fs/cgroup/cpu")
        group = ("/sys/fs/cgroup/cpu" if v1 else "/sys/fs/cgroup") + f"/tracer-slow-{os.getpid()}"
        try:
            os.mkdir(group)
            self.addCleanup(os.rmdir, group)
            for name, text in ((("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "10000")) if v1
                               else (("cpu.max", "10000 100000"),)):
                with open(os.path.join(group, name), "w", encoding="ascii") as file:
                    file.write(text)
        except OSError as error:
            self.skipTest(f"no cgroup with a CPU limit can be made: {error}")
        return group

    def test_limit_of_cpu_time(self):
        group = self.limited_group()
        found, _ = self.findings("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec {PYTHON} "$@"', "sh",
                                 self.write("busy.py", BUSY), "1", "12")
        self.assertEqual(list(found), ["cpu_limited"])
        figures = self.evidence(found["cpu_limited"])
        self.assertGreaterEqual(figures["percent"], 30)
        self.assertLessEqual(figures["percent"], 91)

    def test_slow_stage_of_a_pipe(self):
        stage = self.write("stage.py", SLOW_STAGE)
        found, _ = self.findings("bash", "-c", f"cat /dev/zero | {PYTHON} {stage} | md5sum > sum")
        self.assertEqual(list(found), ["pipe_bottleneck"])
        figures = self.evidence(found["pipe_bottleneck"])
        self.assertEqual(figures["bottleneck"], "stage.py")
        self.assertEqual(figures["stages"], "cat | stage.py | md5sum")
        self.assertGreaterEqual(figures["percent"], 60)

    def test_many_short_processes(self):
        found, _ = self.findings("bash", "-c", "end=$((SECONDS + 13)); while [ $SECONDS -lt $end ]; do /bin/true; done")
        self.assertIn("many_short_processes", found)
        figures = self.evidence(found["many_short_processes"])
        self.assertGreaterEqual(figures["processes"], 1000)
        self.assertEqual(figures["program"], "true")

    def living(self, code, command):
        """A finding while its command lives, which is then ended."""
        path = self.path("live.json")
        tracer = self.start(support.TRACERD, "run", "--json", path, "--", *command, cwd=self.folder,
                            stdin=support.subprocess.DEVNULL, stderr=support.subprocess.DEVNULL)

        def seen():
            return [each for each in of_kind(support.parse_lines(support.text_of(path)), "finding") if each["code"] == code]

        with contextlib.suppress(support.subprocess.TimeoutExpired):
            tracer.wait(timeout=62 if code == "stalled" else 33)
        finding = support.wait_until(seen, code)[0]
        self.assertEqual(finding["state"], "open")
        tracer.terminate()
        tracer.wait(timeout=support.DEADLINE_SECONDS)
        self.assertEqual(seen()[-1]["state"], "closed")
        return finding

    def test_stands_still(self):
        os.mkfifo(self.path("fifo"))
        finding = self.living("stalled", ["bash", "-c", "cat < fifo; true"])
        self.assertEqual((finding["subject"], finding["tool"]), ("run", "bash -c"))
        self.assertEqual(self.evidence(finding)["waits_for"], "data from a pipe")
        # The shell that opens it outlives the one that was ended: now it comes to an end of the file.
        os.close(os.open(self.path("fifo"), os.O_WRONLY | os.O_NONBLOCK))

    def test_wait_for_each_other(self):
        finding = self.living("deadlocked_pipe", [PYTHON, self.write("deadlock.py", DEADLOCK)])
        self.assertEqual(finding["subject"], "run")
        self.assertEqual(self.evidence(finding)["processes"], 2)


if __name__ == "__main__":
    support.main()
