# SPDX-License-Identifier: Apache-2.0
"""Saved answers of providers' command lines: what exists, and when somebody looked. Bounded, and tolerant of fields that are
missing or new; a partial answer says so."""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._errors import InventoryError, Problem, RecordingError
from .._format import visible

__all__ = ["ENDED", "LIVE", "Environment", "Instance", "Inventory", "Job", "Node", "Queue", "Volume", "time_of"]

MOST_BYTES = 256 << 20
LIVE = ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING")
ENDED = ("SUCCEEDED", "FAILED")
_SECOND = 1_000_000
# More than any count or size.
_MOST = 10**18


@dataclass
class Instance:
    id: str
    look: int
    type: str | None
    state: str | None
    launched: int | None
    zone: str | None
    lifecycle: str | None
    dns: str | None
    tags: Mapping[str, str]


@dataclass
class Volume:
    id: str
    look: int
    state: str | None
    created: int | None
    size_gib: int | None
    zone: str | None
    tags: Mapping[str, str]


@dataclass
class Environment:
    name: str
    arn: str | None
    look: int
    state: str | None
    status: str | None
    type: str | None
    min_vcpus: int
    desired_vcpus: int | None
    instance_types: tuple[str, ...]
    tags: Mapping[str, str]


@dataclass
class Queue:
    name: str
    arn: str | None
    environments: tuple[str, ...]


@dataclass
class Job:
    """As one look found it."""

    id: str
    look: int
    name: str | None
    state: str
    reason: str | None
    queue: str | None
    user: str | None
    submitted: int | None
    stopped: int | None
    source: str
    """"batch" or "slurm"."""


@dataclass
class Node:
    """Of Slurm, or a container instance of ECS."""

    name: str
    look: int
    draining: bool
    up: bool
    tasks: int | None
    since: int | None
    """Of the draining."""
    booted: int | None
    reason: str | None


