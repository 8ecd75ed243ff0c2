# SPDX-License-Identifier: Apache-2.0
"""Findings about planted failures: in scripts that hide them, a finding names the right process."""

import os
import shutil
import subprocess
import threading
import time
import unittest

import support
from support import PYTHON, of_kind

FAIL = r'''
import ctypes, os, resource, signal, sys, time
kind, place = sys.argv[1], sys.argv[2]
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print("some output\n" * 10000, flush=True)
with open(place + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(place + ".new", place)
if kind == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
elif kind == "segv":
    ctypes.string_at(0)
elif kind == "abort":
    os.abort()
elif kind == "trap":
    os.kill(os.getpid(), signal.SIGTRAP)
elif kind == "status":
    os._exit(3)
elif kind == "exception":
    raise ValueError("wrong input")
elif kind == "full":
    with open("/dev/full", "w") as file:
        file.write("x" * 100000)
elif kind == "missing":
    os.execvp("no-such-program-anywhere", ["x"])
elif kind == "forbidden":
    open("/proc/self/mem/x")
elif kind == "oom":
    held = []
    while True:
        held.append(bytearray(1 << 20))
elif kind == "stranger":
    time.sleep(60)
'''

VARIANTS = {
    "or true": "{} || true",
    "pipe": "{} | cat > /dev/null",
    "subshell": "({}; true); echo done",
    "background": "{} & wait; true",
}
KINDS = ("killed", "segv", "abort", "trap", "status", "exception", "full", "missing", "forbidden", "oom", "stranger",
         "timeout")
FAILURES = {"oom_kill", "silent_failure", "partial_output_used", "first_failure", "killed_by_timeout", "killed_by_scheduler",
            "killed_by_engine", "killed_by_user", "core_dumped", "command_not_found", "no_permission", "retried_alike", "retried_starved"}
# What the kernel or a stranger did; the rest are statuses.
ERRORS = ("segv", "oom", "stranger", "timeout")


def removed(folder):
    """True once the cgroup is gone: its last process may be on its way out."""
    try:
        os.rmdir(folder)
    except OSError:
        pass
    return not os.path.exists(folder)


