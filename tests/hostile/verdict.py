# SPDX-License-Identifier: Apache-2.0
"""What a recording says of the attacker and of the worker, and whether that is enough."""

import json
import subprocess

# Causes of losses by which an event is not there at all.
HIDE_ALL = {"process_table_full", "kernel_recursion", "out_of_memory", "left_unread", "record_malformed", "file_full"}
HIDE = {
    "process_start": HIDE_ALL | {"ring_full_process_start"},
    "process_exec": HIDE_ALL | {"ring_full_process_exec"},
    "process_exit": HIDE_ALL | {"ring_full_process_exit"},
}
# docs/security.md promises it.
MOST_RESIDENT_BYTES = 512 << 20
# After a fifth of the time, and when the tables that have a bound are full, it may grow by so much.
GROWTH, GROWTH_BYTES = 1.25, 16 << 20
FULL_SECONDS = 900
MOST_SAID = 10


class Recording:
    """Of the worker: its events. Of the attacker: how many there are of each kind."""

    def __init__(self, tracerd, path, attacker, worker, stopped):
        self.counts = dict.fromkeys(HIDE, 0)
        self.of_worker, self.losses, self.end = [], {}, None
        kinds = {f'{{"kind":"{kind}"'.encode(): kind for kind in HIDE}
        attacker, worker = (f'"uid":{uid},'.encode() for uid in (attacker, worker))
        dump = subprocess.Popen([tracerd, "dump", path], stdout=subprocess.PIPE, bufsize=1 << 20)
        # There are millions, and long ones: nothing is parsed but what is looked for. The user is near the beginning.
        for line in dump.stdout:
            if line.startswith(b'{"kind":"process_'):
                head = line[:400]
                if attacker in head:
                    kind = kinds.get(head[:head.index(b",")])
                    if kind:
                        self.counts[kind] += 1
                elif worker in head:
                    self.of_worker.append(json.loads(line))
            elif line.startswith(b'{"kind":"loss"'):
                event = json.loads(line)
                self.losses[event["cause"]] = self.losses.get(event["cause"], 0) + event["count"]
            elif line.startswith(b'{"kind":"session_end"'):
                self.end = json.loads(line)
            if stopped():
                dump.kill()
        self.whole = dump.wait() == 0

    def lost(self, kind):
        return sum(count for cause, count in self.losses.items() if cause in HIDE[kind])


def of_worker(recording, done, folder, uid, cgroup):
    """What is wrong with events of the worker: `done` has the pids of its programs by name."""
    wrong = []

    def expect(what, event, **values):
        for field, value in values.items():
            if event[field] != value:
                wrong.append(f"{what}: {event['kind']} has {field} {event[field]!r}, not {value!r}")

    starts, execs, exits = {}, {}, {}
    for event in recording.of_worker:
        key = (event["pid"], event["start_ns"])
        what = (event["argv"] or ["?"])[0]
        if not (event["cgroup"] or "").endswith(cgroup):
            wrong.append(f"{what}: {event['kind']} has cgroup {event['cgroup']!r}")
        if event["kind"] == "process_start":
            starts[key] = event
        elif event["kind"] == "process_exec":
            execs[what] = event
        elif event["kind"] == "process_exit":
            exits[what] = event
    unseen = []
    for name, pid in done.items():
        event = execs.get(name)
        missing = [kind for kind, there in (("exec", event), ("exit", exits.get(name))) if not there]
        if event and (pid, event["start_ns"]) not in starts:
            missing.append("start")
        if missing:
            unseen.append(f"{name}: no {', '.join(missing)}")
            continue
        program = {"exe": f"{folder}/{name}", "argv": [name, "step " + name.split("-")[1]], "tool": name, "cwd": folder,
                   "pid": pid, "uid": uid, "start_ns": event["start_ns"]}
        expect(name, starts[pid, event["start_ns"]], uid=uid)
        expect(name, event, **program)
        expect(name, exits[name], exit_code=0, exit_signal=None, **program)
    return unseen, wrong


def of_memory(resident, seconds, most):
    """`resident`: what was used at moments of these seconds; `most` the kernel's own maximum. Also when growth began to count."""
    since = max(seconds / 5, FULL_SECONDS)
    later = resident[int(len(resident) * since / seconds):]
    early = later[0] if later else None
    wrong = []
    if later and max(later) > GROWTH * early + GROWTH_BYTES:
        wrong.append(f"memory grew from {early >> 20} to {max(later) >> 20} MiB")
    if most > MOST_RESIDENT_BYTES:
        wrong.append(f"memory of {most >> 20} MiB, {MOST_RESIDENT_BYTES >> 20} are promised")
    return since, early, wrong


def of_attacker(recording, attempted):
    """What is missing must have been counted as lost."""
    wrong = []
    for kind, number in attempted.items():
        missing = number - recording.counts[kind]
        if missing > recording.lost(kind):
            wrong.append(f"{missing - recording.lost(kind)} {kind} of the attacker were neither seen nor counted as lost")
    return wrong


def some(wrong):
    return wrong[:MOST_SAID] + ([f"and {len(wrong) - MOST_SAID} more"] if len(wrong) > MOST_SAID else [])
