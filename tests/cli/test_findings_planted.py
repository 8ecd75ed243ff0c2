# SPDX-License-Identifier: Apache-2.0
"""Programs that are slow in one known way, each in three variants: what is said first of each is that way."""

import collections
import json
import os
import shutil
import subprocess

import another_machine
import support
from support import TRACERD, of_kind

# Not one behind a shim, which begins processes of its own.
PYTHON = "/usr/bin/python3"
LONGEST_SECONDS = 300

CONVOY = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int turn, threads;
static const char *kind;
static double end;
static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}
/* By its own CPU time: as much work on a machine that others use, too. */
static void work(void) {
  double until = now(CLOCK_THREAD_CPUTIME_ID) + 0.0005;
  while (now(CLOCK_THREAD_CPUTIME_ID) < until) {}
}
static void *run(void *place) {
  int me = (int)(long)place;
  while (now(CLOCK_MONOTONIC) < end) {
    if (!strcmp(kind, "turns")) { /* one after the other */
      pthread_mutex_lock(&mutex);
      while (turn != me && now(CLOCK_MONOTONIC) < end) pthread_cond_wait(&turned, &mutex);
      work();
      turn = (me + 1) % threads;
      pthread_cond_broadcast(&turned);
      pthread_mutex_unlock(&mutex);
    } else if (!strcmp(kind, "semaphore")) {
      sem_wait(&semaphore);
      work();
      sem_post(&semaphore);
      sched_yield();
    } else { /* a lock that is passed on, as it is let go of for a moment */
      pthread_mutex_lock(&mutex);
      work();
      pthread_mutex_unlock(&mutex);
      struct timespec pause = {0, 1000};
      nanosleep(&pause, 0);
    }
  }
  pthread_mutex_lock(&mutex);
  turn = (turn + 1) % threads;
  pthread_cond_broadcast(&turned);
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(int count, char **words) {
  pthread_t all[64];
  (void)count;
  kind = words[1];
  threads = atoi(words[2]);
  sem_init(&semaphore, 0, 1);
  end = now(CLOCK_MONOTONIC) + atoi(words[3]);
  for (long i = 0; i < threads; ++i) pthread_create(&all[i], 0, run, (void *)i);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], 0);
  /* One of them could run all the time. */
  double ran = now(CLOCK_PROCESS_CPUTIME_ID) / atof(words[3]);
  if (ran < 0.65) fclose(fopen(words[4], "w"));
  return 0;
}
"""
SERVER = """
import socket, sys, threading, time
listener = socket.create_server(("10.231.8.2", 0))
print(listener.getsockname()[1], flush=True)
def serve(peer):
    kind = peer.recv(1)
    if kind == b"a":  # answers late
        while peer.recv(1):
            time.sleep(1)
            peer.sendall(b"x")
    elif kind == b"d":  # a little now and then
        try:
            while True:
                peer.sendall(b"x" * 1000)
                time.sleep(0.2)
        except OSError: pass
    elif kind == b"s":  # says nothing for long
        time.sleep(14)
    elif kind == b"q":  # fast, and then slow
        try:
            end = time.monotonic() + 14
            while time.monotonic() < end:
                peer.sendall(b"x" * 500_000)
                time.sleep(0.1)
            while True:
                peer.sendall(b"x" * 2_000)
                time.sleep(0.1)
        except OSError: pass
    peer.close()
while True:
    peer, _ = listener.accept()
    threading.Thread(target=serve, args=(peer,), daemon=True).start()
"""
CLIENT = """
import socket, sys, time
kind, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
peer = socket.create_connection(("10.231.8.2", port))
peer.sendall(kind.encode())
end = time.monotonic() + seconds
if kind == "a":
    while time.monotonic() < end:
        peer.sendall(b"x")
        peer.recv(1)
else:
    while time.monotonic() < end and peer.recv(1 << 20): pass
"""
READ_AGAIN = """
import sys, time
end = time.monotonic() + 11
for _ in range(4):
    with open(sys.argv[1], "rb") as file:
        while file.read(1 << 20): pass