class PlantedFailures(support.TestCase):
    """Twelve kinds in four scripts that hide them, each in a task of its own that ends with status 0."""

    def setUp(self):
        super().setUp()
        with open(self.path("fail.py"), "w", encoding="utf-8") as file:
            file.write(FAIL)
        self.group = None
        for memory in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            limit = "memory.limit_in_bytes" if memory.endswith("memory") else "memory.max"
            folder = os.path.join(memory, os.path.basename(self.folder))
            try:
                os.mkdir(folder)
                self.addCleanup(lambda folder=folder: support.wait_until(lambda: removed(folder), "the cgroup can be removed"))
                with open(os.path.join(folder, limit), "w", encoding="ascii") as file:
                    file.write(str(64 << 20))
            except OSError:
                continue
            self.group = folder
            break

    def place(self, kind, variant):
        return self.path(f"{kind}-{variant.replace(' ', '-')}")

    def command(self, kind, variant):
        command = f"{PYTHON} {self.path('fail.py')} {kind} {self.place(kind, variant)} 2> /dev/null"
        if kind == "oom":
            command = f"sh -c 'echo $$ > {self.group}/cgroup.procs; exec {command}'"
        if kind == "timeout":
            # Nothing that takes long to start.
            command = f"timeout 2 sh -c 'echo $$ > {self.place(kind, variant)}; exec sleep 60'"
        return VARIANTS[variant].format(command)

    def kill_strangers(self, places, over):
        left = list(places)
        while left and not over.is_set():
            for place in list(left):
                pid = support.text_of(place)
                if pid:
                    subprocess.run(["kill", "-TERM", pid], check=False)
                    left.remove(place)
            time.sleep(0.02)

    def test_each_is_found_on_the_right_process(self):
        cases = [(kind, variant) for kind in KINDS for variant in VARIANTS if kind != "oom" or self.group]
        for kind, variant in cases:
            with open(self.place(kind, variant) + ".sh", "w", encoding="utf-8") as file:
                file.write(self.command(kind, variant) + "\n")
        lines = [f"{support.TRACERD} task --step {kind} --sample {variant.replace(' ', '-')} -- "
                 f"bash {self.place(kind, variant)}.sh" for kind, variant in cases]
        with open(self.path("all.sh"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        over = threading.Event()
        killer = threading.Thread(target=self.kill_strangers,
                                  args=([self.place("stranger", each) for each in VARIANTS], over))
        killer.start()
        result, events = self.trace("bash", self.path("all.sh"))
        over.set()
        killer.join()
        self.assertEqual(result.returncode, 0, result.stderr)
        tasks = of_kind(events, "task_finish")
        self.assertEqual({task["exit_code"] for task in tasks}, {0})
        findings = of_kind(events, "finding")
        not_found = []
        for kind, variant in cases:
            pid = int(support.text_of(self.place(kind, variant)))
            of_process = [each for each in findings if each["pid"] == pid and each["severity"] != "note"
                          and each["context"]["step"] == kind]
            if not of_process:
                not_found.append((kind, variant))
            if kind in ERRORS and of_process:
                self.assertIn("error", {each["severity"] for each in of_process}, (kind, variant))
        self.assertLessEqual(len(not_found), 2, not_found)
        # Nothing else has failed.
        planted = {int(support.text_of(self.place(kind, variant))) for kind, variant in cases}
        others = [each for each in findings if each["severity"] == "error" and each["pid"] not in planted]
        self.assertEqual(others, [])
        codes = {kind: {each["code"] for each in findings if each["context"]["step"] == kind} for kind in KINDS}
        self.assertIn("core_dumped", codes["segv"])
        self.assertIn("killed_by_timeout", codes["timeout"])
        self.assertIn("killed_by_user", codes["stranger"])
        if self.group:
            self.assertIn("oom_kill", codes["oom"])
        self.assertIn("partial_output_used", codes["status"])

    def test_clean_work_has_no_failures(self):
        # With a shell between: what is inferred of a run is not what a task of its own is.
        script = self.path("clean.sh")
        around = self.path("around.sh")
        with open(around, "w", encoding="utf-8") as file:
            file.write(f"{support.TRACERD} task --step clean -- bash {script}\nbash {script}\n")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"cd {self.folder}\nPYTHON={PYTHON}\n" + r"""
grep -q nothing /etc/passwd || true
yes | head -n 1 > /dev/null
seq 100000 | sort -n | tail -n 1
test -e /nowhere || true
diff /etc/passwd /etc/group > /dev/null || true
sleep 30 & kill $!; wait
timeout 5 true
n=$(ls *.nosuch 2> /dev/null | wc -l)
x=$(cat /nonexistent 2>&1)
echo $(echo $(sh -c 'echo version 1 >&2; exit 1' 2>&1) | sed s/version//) > versions.yml
git rev-parse HEAD 2> /dev/null || echo none
mkdir /etc 2> /dev/null || true
$PYTHON -S -c 'import nosuchmodule' 2> /dev/null || true
[ -e big.gz ] || seq 2000000 | gzip -1 > big.gz
zcat big.gz | head -1
$PYTHON -S -c '
import subprocess
try:
    subprocess.check_output(["sh", "-c", "seq 100000; exit 3"])
except subprocess.CalledProcessError:
    pass
'
printf '%s\n' /etc/passwd /etc/group | xargs -n1 grep -q root
( (while true; do sleep 0.1; done) & echo $! > pid )
sh -c 'kill $(cat pid)'
true
""")
        result, events = self.trace("bash", around)
        self.assertEqual(result.returncode, 0, result.stderr)
        # How slow it is depends on who else uses this machine.
        self.assertEqual([(each["severity"], each["text"]) for each in of_kind(events, "finding")
                          if each["severity"] != "note" and each["code"] in FAILURES], [])


POOL = """
import ctypes, os, resource, sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

def work(place):
    with open(place, "w") as file:
        file.write(str(os.getpid()))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        try:
            pool.submit(work, sys.argv[1]).result()
        except BrokenProcessPool:
            print("a worker is gone")
"""
JAVA = """
public class Starts {
  public static void main(String[] words) throws Exception {
    int status = new ProcessBuilder(words).inheritIO().start().waitFor();
    System.out.println("ignored: " + status);
  }
}
"""


class OtherLanguages(support.TestCase):
    """Failures that Python and Java catch."""

    def findings_of(self, *command):
        result, events = self.trace("bash", "-c", '"$@"; true', "bash", support.TRACERD, "task", "--step", "one", "--", *command)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [each for each in of_kind(events, "finding") if each["severity"] != "note"]

    def test_a_worker_of_a_pool_that_crashes(self):
        with open(self.path("pool.py"), "w", encoding="utf-8") as file:
            file.write(POOL)
        found, = self.findings_of(PYTHON, self.path("pool.py"), self.path("pid"))
        self.assertEqual((found["code"], found["severity"]), ("core_dumped", "error"))
        self.assertEqual(found["pid"], int(support.text_of(self.path("pid"))))

    @unittest.skipUnless(shutil.which("javac"), "no javac: apt-get install default-jdk-headless")
    def test_a_child_of_java_that_fails(self):
        with open(self.path("Starts.java"), "w", encoding="utf-8") as file:
            file.write(JAVA)
        with open(self.path("fail.py"), "w", encoding="utf-8") as file:
            file.write(FAIL)
        subprocess.run(["javac", "-d", self.folder, self.path("Starts.java")], check=True)
        for kind, wanted in (("segv", ("core_dumped", "error")), ("status", ("silent_failure", "warning"))):
            place = self.path(kind)
            found, = self.findings_of("java", "-cp", self.folder, "Starts", PYTHON, self.path("fail.py"), kind, place)
            self.assertEqual((found["code"], found["severity"]), wanted)
            self.assertEqual(found["pid"], int(support.text_of(place)))


class TaskLedgers(support.TestCase):
    """Where the wall time of a task went, of tasks with a known truth."""

    def ledger(self, script):
        path = self.path("task.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        result, events = self.trace("bash", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        run = of_kind(events, "run_finish")[-1]
        ledger = run["task_ledger"]
        self.assertIsNotNone(ledger)
        causes = sum(value for name, value in ledger.items() if name not in ("wall_ns", "computing_at_most_ns"))
        self.assertEqual(ledger["wall_ns"], run["end_ns"] - run["begin_ns"])
        self.assertLessEqual(abs(causes - ledger["wall_ns"]), ledger["wall_ns"] // 100)
        return ledger

    def test_a_sleeping_producer(self):
        ledger = self.ledger("(for i in 1 2 3 4; do sleep 0.5; echo $i; done) | sort | cat > /dev/null\n")
        self.assertGreater(ledger["sleep_ns"], 1_800_000_000)
        self.assertLess(ledger["pipe_ns"], 50_000_000)

    def test_a_pipe_of_three_stages(self):
        # Each waits for the next: the task computes all the time.
        ledger = self.ledger("head -c 400M /dev/zero | gzip -1 | md5sum > /dev/null\n")
        self.assertLess(ledger["pipe_ns"], ledger["wall_ns"] // 50)
        ready = ledger["computing_ns"] + ledger["queued_ns"]
        self.assertGreater(ready, ledger["wall_ns"] * 9 // 10)

    def check_bounds(self, ledger, truth_ns, tolerance):
        """That the truth is inside of them; processes begin and end beside what is known of them."""
        self.assertLessEqual(ledger["computing_ns"], truth_ns * (1 + tolerance))
        self.assertGreaterEqual(ledger["computing_at_most_ns"], truth_ns * (1 - tolerance))

    def test_two_that_take_turns(self):
        # By the clock, so that they never compute at once: together, as long as both.
        turns = ("import sys,time\nwhile time.time() % 1 > 0.02: time.sleep(0.002)\nuntil = time.time() + 6\n"
                 "while time.time() < until:\n"
                 "    if time.time() % 1 // 0.5 != int(sys.argv[1]): time.sleep(0.005)\n"
                 "print(time.process_time())\n")
        script = self.path("turns.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(turns)
        sums = [self.path("0"), self.path("1")]
        ledger = self.ledger("".join(f"{PYTHON} {script} {i} > {sums[i]} &\n" for i in range(2)) + "wait\n")
        truth_ns = 0
        for each in sums:
            with open(each, encoding="ascii") as file:
                truth_ns += float(file.read()) * 1e9
        self.check_bounds(ledger, truth_ns, 0.1)

    def test_two_on_one_cpu(self):
        cpu = min(os.sched_getaffinity(0))
        burn = (f"taskset -c {cpu} bash -c '{PYTHON} -c \"{{0}}\" & {PYTHON} -c \"{{0}}\" & wait'\n").format(
            "import time\nwhile time.process_time() < 2: pass")
        ledger = self.ledger("exec " + burn)
        # One CPU: what both computed, one after the other.
        self.check_bounds(ledger, 4e9, 0.1)
        self.assertGreaterEqual(ledger["computing_ns"], 3_200_000_000)

    def test_fork_and_join_with_a_straggler(self):
        busy = f"{PYTHON} -c 'import time\\nwhile time.process_time() < {{}}: pass' &\n"
        ledger = self.ledger("".join(busy.format(seconds) for seconds in (0.3, 0.3, 1.5)) + "wait\n")
        ready = ledger["computing_ns"] + ledger["queued_ns"]
        self.assertGreater(ready, ledger["wall_ns"] * 9 // 10)


if __name__ == "__main__":
    support.main()