@dataclass
class Inventory:
    instances: dict[str, list[Instance]] = field(default_factory=dict)
    volumes: dict[str, list[Volume]] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    jobs: dict[str, list[Job]] = field(default_factory=dict)
    listings: dict[tuple[str | None, str], list[tuple[int, int]]] = field(default_factory=dict)
    """(queue, state) -> looks, with how many jobs were there."""
    containers: dict[str, list[Node]] = field(default_factory=dict)
    """By the id of the EC2 instance."""
    container_looks: list[int] = field(default_factory=list)
    nodes: dict[str, list[Node]] = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)
    """Kinds of answers of which a part is missing: instances, volumes, containers …"""
    notes: list[str] = field(default_factory=list)
    _page_is_left: bool = False

    def read(self, path: str) -> None:
        """A file with one answer or several, or a folder of such files. Raises InventoryError, RecordingError."""
        if os.path.isdir(path):
            found = sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names
                           if name.endswith((".json", ".txt")))
            if not found:
                raise _error(path, "no answer (*.json, *.txt) is in it", "name a folder that has some, or files")
            for each in found:
                self.read(each)
            return
        try:
            size = os.path.getsize(path)
            look = int(os.path.getmtime(path) * _SECOND)
            if size > MOST_BYTES:
                raise _error(path, f"it has {size >> 20} MiB", f"at most {MOST_BYTES >> 20} MiB: save parts of it")
            with open(path, encoding="utf-8-sig", errors="replace") as file:
                text = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {os.strerror(error.errno or 0)}",
                                    "name a file that exists and that you may read") from None
        known = 0
        if text.lstrip()[:1] in ("{", "["):
            for document in _documents(path, text):
                known += self.add(path, document, look)
        else:
            known = self._add_text(path, text, look)
        if not known:
            first = visible(text.strip().split("\n", 1)[0], 160)
            raise _error(path, f"it is no answer that is known: {first!r}" if first else "it is empty",
                         "docs/sweep.md lists the commands whose output is read")

    def add(self, path: str, document: Any, look: int) -> int:
        """One answer, of this time; `path` says which. Returns how much of it is known."""
        if not isinstance(document, dict):
            return 0
        readers = {"Reservations": self._instances, "Instances": self._flat_instances, "Volumes": self._volumes,
                   "computeEnvironments": self._environments, "jobQueues": self._queues, "jobSummaryList": self._listing,
                   "jobs": self._jobs, "containerInstances": self._containers, "nodes": self._nodes, "sinfo": self._sinfo}
        look = time_of(document.get("last_update")) or look
        known = 0
        for key, reader in readers.items():
            if key not in document:
                continue
            if not isinstance(document[key], list):
                raise _error(path, f"{key} is no list", "save the answer again")
            known += 1
            self._page_is_left = bool(document.get("nextToken") or document.get("NextToken"))
            reader(path, [each for each in document[key] if isinstance(each, dict)], look)
            if self._page_is_left:
                self._is_partial(key, path)
        self._read_errors(path, document, [key for key in readers if document.get(key)])
        failures = document.get("failures")
        if isinstance(failures, list) and failures:
            self._is_partial("containerInstances", path, f"{len(failures)} could not be described")
        return known

    def _read_errors(self, path: str, document: dict[str, Any], kinds: list[str]) -> None:
        """Slurm writes them beside what it has, which is nothing if it refuses to answer."""
        errors = [each for each in _list(document.get("errors")) if isinstance(each, dict)]
        if not errors:
            return
        why = "; ".join(visible(str(each.get("description") or each.get("error") or "?"), 120) for each in errors[:3])
        if not kinds:
            raise _error(path, f"Slurm has answered nothing: {why}", "save the answer again, as a user who may ask")
        for kind in kinds:
            self._is_partial(kind, path, why)

    def _is_partial(self, kind: str, path: str, why: str = "nextToken is left") -> None:
        self.partial.add(kind)
        self.notes.append(f"{path}: only a part of {kind}: {why}. The missing part is not judged")

    def _instances(self, path: str, reservations: list[dict[str, Any]], look: int) -> None:
        for reservation in reservations:
            self._flat_instances(path, [each for each in _list(reservation.get("Instances")) if isinstance(each, dict)], look)

    def _flat_instances(self, path: str, instances: list[dict[str, Any]], look: int) -> None:
        for each in instances:
            if not (key := _text(each.get("InstanceId"))):
                self.notes.append(f"{path}: an instance has no InstanceId")
                continue
            self.instances.setdefault(key, []).append(Instance(
                key, look, _text(each.get("InstanceType")), _text(_dict(each.get("State")).get("Name")),
                time_of(each.get("LaunchTime")), _text(_dict(each.get("Placement")).get("AvailabilityZone")),
                _text(each.get("InstanceLifecycle")), _text(each.get("PrivateDnsName")), _tags(each.get("Tags"))))

    def _volumes(self, path: str, volumes: list[dict[str, Any]], look: int) -> None:
        for each in volumes:
            if key := _text(each.get("VolumeId")):
                self.volumes.setdefault(key, []).append(Volume(
                    key, look, _text(each.get("State")), time_of(each.get("CreateTime")), _number(each.get("Size")),
                    _text(each.get("AvailabilityZone")), _tags(each.get("Tags"))))

    def _environments(self, path: str, environments: list[dict[str, Any]], look: int) -> None:
        for each in environments:
            resources = _dict(each.get("computeResources"))
            if name := _text(each.get("computeEnvironmentName")):
                self.environments[name] = Environment(
                    name, _text(each.get("computeEnvironmentArn")), look, _text(each.get("state")), _text(each.get("status")),
                    _text(resources.get("type")), _number(resources.get("minvCpus")) or 0, _number(resources.get("desiredvCpus")),
                    tuple(filter(None, (_text(kind) for kind in _list(resources.get("instanceTypes"))))), _tags(each.get("tags")))

    def _queues(self, path: str, queues: list[dict[str, Any]], look: int) -> None:
        for each in queues:
            if name := _text(each.get("jobQueueName")):
                order = [_text(_dict(entry).get("computeEnvironment")) for entry in _list(each.get("computeEnvironmentOrder"))]
                self.queues[name] = Queue(name, _text(each.get("jobQueueArn")), tuple(_last_part(arn) for arn in order if arn))

    def _listing(self, path: str, jobs: list[dict[str, Any]], look: int) -> None:
        """Of aws batch list-jobs: it names neither its queue nor, where it is empty, its status. The file's name does."""
        name = re.fullmatch(r"(?:jobs\.)?(?:(?P<queue>[\w-]+)\.)?(?P<state>[A-Z]+)(?:\.[\w-]+)?\.json", os.path.basename(path))
        queue = name["queue"] if name else None
        if name and name["state"] in (*LIVE, *ENDED):
            # An empty page that is not the last one says nothing.
            self.listings.setdefault((queue, name["state"]), []).append((look, max(len(jobs), int(self._page_is_left))))
        for each in jobs:
            self._job(each, look, queue)

    def _jobs(self, path: str, jobs: list[dict[str, Any]], look: int) -> None:
        for each in jobs:
            if "jobId" in each:
                self._job(each, look, _last_part(_text(each.get("jobQueue")) or "") or None)
            elif "job_id" in each:
                state = each.get("job_state")
                reason = _text(each.get("state_reason"))
                state = _list(state)[0] if _list(state) else state
                self._add_job(Job(str(each["job_id"]), look, _text(each.get("name")), _text(state) or "?", reason, _text(each.get("partition")),
                                  _text(each.get("user_name")), time_of(each.get("submit_time")), time_of(each.get("end_time")),
                                  "slurm"))

    def _job(self, each: dict[str, Any], look: int, queue: str | None) -> None:
        if key := _text(each.get("jobId")):
            self._add_job(Job(key, look, _text(each.get("jobName")), _text(each.get("status")) or "?", _text(each.get("statusReason")),
                              queue, None, time_of(each.get("createdAt")), time_of(each.get("stoppedAt")), "batch"))

    def _add_job(self, job: Job) -> None:
        self.jobs.setdefault(f"{job.source} {job.id}", []).append(job)

    def _containers(self, path: str, containers: list[dict[str, Any]], look: int) -> None:
        self.container_looks.append(look)
        for each in containers:
            if key := _text(each.get("ec2InstanceId")):
                self.containers.setdefault(key, []).append(Node(
                    key, look, each.get("status") == "DRAINING", each.get("agentConnected") is not False,
                    _number(each.get("runningTasksCount")), None, time_of(each.get("registeredAt")), _text(each.get("statusReason"))))

    def _nodes(self, path: str, nodes: list[dict[str, Any]], look: int) -> None:
        for each in nodes:
            states = {str(state).upper() for state in (_list(each.get("state")) or [each.get("state")]) + _list(each.get("state_flags"))}
            self._node(_text(each.get("name")) or _text(each.get("hostname")), look, states, _number(each.get("alloc_cpus")),
                       time_of(each.get("reason_changed_at")), time_of(each.get("boot_time")), _text(each.get("reason")))

    def _sinfo(self, path: str, rows: list[dict[str, Any]], look: int) -> None:
        for each in rows:
            states = {str(state).upper() for state in _list(_dict(each.get("node")).get("state"))}
            for name in _list(_dict(each.get("nodes")).get("nodes")):
                self._node(_text(name), look, states, _number(_dict(each.get("cpus")).get("allocated")), None, None,
                           _text(_dict(each.get("reason")).get("description")))

    def _node(self, name: str | None, look: int, states: set[str], cpus: int | None, since: int | None, booted: int | None,
              reason: str | None) -> None:
        if not name:
            return
        down = {"DOWN", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "FUTURE", "UNKNOWN", "FAIL", "NOT_RESPONDING"}
        busy = bool(cpus) or bool(states & {"ALLOCATED", "MIXED", "COMPLETING", "DRAINING", "ALLOC", "MIX", "DRNG"})
        self.nodes.setdefault(name, []).append(Node(
            name, look, bool(states & {"DRAIN", "DRAINING", "DRNG"}) and busy, not states & down, cpus, since, booted, reason))

    def _add_text(self, path: str, text: str, look: int) -> int:
        """Of scontrol show node|job, or of squeue and sinfo with -o and | between the fields."""
        first = text.lstrip().split("\n", 1)[0]
        if re.match(r"(NodeName|JobId)=", first):
            for block in re.split(r"\n\s*\n|\n(?=(?:NodeName|JobId)=)", text):
                facts = re.findall(r"(\w+)=((?:[^\s=]|\s(?!\w+=)(?!\n))*)", block)
                self._block({name: value.strip() for name, value in facts}, look)
            return 1
        names = [name.strip().upper().split(":")[0] for name in first.split("|")]
        if len(names) < 2 or not {"STATE", "ST"} & set(names):
            return 0
        for number, line in enumerate(text.lstrip().split("\n")[1:], 2):
            if not line.strip():
                continue
            values = [value.strip() for value in line.split("|")]
            if len(values) != len(names):
                raise _error(path, f"line {number} has {len(values)} fields, not {len(names)}", "save the answer again")
            self._row(dict(zip(names, values)), look)
        return 1

    def _block(self, facts: dict[str, str], look: int) -> None:
        if name := facts.get("NodeName"):
            states = set(re.split(r"[+*~#!%$@^-]+", facts.get("State", "").upper()))
            since = re.search(r"@(\S+?)\]", facts.get("Reason", ""))
            self._node(name, look, states, _number(facts.get("CPUAlloc")), time_of(since[1]) if since else None,
                       time_of(facts.get("BootTime")), facts.get("Reason"))
        elif key := facts.get("JobId"):
            self._add_job(Job(key, look, facts.get("JobName"), facts.get("JobState", "?"), facts.get("Reason"), facts.get("Partition"),
                              facts.get("UserId", "").split("(")[0] or None, time_of(facts.get("SubmitTime")), None, "slurm"))

    def _row(self, facts: dict[str, str], look: int) -> None:
        if key := facts.get("JOBID"):
            self._add_job(Job(key, look, facts.get("NAME"), facts.get("STATE") or facts.get("ST") or "?", facts.get("REASON"),
                              facts.get("PARTITION"), facts.get("USER"), time_of(facts.get("SUBMIT_TIME")), None, "slurm"))
        elif name := facts.get("NODELIST") or facts.get("HOSTNAMES"):
            states = set(re.split(r"[+*~#!%$@^-]+", (facts.get("STATE") or facts.get("ST") or "").upper()))
            self._node(name, look, states, None, time_of(facts.get("TIMESTAMP")), None, facts.get("REASON"))