while time.monotonic() < end: time.sleep(0.1)
"""
PIECES = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static double ran(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}
int main(int count, char **words) {
  char data[16] = {0};
  int ends[2];
  int file = open(words[3], O_RDWR | O_CREAT, 0600);
  int null = open("/dev/null", O_WRONLY);
  int zero = open("/dev/zero", O_RDONLY);
  (void)count;
  if (pipe(ends)) return 1;
  /* By its own CPU time, however many others there are. */
  while (ran() < atof(words[2])) {
    for (int i = 0; i < 1000; ++i) {
      ssize_t done = !strcmp(words[1], "file") ? pwrite(file, data, 16, 0)
                     : !strcmp(words[1], "null") ? write(null, data, 2)
                     : !strcmp(words[1], "zero") ? read(zero, data, 4)
                     : write(ends[1], data, 8) == 8 ? read(ends[0], data, 8) : -1;
      if (done < 1) return 1;
    }
  }
  return 0;
}
"""
# So many processes at once; says how much of a CPU each second it got of them together.
MANY = """
import os, sys, time
count, seconds, said = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
begin = time.monotonic()
def burn():
    while time.monotonic() < begin + seconds: pass
children = []
for _ in range(count - 1):
    child = os.fork()
    if child == 0:
        burn()
        os._exit(0)
    children.append(child)
burn()
for child in children: os.waitpid(child, 0)
times = os.times()
with open(said, "w") as file:
    file.write(str((times.user + times.system + times.children_user + times.children_system) / (time.monotonic() - begin)))
"""
# Likewise threads, and then one alone: for a time by its own clock, or by CPU time of the thread.
THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double end;
static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}
static void *burn(void *nothing) {
  while (now(CLOCK_MONOTONIC) < end) {}
  return nothing;
}
int main(int count, char **words) {
  pthread_t all[64];
  int threads = atoi(words[1]);
  double begin = now(CLOCK_MONOTONIC), seconds = atof(words[2]);
  (void)count;
  end = begin + seconds;
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], 0, burn, 0);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], 0);
  FILE *said = fopen(words[3], "w");
  fprintf(said, "%f", now(CLOCK_PROCESS_CPUTIME_ID) / (now(CLOCK_MONOTONIC) - begin));
  fclose(said);
  end = now(CLOCK_MONOTONIC) + atof(words[4]);
  burn(0);
  return 0;
}
"""
# One process asks the device for all that it can give, past the cache, until the file `done` is there.
HOG = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
size = os.fstat(file).st_size
room, at = mmap.mmap(-1, 16 << 20), 0
while not os.path.exists(sys.argv[2]):
    os.preadv(file, [room], at)
    at = (at + (16 << 20)) % size
"""
# Waits for storage until that was 7 s and 45 % of its time, by the kernel's own count; 3: others use this machine too much.
WAITER = """
import mmap, os, random, sys, time
kind, path = sys.argv[1:]
flags = {"reads": os.O_RDONLY | os.O_DIRECT, "writes": os.O_RDWR | os.O_CREAT | os.O_DSYNC, "syncs": os.O_RDWR | os.O_CREAT}
file = os.open(path, flags[kind], 0o600)
room = mmap.mmap(-1, 4096)
def queued():
    with open("/proc/thread-self/schedstat") as stat: return int(stat.read().split()[1]) / 1e9
def busy():
    device = os.stat(path).st_dev
    with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat") as stat: return int(stat.read().split()[9]) / 1e3
begin, line, cpu, before = time.monotonic(), queued(), time.thread_time(), busy()
while True:
    for _ in range(16):
        if kind == "reads": os.preadv(file, [room], random.randrange(1 << 14) * 4096)
        elif kind == "writes": os.pwrite(file, b"x" * 4096, random.randrange(64) * 4096)
        else: os.pwrite(file, b"x" * 4096, 0), os.fsync(file)
    took = time.monotonic() - begin
    waited = took - (time.thread_time() - cpu) - (queued() - line)
    if took > 13 and waited > 7 and waited > 0.45 * took: break
    if took > 40: sys.exit(3)
if busy() - before < 0.7 * took: sys.exit(3)
"""
BURN = "import time\nend = time.monotonic() + 18\nwhile time.monotonic() < end: pass"
WAIT_FOR_LOCK = "import sys, threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire(timeout=float(sys.argv[1]))"


