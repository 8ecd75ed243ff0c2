# SPDX-License-Identifier: Apache-2.0
"""Runs that fail, are slow, stand still, are cut, or are traced in some other way on purpose."""

import os
import signal
import subprocess
import threading
import time

import test_findings
import test_findings_planted
import test_findings_slowness
from recorder import ALICE, ENVIRONMENT, PYTHON, TRACERD, WORK, limited, task

MANY = """
import base64, os, sys
for i in range(int(sys.argv[1])):
    text = base64.b64encode(os.urandom(2250)).decode()
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", "exec true", text], {"PATH": "/bin"}), 0)
"""
TALK = """
import os, socket
listener = socket.create_server(("127.0.0.1", 20017))
if os.fork() == 0:
    peer = socket.create_connection(("127.0.0.1", 20017))
    for _ in range(30): peer.sendall(b"x" * 10_000)
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)
    try: socket.create_connection(("127.0.0.1", 1))
    except ConnectionRefusedError: pass
    os._exit(0)
peer, _ = listener.accept()
while peer.recv(65536): pass
peer.close()
os.wait()
"""
# A little now and then.
DRIPS = """
import os, socket, time
listener = socket.create_server(("127.0.0.1", 20018))
if os.fork() == 0:
    peer = socket.create_connection(("127.0.0.1", 20018))
    while peer.recv(65536): pass
    os._exit(0)
peer, _ = listener.accept()
for _ in range(40):
    peer.sendall(b"x" * 1000)
    time.sleep(0.4)
peer.close()
os.wait()
"""
# Processes and files of all kinds, for 3 s.
WORKS = f"""
seq 200000 | sort -n -r > sorted
for sample in S1 S2; do
  {task("sh -c 'gzip -c sorted > $0.gz; sleep 0.3' $sample", "pack", sample="$sample")}
done
zcat S1.gz | md5sum > sum
mv S2.gz renamed.gz; rm S1.gz
(sleep 1; exit 3) | cat
sleep 1
false
true
"""


def demo(it):
    """scripts/demo, with less data."""
    subprocess.run([PYTHON, "/opt/examples/pipeline/make_data.py", "--out", WORK, "--genome-bases", "200000", "--reads", "6000",
                    "--samples", "2"], check=True, stdout=subprocess.DEVNULL)
    os.chown(WORK, ALICE, ALICE)
    it.run("bash", "/opt/examples/pipeline/pipeline.sh", WORK,
           options=("--pipeline", "demo", "--run", "demo-1", "--step", "align-all", "--user", ALICE))


def failures(it):
    """Tasks that end well although something in them failed: a status, signals, the OOM killer, a timeout, no such program."""
    fail = it.write("fail.py", test_findings.FAIL)
    group = limited("memory", "job", {"memory.limit_in_bytes": str(32 << 20), "memory.max": str(32 << 20)})
    it.write("into.sh", f"echo $$ > {group}/cgroup.procs\nexec {PYTHON} {fail} oom oom.pid\n")
    scripts = {kind: f"{PYTHON} {fail} {kind} {kind}.pid 2> /dev/null | cat > /dev/null\n" for kind in
               ("killed", "segv", "status", "exception", "full", "missing", "forbidden")}
    scripts |= {"oom": "sh into.sh || true\n", "timeout": "timeout 1 sleep 60 || true\n"}
    for kind, text in scripts.items():
        it.write(f"{kind}.sh", text)
    it.script("\n".join([task(f"bash {kind}.sh", kind, sample="S1") for kind in scripts] + [task("bash -c 'exit 4'", "last"), ""]))
    os.rmdir(group)


def other_failures(it):
    """No such command, one that may not be executed, and one that somebody else ends."""
    it.write("plain", "no program\n").chmod(0o644)
    killer = threading.Thread(target=kill_when_there, args=(WORK / "victim.pid",))
    killer.start()
    it.script("\n".join((task("sh -c 'no-such-command; exit 127'", "missing"), task("sh -c './plain; exit 126'", "forbidden"),
                         task("sh -c 'echo $$ > victim.new; mv victim.new victim.pid; exec sleep 30'", "victim"), "true", "")))
    killer.join()


def kill_when_there(file):
    until = time.monotonic() + 120
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(0.5)
    os.kill(int(file.read_text()), signal.SIGTERM)


def retries(it):
    """A task that fails twice alike and then is well, and one that never is."""
    it.write("flaky.sh", "echo x >> tries; [ $(wc -l < tries) -ge 3 ] || exit 5\n")
    it.write("never.sh", "exit 6\n")
    it.script((task("sh flaky.sh", "flaky", sample="S1") + " || true\n") * 3 + (task("sh never.sh", "never", sample="S2") + " || true\n") * 2)


def full_disk(it):
    """On a file system of 1 MiB."""
    (WORK / "small").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", WORK / "small"], check=True)
    it.script("cat /dev/zero > small/out || true\n" + task("sh -c 'dd if=/dev/zero of=small/more bs=64k; exit $?'", "write") + "\ntrue\n")
    subprocess.run(["umount", WORK / "small"], check=True)


def standing_still(it):
    """One that waits for data that never come, and two that wait for each other."""
    deadlock = it.write("deadlock.py", test_findings_slowness.DEADLOCK)
    os.mkfifo(WORK / "fifo")
    it.script(f"{task('timeout 65 cat fifo', 'stalled')} &\n{task(f'timeout 60 {PYTHON} {deadlock}', 'deadlock')} &\n"
              "exec 3<> fifo; wait; true\n")