def _documents(path: str, text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _error(path, f"it is cut or damaged: {error}", "save the answer again") from None
        yield document


def _error(path: str, what: str, fix: str) -> InventoryError:
    return InventoryError([Problem("TRC137", None, f"{path}: {what}", fix, "")])


def time_of(value: object) -> int | None:
    """ISO 8601, seconds or milliseconds of Unix time, or as Slurm writes numbers."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    if isinstance(value, bool) or value in (None, "", 0, "Unknown", "N/A", "None"):
        return None
    if isinstance(value, (int, float)):
        # Up to the year 5138, either way.
        return int(value * 1000) if 1e11 < value < 1e14 else int(value * _SECOND) if 0 < value < 1e11 else None
    try:
        # Slurm writes local time, without a zone.
        time = datetime.datetime.fromisoformat(str(value)).astimezone(datetime.timezone.utc)
    except (ValueError, OverflowError):
        return None
    return int(time.timestamp() * _SECOND)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    if isinstance(value, dict):
        value = value.get("number")
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST else None


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _tags(value: object) -> dict[str, str]:
    """Of a list of Key and Value, or an object."""
    if isinstance(value, dict):
        return {str(key): str(each) for key, each in value.items()}
    return {str(each["Key"]): str(each.get("Value", "")) for each in _list(value) if isinstance(each, dict) and "Key" in each}


def _last_part(arn: str) -> str:
    return arn.rsplit("/", 1)[-1]
