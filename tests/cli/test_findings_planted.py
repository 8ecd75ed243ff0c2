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
  (void)count;
  if (pipe(ends)) return 1;
  /* By its own CPU time, however many others there are. */
  while (ran() < atof(words[2])) {
    for (int i = 0; i < 1000; ++i) {
      ssize_t done = !strcmp(words[1], "file") ? pwrite(file, data, 16, 0)
                     : write(ends[1], data, 8) == 8 ? read(ends[0], data, 8) : -1;
      if (done < 1) return 1;
    }
  }
  return 0;
}
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
        tasks = {kind: f"{program} {kind} 7 {self.path('out')}" for kind in ("file", "pipe")}
        found = self.check("tiny_io", tasks)
        for kind, bytes_per_call in (("file", 16), ("pipe", 8)):
            figures = self.figures(found[kind], "tiny_io")
            self.assertEqual(figures["bytes_per_call"], bytes_per_call)
            self.assertGreaterEqual(figures["calls"], 1_000_000)


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
