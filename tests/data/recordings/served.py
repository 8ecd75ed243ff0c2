# SPDX-License-Identifier: Apache-2.0
"""A service of two users at once, whose runs and tasks have equal names: a recording of each, and one of all. In a pid
namespace of its own, so that nothing else is in it."""

import os
import shutil

from recorder import ALICE, BOB, PYTHON, TRACERD, WORK, as_user, task

SOCKET = f"{WORK}/run/t.sock"
# Announces the run that it is in by another name, labels what it begins, and reports what it did itself.
ANNOUNCE = """
import json, os, socket, subprocess, sys, time
service = socket.socket(socket.AF_UNIX)
service.connect(sys.argv[1])
lines = service.makefile("r")
def ask(name, **keys):
    service.sendall(json.dumps({"request": name, **keys}).encode() + b"\\n")
    print(name, lines.readline(), flush=True)
ask("announce", key={"pid": os.getpid()}, context={"pipeline": "shared", "run": "first", "run_id": "r1", "step": "sum", "task_id": "t1"})
subprocess.run(["sort", "-n", "-o", "sorted", "numbers"])
ask("announce", key={"pid": os.getpid()}, context={"pipeline": "shared", "run": "second", "run_id": "r2", "step": "sum", "task_id": "t1"},
    requested={"millicpus": 2000, "memory_bytes": 1 << 30})
subprocess.run(["sh", "-c", "sleep 0.5; sum sorted"])
ask("label", tid=os.getpid(), context={"step": "labeled", "task_id": "t2", "labels": {"lane": "7"}})
subprocess.run(["sh", "-c", "wc -l sorted > lines; exit " + sys.argv[2]])
begin = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
before = time.process_time_ns()
while time.process_time_ns() < before + 200_000_000: pass
ask("own_work", context={"step": "own", "task_id": "t3"},
    work={"begin_ns": begin, "end_ns": time.clock_gettime_ns(time.CLOCK_BOOTTIME), "cpu_ns": time.process_time_ns() - before})
"""
USER = f"""
cd "$1"
seq 300000 -1 1 > numbers
{PYTHON} {WORK}/announce.py {SOCKET} $2
{task("sh -c 'gzip -c sorted > packed.gz; exit '$2", "pack", sample="S1")} || true
{task("sh -c 'sleep 0.5; zcat packed.gz | tail -n 1 > last'", "last", sample="S1")}
"""
SERVICE = f"""
{TRACERD} serve --config {WORK}/t.toml &
service=$!
until {TRACERD} status --socket {SOCKET} > /dev/null 2>&1; do sleep 0.2; done
sh {WORK}/alice.sh &
sh {WORK}/bob.sh &
wait %2 %3
sleep 2
kill $service
wait $service
"""


def service(it):
    (WORK / "recordings").mkdir()
    (WORK / "run").mkdir()
    it.write("t.toml", f'schema = 1\n[socket]\npath = "{SOCKET}"\nadmin_path = "{WORK}/run/admin.sock"\n'
                       f'[recordings]\nfolder = "{WORK}/recordings"\n')
    it.write("announce.py", ANNOUNCE)
    it.write("user.sh", USER)
    for uid, name, status in ((ALICE, "alice", 0), (BOB, "bob", 7)):
        folder = WORK / name
        folder.mkdir()
        os.chown(folder, uid, uid)
        words = as_user(uid, TRACERD, "run", "--no-live", "--no-history", "--record", folder / "r.tracer", "--", "bash", f"{WORK}/user.sh",
                        folder, status)
        it.write(f"{name}.sh", f"TRACER_SOCKET={SOCKET} {' '.join(words)}\n")
    it.call("unshare", "--pid", "--fork", "--mount-proc", "bash", it.write("service.sh", SERVICE))
    for made, name in ((WORK / "alice/r.tracer", "alice"), (WORK / "bob/r.tracer", "bob"), (WORK / "recordings/host.tracer", "host")):
        shutil.copyfile(made, WORK / f"service-{name}.tracer")


RECORDINGS = (service,)
