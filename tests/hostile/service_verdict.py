# SPDX-License-Identifier: Apache-2.0
"""What must hold of a service whatever a user does: each property is a function of what was seen, and returns what is wrong."""

import collections
import json
import os
import re
import subprocess

from verdict import some

MIB = 1 << 20
# docs/security.md promises it.
MOST_RESIDENT_BYTES = 512 * MIB
# That of a busy machine with two CPUs. On a quiet one, 99 of 100 requests are answered within 100 ms.
MOST_SECONDS = 5.0
# Of the time, when the attack is over: how long a thread may run or wait for a CPU.
MOST_BUSY_AT_REST = 0.5
KINDS = ("process_start", "process_exec", "process_exit")
# Losses of a client's own stream, which read too slowly or came too late.
OF_CLIENT = {"queue_full", "living_dropped"}


class Reading:
    """What a recording or stream has of the victim, and whether names are in it that must not be. Of others: how many there are."""

    def __init__(self, tracerd, paths, victim, secrets=()):
        self.events, self.losses, self.users = [], collections.Counter(), collections.Counter()
        self.keys, self.found, self.end, self.problem = collections.defaultdict(set), collections.Counter(), None, None
        of_victim = f'"uid":{victim},'.encode()
        marks = [(secret, secret.encode()) for secret in secrets]
        for path in paths:
            if not os.path.exists(path) or os.path.getsize(path) == 0:
                continue
            with subprocess.Popen([tracerd, "dump", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=1 << 20) as dump:
                for line in dump.stdout:
                    self.read(line, of_victim, marks)
                # A stream that was cut has no end, which is said.
                problem = dump.stderr.read().decode(errors="replace")
                if dump.wait() not in (0, 1):
                    self.problem = f"{os.path.basename(path)}: dump ended with {dump.returncode}: {problem[:200]}"

    def read(self, line, of_victim, marks):
        for name, mark in marks:
            if mark in line:
                self.found[name] += 1
        kind = line[9:line.index(b'"', 9)].decode()
        if kind in KINDS:
            uid = re.search(rb'"uid":(\d+)', line[:400])
            if uid:
                self.users[kind, int(uid[1])] += 1
        if of_victim in line[:400] or kind.startswith(("container_", "task_", "run_")) or kind in ("loss", "session_end"):
            event = json.loads(line)
            if kind == "loss":
                self.losses[event["cause"]] += event["count"]
            elif kind == "session_end":
                self.end = event
            else:
                self.keep(event)

    def keep(self, event):
        context = event.get("context") or {}
        for name in ("task_key", "run_key"):
            if context.get(name):
                self.keys[name, context[name]].add(context.get("owner_uid"))
        # Those of others may be long, and are many.
        if not event["kind"].startswith(("task_", "run_")):
            self.events.append(event)


def seen(reading, programs, where):
    """Each program of the victim has one start, one exec and one exit, with its names and its task."""
    starts, ends = collections.Counter(), collections.defaultdict(list)
    execs = collections.defaultdict(list)
    for event in reading.events:
        if event["kind"] == "process_start":
            starts[event["pid"], event["start_ns"]] += 1
        elif event["kind"] in ("process_exec", "process_exit") and event["argv"]:
            (execs if event["kind"] == "process_exec" else ends)[event["argv"][0]].append(event)
    missing, wrong = [], []
    for name, (pid, task) in programs.items():
        found = {"exec": execs[name], "exit": ends[name]}
        counts = {what: len(each) for what, each in found.items()}
        if found["exit"]:
            counts["start"] = starts[pid, found["exit"][0]["start_ns"]]
        if any(count > 1 for count in counts.values()):
            wrong.append(f"{where}: {name} is there twice: {counts}")
        if not all(counts.get(what) for what in ("start", "exec", "exit")):
            missing.append(name)
            continue
        for event in (execs[name][0], ends[name][0]):
            context = event["context"] or {}
            if event["pid"] != pid or event["tool"] != name.split("-")[0] + "-tool" or context.get("task") != task:
                wrong.append(f"{where}: {event['kind']} of {name} has pid {event['pid']}, tool {event['tool']!r}, task "
                             f"{context.get('task')!r}; right are {pid} and {task!r}")
    if missing:
        wrong.append(f"{where}: {len(missing)} of {len(programs)} programs are not whole, such as {missing[0]}")
    return len(programs) - len(missing), wrong


def touched(reading, result):
    """Each file and peer of the victim is named."""
    paths = {event["path"] for event in reading.events if event["kind"] == "file_use"}
    addresses = {event["remote_address"] for event in reading.events if event["kind"] == "connection"}
    wrong = []
    for what, there, expected in (("files", paths, result["files"]), ("peers", addresses, result["peers"])):
        missing = [each for each in expected if each not in there]
        if missing:
            wrong.append(f"{len(missing)} of {len(expected)} {what} of the victim have no name, such as {missing[0]}")
    return wrong


def container(reading, number, name):
    """The victim's container has its name, at its end at the latest."""
    names = [event["name"] for event in reading.events if event["kind"].startswith("container_") and event["container_id"] == number]
    return [] if any(name in each for each in names if each) else [f"the victim's container is called {names or 'nothing: there is none'}"]


def answered(result):
    """Each request of the victim: none was refused, none had no answer, none took long."""
    wrong = [f"{name} of the victim, after {seconds:.2f} s: {why}" for name, seconds, why in result["requests"] if why]
    slow = [(seconds, name) for name, seconds, why in result["requests"] if not why and seconds > MOST_SECONDS]
    return wrong + [f"{name} of the victim took {seconds:.1f} s" for seconds, name in slow]


def private(readings, replies, granted):
    """Nobody reads a name of the other, and the attacker none of root."""
    wrong = [f"{where}: {count} lines have {mark!r}" for where, reading in readings.items() for mark, count in reading.found.items()]
    wrong += [f"a reply to the attacker has {mark!r}: {line[:300]}" for mark, line in replies]
    return wrong + [f"granted to the attacker: {line}" for line in granted]


def counted(recording, status, attempted, attackers):
    """What is missing of the attacker's processes was counted, and the losses of all users sum up to those of the service."""
    wrong = []
    lost = sum(recording.losses.values())
    there = sum(recording.users["process_exit", uid] for uid in attackers)
    if attempted - there > lost:
        wrong.append(f"{attempted - there - lost} processes of the attacker were neither seen nor counted as lost")
    if status is None:
        return wrong
    of_users = collections.Counter()
    for user in status.get("users", []):
        of_users.update(user["lost"])
    for cause, count in of_users.items():
        if count > status["losses"].get(cause, 0):
            wrong.append(f"users lost {count} by {cause}, the service {status['losses'].get(cause, 0)}")
    return wrong


def said(streams, status):
    """What streams lost in the service is in its status."""
    losses = (status or {}).get("losses", {})
    return [f"{where} lost {count} by {cause}, the status says {losses.get(cause, 0)}" for where, reading in streams.items()
            for cause, count in reading.losses.items() if cause not in OF_CLIENT and not losses.get(cause)]


def bounded(most):
    return [f"{most // MIB} MiB of memory, {MOST_RESIDENT_BYTES // MIB} are promised"] if most > MOST_RESIDENT_BYTES else []


def healthy(lives, status, busy, ended_well, log):
    """It lives, answers, rests when the attack is over, and ends when it is asked to."""
    wrong = [] if lives else ["the service has ended"]
    if status is None:
        wrong.append("the service does not answer root")
    elif (status.get("recordings") or {}).get("problem"):
        wrong.append(f"the recording has a problem: {status['recordings']['problem']}")
    if busy > MOST_BUSY_AT_REST:
        wrong.append(f"a thread of the service is busy for {busy:.0%} of the time after the attack")
    if not ended_well:
        wrong.append("the service did not end as it was asked: " + log[-300:])
    return wrong


def keys(recording, users):
    """No key of a task or run of these users is another's, too."""
    shared = {key: owners for key, owners in recording.keys.items() if len(owners) > 1 and owners & users}
    return [f"{name} {key} is of the users {sorted(map(str, owners))}" for (name, key), owners in shared.items()]


def refused(reports):
    """Nothing was granted to the attacker that must not be."""
    return sorted({each for report in reports for each in report["wrong"]})


def shown(wrong):
    return some(sorted(set(wrong), key=wrong.index))