def waiting(it):
    """One waits for a child that only sleeps, one for a connection; one reads a file again and again."""
    with open(WORK / "data", "wb") as file:
        file.truncate(300 << 20)
    tasks = {"idle": "sh -c 'sleep 66; true'", "drips": f"{PYTHON} {it.write('drips.py', DRIPS)}",
             "again": "sh -c 'for i in 1 2 3 4; do cat data; done > /dev/null; sleep 11'"}
    it.script("".join(task(command, step) + " &\n" for step, command in tasks.items()) + "wait\n")


def slow_pipe(it):
    """A stage that computes for long."""
    stage = it.write("stage.py", test_findings_slowness.SLOW_STAGE)
    it.script(f"cat /dev/zero | {PYTHON} {stage} | md5sum > sum\n")


def slow_locks(it):
    convoy = it.program("convoy", test_findings_planted.CONVOY)
    it.script("".join(task(f"{convoy} {kind} {threads} 13 {kind}.out", kind) + "\n" for kind, threads in (("turns", 4), ("semaphore", 6))))


def slow_pieces(it):
    """A few bytes a call."""
    pieces = it.program("pieces", test_findings_planted.PIECES)
    it.script("".join(task(f"{pieces} {kind} 6 out", kind) + "\n" for kind in ("file", "pipe")))


def slow_limit(it):
    """Three hundredths of a CPU."""
    group = limited("cpu", "job", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "3000", "cpu.max": "3000 100000"})
    busy = it.write("busy.py", test_findings_slowness.BUSY)
    it.script(f"echo $$ > {group}/cgroup.procs; {PYTHON} {busy} 1 12; true\n")
    os.rmdir(group)


def slow_storage(it):
    """Twenty writes a second."""
    device = os.stat(WORK).st_dev
    with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/uevent", encoding="ascii") as file:
        # Of a partition, its disk.
        name = next(line[8:].strip() for line in file if line.startswith("DEVNAME="))
    disk = next(disk for disk in os.listdir("/sys/block") if name.startswith(disk))
    with open(f"/sys/block/{disk}/dev", encoding="ascii") as file:
        number = file.read().strip()
    group = limited("blkio", "job", {"blkio.throttle.write_iops_device": f"{number} 20", "io.max": f"{number} wiops=20"})
    it.write("into.sh", f"echo $$ > {group}/cgroup.procs\nexec dd if=/dev/zero of=data bs=4k count=260 oflag=direct,dsync\n")
    it.script(task("sh into.sh", "write") + "; true\n")
    os.rmdir(group)


def slow_many(it):
    """More at once than CPUs, and beside it one that suffers."""
    threads = it.program("threads", test_findings_planted.THREADS)
    it.script(f"{task(f'{threads} 16 14 said 0', 'many')} &\n{task(f'{threads} 1 14 alone 0', 'alone')} &\nwait\n")


def short_processes(it):
    it.script("end=$((SECONDS + 12)); while [ $SECONDS -lt $end ]; do /bin/true; done\n")


def unusual(it):
    """Compared with earlier runs: one task is far slower and has far more memory than those."""
    it.write("work.sh", f"{PYTHON} -c 'import sys, time; held = bytearray(int(sys.argv[1]) << 20); time.sleep(float(sys.argv[2]))' $1 $2\n")
    tasks = "".join(task(f"bash work.sh {{}} {{}}", "align", sample=f"S{i}") + " &\n" for i in range(4)) + "wait\n"
    history = ("--no-live", "--history", str(WORK / "history.db"))
    for _ in range(4):
        it.call(TRACERD, "run", *history, "--pipeline", "usual", "--", "bash", it.write("run.sh", tasks.replace("{} {}", "16 0.3")))
    it.write("run.sh", tasks.replace("{} {}", "16 0.3", 3).replace("{} {}", "400 14"))
    it.call(*it.words("--pipeline", "usual", "--", "bash", WORK / "run.sh", what=("run", *history)))


def network(it):
    it.script(task(f"{PYTHON} {it.write('talk.py', TALK)}", "talk") + "\n")


def hashed_paths(it):
    talk = it.write("talk.py", TALK)
    it.script(WORKS + f"{PYTHON} {talk}\n", options=("--hash-paths",))


def system_calls(it):
    it.script(WORKS, options=("--families", "waits,snapshots,memory,files,network,containers,disks,syscalls", "--interval", "200"))


def few_families(it):
    it.script(WORKS, options=("--families", "none"))


def attached(it):
    """To what ran before."""
    work = subprocess.Popen(["bash", it.write("run.sh", "sleep 2\n" + WORKS)], cwd=WORK, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    it.call(*it.words("--pid", work.pid, what=("watch", "--no-live")))
    work.wait()


def proc(it):
    """By /proc alone, as a user without rights and without a service."""
    os.chown(WORK, ALICE, ALICE)
    it.script(WORKS, user=ALICE, TRACER_SOCKET=f"{WORK}/none")


def parts(it):
    """In two files: arguments that can't be compressed, of shells that execute something else at once."""
    it.run(PYTHON, "-c", MANY, "500", options=("--max-size", "1MiB", "--rotate", "9", "--pipeline", "many"))


def cut(it):
    """Its writer was killed, and its end is missing."""
    words = it.words("--", "bash", it.write("run.sh", "echo $$ > pid\n" + WORKS * 9))
    tracer = subprocess.Popen(words, cwd=WORK, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    time.sleep(11)
    tracer.kill()
    tracer.wait()
    # It goes on without its tracer.
    os.kill(int((WORK / "pid").read_text()), signal.SIGKILL)
    os.truncate(it.file, it.file.stat().st_size - 37)


RECORDINGS = (demo, failures, other_failures, retries, full_disk, standing_still, waiting, slow_pipe, slow_locks, slow_pieces, slow_limit,
              slow_storage, slow_many, short_processes, unusual, network, hashed_paths, system_calls, few_families, attached, proc, parts,
              cut)