class Planted(support.TestCase):
    def found(self, tasks, at_once=True, options=()):
        """Runs a command for each name as a task; of each, its last findings, the worst first."""
        lines = [f"{TRACERD} task --step planted --name {name} -- {command}{' &' if at_once else ''}"
                 for name, command in tasks.items()]
        recording = self.path("r.tracer")
        result = subprocess.run([TRACERD, "run", "--no-history", "--record", recording, *options, "--", "bash", "-c",
                                 "\n".join([*lines, "wait", "true"])], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LONGEST_SECONDS,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        made = subprocess.run([TRACERD, "why", "--json", recording], stdout=subprocess.PIPE, text=True, check=True)
        by_task = collections.defaultdict(list)
        for finding in json.loads(made.stdout)["findings"]:
            by_task[finding.get("task")].append(finding)
        return by_task

    def check(self, code, tasks, beside=(), **more):
        """Of each task, `code` is said, and nothing else with high confidence but what is true as well."""
        found = self.found(tasks, **more)
        for name in tasks:
            with self.subTest(name):
                codes = [finding["code"] for finding in found[name]]
                self.assertIn(code, codes)
                certain = {finding["code"] for finding in found[name] if finding["confidence"] == "high"}
                self.assertLessEqual(certain, {code, *beside}, found[name])
        return found

    def figures(self, findings, code):
        finding, = [each for each in findings if each["code"] == code]
        return {each["name"]: each.get("value", each.get("text")) for each in finding["evidence"]}


class Threads(Planted):
    ALONE = "it takes all CPUs"

    def test_a_convoy_of_locks(self):
        if not shutil.which("cc"):
            self.skipTest("needs a C compiler")
        program = self.path("convoy")
        subprocess.run(["cc", "-O1", "-pthread", "-o", program, self.write("convoy.c", CONVOY)], check=True)
        tasks = {kind: f"{program} {kind} {threads} 13 {self.path(kind)}" for kind, threads in
                 (("turns", 4), ("semaphore", 6), ("mutex", 8))}
        found = self.found(tasks, at_once=False)
        # Where others had the CPUs, it is not its locks that hold it up.
        held_up = [kind for kind in tasks if os.path.exists(self.path(kind))]
        for kind in tasks:
            codes = [each["code"] for each in found[kind]]
            with self.subTest(kind):
                self.assertEqual(codes, [] if kind in held_up else ["lock_convoy"])
        if "turns" not in held_up:
            # The first thread waits for them all.
            self.assertEqual(self.figures(found["turns"], "lock_convoy")["threads"], 5)
        if held_up:
            self.skipTest(f"others have the CPUs of this machine: {', '.join(held_up)}")

    def test_data_in_tiny_pieces(self):
        if not shutil.which("cc"):
            self.skipTest("needs a C compiler")
        program = self.path("pieces")
        subprocess.run(["cc", "-O1", "-o", program, self.write("pieces.c", PIECES)], check=True)
        known = {"file": (16, "wrote"), "pipe": (8, "read"), "null": (2, "wrote"), "zero": (4, "read")}
        tasks = {kind: f"{program} {kind} 7 {self.path('out')}" for kind in known}
        found = self.check("tiny_io", tasks)
        for kind, (bytes_per_call, direction) in known.items():
            figures = self.figures(found[kind], "tiny_io")
            self.assertEqual(figures["bytes_per_call"], bytes_per_call)
            self.assertEqual(figures["direction"], direction)
            self.assertGreaterEqual(figures["calls"], 1_000_000)


class Cpus(Planted):
    def setUp(self):
        if not shutil.which("cc"):
            self.skipTest("needs a C compiler")
        super().setUp()
        self.cpus = len(os.sched_getaffinity(0))
        self.threads = self.path("threads")
        subprocess.run(["cc", "-O1", "-pthread", "-o", self.threads, self.write("threads.c", THREADS)], check=True)
        self.many = f"{PYTHON} {self.write('many.py', MANY)}"

    def got(self, *names):
        """How many CPUs the programs of these names used together."""
        got = 0.0
        for name in names:
            with open(self.path(name), encoding="ascii") as file:
                got += float(file.read())
        return got

    def test_more_at_once_than_cpus_beside_a_neighbor(self):
        """The one is to blame, and its neighbor suffers."""
        lone = f"{self.many} 1 22"
        blamed = {"processes": f"{self.many} {4 * self.cpus} 20 {self.path('processes')}",
                  "threads": f"{self.threads} {4 * self.cpus} 20 {self.path('threads.got')} 0",
                  "shell": f"sh -c 'for i in $(seq {4 * self.cpus}); do {self.many} 1 20 {self.path('shell')}$i & done; wait; true'"}
        said = {"processes": ["processes"], "threads": ["threads.got"], "shell": [f"shell{i + 1}" for i in range(4 * self.cpus)]}
        shown = 0
        for name, command in blamed.items():
            with self.subTest(name):
                found = self.found({name: command, "neighbor": f"{lone} {self.path('neighbor')}"})
                certain = {finding["code"] for finding in found[name] if finding["confidence"] == "high"}
                self.assertLessEqual(certain, {"oversubscribed"})
                self.assertNotIn("oversubscribed", [finding["code"] for finding in found["neighbor"]])
                if self.got(*said[name]) < 0.82 * os.cpu_count():
                    continue
                shown += 1
                self.assertEqual([finding["code"] for finding in found[name]], ["oversubscribed"])
                self.assertEqual(self.figures(found[name], "oversubscribed")["cpus"], str(os.cpu_count()))
        if shown == 0:
            self.skipTest("others have the CPUs of this machine")

    def test_several_want_more_than_there_is(self):
        """None of them alone wants more than there is."""
        tasks = {"processes": f"{self.many} {self.cpus} 24 {self.path('processes')}",
                 "threads": f"{self.threads} {self.cpus} 24 {self.path('threads.got')} 0",
                 "lone": f"{self.many} 1 24 {self.path('lone')}"}
        found = self.found(tasks)
        codes = {name: [finding["code"] for finding in found[name]] for name in tasks}
        for name in tasks:
            self.assertLessEqual(set(codes[name]), {"cpu_contention"}, name)
        if self.got("processes", "threads.got", "lone") < 0.85 * os.cpu_count():
            self.skipTest("others have the CPUs of this machine")
        self.assertEqual(codes, {name: ["cpu_contention"] for name in tasks})

    def test_a_tail_that_one_cpu_works_on(self):
        """Many at once, each at a time of its own, and then one for a minute, all at the same time."""
        if os.cpu_count() < 2:
            self.skipTest("needs 2 CPUs")
        burn, said = self.write("tail.py", BURN.replace("18", "72")), {name: self.path(name) for name in ("processes", "shell")}
        tasks = {"processes": f"sh -c '{self.many} {self.cpus} 12 {said['processes']}; sleep 28; {PYTHON} {burn}; true'",
                 "shell": f"sh -c 'sleep 13; for i in $(seq {self.cpus}); do {self.many} 1 12 {said['shell']}$i & done; wait; sleep 14; {PYTHON} {burn}; true'",
                 "threads": f"sh -c 'sleep 26; exec {self.threads} {self.cpus} 12 {self.path('threads.got')} 72'",
                 "parallel": f"sh -c '{PYTHON} {burn} & {PYTHON} {burn} & wait; true'"}
        # What computes all the time takes CPUs from the others: after them.
        found = self.found({name: tasks[name] for name in ("processes", "shell", "threads")})
        parallel = self.found({"parallel": tasks["parallel"]})
        self.assertNotIn("serial_tail", [finding["code"] for finding in parallel["parallel"]])
        got = {"processes": ["processes"], "shell": [f"shell{i + 1}" for i in range(self.cpus)], "threads": ["threads.got"]}
        shown = [name for name in got if self.got(*got[name]) >= 0.97 * self.cpus]
        for name in shown:
            with self.subTest(name):
                self.assertIn("serial_tail", [finding["code"] for finding in found[name]])
                self.assertGreaterEqual(self.figures(found[name], "serial_tail")["tail_ns"], 60_000_000_000)
        if not shown:
            self.skipTest("others have the CPUs of this machine")


class Disks(Planted):
    def test_a_neighbor_keeps_the_disk_busy(self):
        device = os.stat(self.folder).st_dev
        if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"):
            self.skipTest("the folder of the tests is on no disk")
        big, done = self.path("big"), self.path("done")
        with open(big, "wb") as file:
            for _ in range(256):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        waiter = self.write("waiter.py", WAITER)
        kinds = {"reads": big, "writes": self.path("w"), "syncs": self.path("s")}
        tasks = {kind: f"sh -c '{PYTHON} {waiter} {kind} {path}; echo $? > {self.path(kind)}.status'" for kind, path in kinds.items()}
        tasks["hog"] = f"{PYTHON} {self.write('hog.py', HOG)} {big} {done}"
        watch = f"sh -c 'until [ -e {self.path('reads')}.status ] && [ -e {self.path('writes')}.status ] && " \
                f"[ -e {self.path('syncs')}.status ]; do sleep 0.2; done; : > {done}'"
        found = self.found(tasks | {"watch": watch}, options=("--families", "waits,snapshots,files,disks"))
        shown = 0
        for kind in kinds:
            with open(self.path(kind) + ".status", encoding="ascii") as file:
                status = int(file.read())
            self.assertIn(status, (0, 3))
            certain = {finding["code"] for finding in found[kind] if finding["confidence"] == "high"}
            self.assertLessEqual(certain, {"disk_wait"}, kind)
            if status == 3:
                continue
            shown += 1
            with self.subTest(kind):
                self.assertIn("disk_contention", [finding["code"] for finding in found[kind]])
                self.assertIn("hog", self.figures(found[kind], "disk_contention")["neighbor_task"])
        self.assertNotIn("disk_contention", [finding["code"] for finding in found["hog"]])
        if shown == 0:
            self.skipTest("others use this machine, or its disk, too much")


class Files(Planted):
    def test_a_file_is_read_again(self):
        data = self.path("reads.fq")
        with open(data, "wb") as file:
            file.truncate(300 << 20)
        script = self.write("again.py", READ_AGAIN)
        tasks = {"cat": f"sh -c 'for i in 1 2 3 4; do cat {data}; done > /dev/null; sleep 11'",
                 "python": f"{PYTHON} {script} {data}",
                 "tools": f"sh -c 'md5sum {data}; wc -l {data}; cksum {data}; sha1sum {data}; sleep 11; true'"}
        found = self.check("read_again", tasks, beside=("disk_wait",))
        for name in tasks:
            figures = self.figures(found[name], "read_again")
            self.assertEqual((figures["path"], figures["size_bytes"], figures["times"]), (data, 300 << 20, 4))

    def test_a_limit_of_memory(self):
        """In a cgroup of v1, who writes waits until the kernel has freed pages by writing them; v2 slows it before."""
        group = f"/sys/fs/cgroup/memory/tracer-planted-{os.getpid()}"
        try:
            os.mkdir(group)
            self.addCleanup(os.rmdir, group)
            with open(f"{group}/memory.limit_in_bytes", "w", encoding="ascii") as file:
                file.write(str(24 << 20))
        except OSError as error:
            self.skipTest(f"no cgroup of v1 with a limit of memory can be made: {error}")
        with open(self.path("big"), "wb") as file:
            file.truncate(300 << 20)
        inside = f"sh -c 'echo $$ > {group}/cgroup.procs; end=$(($(date +%s) + 14)); while [ $(date +%s) -lt $end ]; do "
        tasks = {"dd": inside + f"dd if=/dev/zero of={self.path('a')} bs=1M count=300 conv=notrunc status=none; done'",
                 "cat": inside + f"cat {self.path('big')} 1<>{self.path('b')}; done'",
                 "cp": inside + f"cp --sparse=never {self.path('big')} {self.path('c')}; done'"}
        self.check("memory_pressure", tasks, at_once=False, beside=("disk_wait", "read_again"))


class Idle(Planted):
    def test_a_child_that_only_waits(self):
        lock = self.path("lock")
        holder = self.start("flock", lock, "sh", "-c", "echo; exec sleep 80", stdout=subprocess.PIPE)
        holder.stdout.readline()
        wait = self.write("wait.py", WAIT_FOR_LOCK)
        tasks = {"sleep": "sh -c 'sleep 66; true'",
                 "flock": f"sh -c 'flock -w 66 {lock} true; true'",
                 "thread": f"sh -c '{PYTHON} {wait} 66; true'"}
        silent = {"polls": "sh -c 'for i in $(seq 66); do sleep 1; done; true'",
                  "computes": f"sh -c 'sleep 66 & {PYTHON} {self.write('burn.py', BURN.replace('18', '60'))}; wait'",
                  "itself": "sleep 66"}
        found = self.found(tasks | silent)
        for name in tasks:
            with self.subTest(name):
                self.assertIn("idle_child", [each["code"] for each in found[name]])
                figures = self.figures(found[name], "idle_child")
                self.assertGreaterEqual(figures["percent"], 90)
                self.assertEqual(figures["did"], "slept" if name == "sleep" else "waited for a lock")
        for name in silent:
            with self.subTest(name):
                self.assertNotIn("idle_child", [each["code"] for each in found[name]])


class Network(another_machine.AnotherMachine, Planted):
    network = "10.231.8"
    device = "trp"
    server = SERVER

    def setUp(self):
        super().setUp()
        self.client = self.write("client.py", CLIENT)

    def test_another_machine_answers_late(self):
        tasks = {name: f"{PYTHON} {self.client} {kind} {self.port} 13" for name, kind in
                 (("answers", "a"), ("drips", "d"), ("silent", "s"))}
        self.check("network_wait", tasks)

    def test_a_transfer_that_became_slow(self):
        tasks = {name: f"{PYTHON} {self.client} q {self.port} 40" for name in ("one", "two", "three")}
        found = self.check("network_dropped", tasks, beside=("network_wait",), options=("--families", "waits,snapshots,files,network"))
        for name in tasks:
            self.assertLess(self.figures(found[name], "network_dropped")["percent"], 25)


if __name__ == "__main__":
    support.main()
