# SPDX-License-Identifier: Apache-2.0
"""Waste that a provider's own answers show, together with what was observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._format import counted
from ._finding import Finding, spoken, time_text
from ._inventory import ENDED, LIVE, Environment, Instance, Inventory
from ._rules import Rules

__all__ = ["describe", "provided", "region_of"]

_SECOND = 1_000_000
# Whose it is, the surest first; compared without case.
_OWNERS = ("owner", "user", "creator", "createdby", "created-by", "aws:createdby", "nextflow.io/username", "launched-by",
           "aws:batch:compute-environment", "awsbatchservicetag", "aws:autoscaling:groupname", "aws:ec2spot:fleet-request-id",
           "aws:ec2:fleet-id", "name")
_OF_BATCH = ("AWSBatchServiceTag", "aws:batch:compute-environment")


def owner_of(tags: Mapping[str, str]) -> str | None:
    lower = {key.lower(): (key, value) for key, value in tags.items() if value}
    return next((f"{lower[name][0]}={lower[name][1]}" for name in _OWNERS if name in lower), None)


def region_of(zone: str | None) -> str | None:
    """eu-west-1a -> eu-west-1."""
    return zone[:-1] if zone and zone[-1:].isalpha() else zone


def describe(finding: Finding, instance: Instance) -> None:
    finding.instance, finding.instance_type = instance.id, instance.type or finding.instance_type
    finding.region, finding.lifecycle = region_of(instance.zone), instance.lifecycle
    finding.started_by = owner_of(instance.tags) or finding.started_by


def provided(inventory: Inventory, machines: list[dict[str, Any]], rules: Rules, now: int | None) -> Iterator[Finding]:
    """`machines`: that were observed."""
    judge = _Judge(inventory, machines, rules, now)
    for each in (judge.floor, judge.stuck, judge.unattached, judge.draining, judge.instances, judge.nodes):
        yield from each()


class _Judge:
    def __init__(self, inventory: Inventory, machines: list[dict[str, Any]], rules: Rules, now: int | None) -> None:
        self._inventory, self._machines, self._rules, self._now = inventory, machines, rules, now

    def _limit(self, code: str, name: str = "least_s") -> int:
        return self._rules.limit(code, name) * _SECOND

    def _seen(self, looks: list[Any]) -> list[Any]:
        """In their order, up to now."""
        return sorted((each for each in looks if self._now is None or each.look <= self._now), key=lambda each: each.look)

    def _finding(self, code: str, since: int | None, until: int, certainty: str, begin: int | None = None, **facts: object) -> Finding:
        rule = self._rules.of[code]
        start = since if begin is None else begin
        said = facts | {"for": None if start is None else spoken((until - start) // _SECOND)}
        return Finding(code, machine=str(facts.get("machine") or facts.get("volume") or "") or None, since=since, until=until,
                       certainty=certainty, text=rule.say(rule.text, said), advice=rule.say(rule.advice, said),
                       evidence={key: value for key, value in facts.items() if value is not None})

    def unattached(self) -> Iterator[Finding]:
        for key, looks in self._inventory.volumes.items():
            seen = self._seen(looks)
            free = _trailing(seen, lambda each: each.state == "available")
            if not free:
                continue
            last = free[-1]
            # A volume that is made is attached to nothing at first, too.
            begin = last.created if last.created is not None else free[0].look
            if last.look - begin < self._limit("unattached"):
                continue
            found = self._finding("unattached", free[0].look, last.look, "high", begin, volume=key, size_gib=last.size_gib,
                                  created=time_text(last.created))
            found.region, found.started_by, found.share = region_of(last.zone), owner_of(last.tags), None
            yield found

    def stuck(self) -> Iterator[Finding]:
        waiting = {"batch": ("RUNNABLE",), "slurm": ("PENDING", "PD")}
        for looks in self._inventory.jobs.values():
            seen = self._seen(looks)
            held = _trailing(seen, lambda each: each.state in waiting[each.source] and each.reason is not None
                             and self._rules.is_stuck(each.source, each.reason))
            if not held or held[-1].look - held[0].look < self._limit("stuck", "between_looks_s"):
                continue
            last = held[-1]
            young = self._youngest(last.look)
            # Reasons are the same while a machine boots.
            if young is not None and last.look - young < self._limit("stuck", "youngest_machine_s"):
                continue
            since = last.submitted if last.submitted is not None else held[0].look
            checked = last.source == "slurm" or (bool(self._inventory.instances) and "Reservations" not in self._inventory.partial)
            found = self._finding("stuck", since, last.look, "high" if checked else "medium", job=last.name or last.id, job_id=last.id,
                                  reason=last.reason, queue=last.queue, first_look=time_text(held[0].look))
            found.task, found.started_by, found.share = last.name or last.id, last.user, None
            yield found

    def _youngest(self, until: int) -> int | None:
        times = [each.launched for looks in self._inventory.instances.values() for each in looks
                 if each.launched is not None and each.state in ("pending", "running") and each.launched <= until]
        times += [each.booted for looks in self._inventory.nodes.values() for each in looks
                  if each.booted is not None and each.booted <= until]
        return max(times, default=None)

    def draining(self) -> Iterator[Finding]:
        for of_ecs, places in ((True, self._inventory.containers), (False, self._inventory.nodes)):
            for name, looks in places.items():
                held = _trailing(self._seen(looks), lambda each: each.draining and (not of_ecs or bool(each.tasks)))
                if not held:
                    continue
                last = held[-1]
                since = last.since if last.since is not None else held[0].look
                if last.look - since < self._limit("draining"):
                    continue
                found = self._finding("draining", since, last.look, "high", machine=name, tasks=last.tasks if of_ecs else "some",
                                      reason=last.reason)
                if of_ecs:
                    self._describe(found, name)
                else:
                    found.host, found.share = name, None
                yield found

    def _describe(self, found: Finding, key: str) -> None:
        found.instance = key
        if seen := self._seen(self._inventory.instances.get(key, [])):
            describe(found, seen[-1])

    def instances(self) -> Iterator[Finding]:
        registered = {key for key, looks in self._inventory.containers.items() if self._seen(looks)}
        looks = [look for look in self._inventory.container_looks if self._now is None or look <= self._now]
        complete = bool(looks) and "containerInstances" not in self._inventory.partial
        for key, all_looks in self._inventory.instances.items():
            seen = self._seen(all_looks)
            if not seen or seen[-1].state != "running":
                continue
            last = seen[-1]
            if last.launched is None:
                self._inventory.notes.append(f"{key}: it has no LaunchTime, and is not judged")
                continue
            if complete and key not in registered and any(tag in last.tags for tag in _OF_BATCH):
                until = min(last.look, max(looks))
                if until - last.launched >= self._limit("not-registered"):
                    found = self._finding("not-registered", last.launched, until, "high", machine=key,
                                          launched=time_text(last.launched))
                    describe(found, last)
                    yield found
                    continue
            yield from self._unobserved(key, last)

    def _unobserved(self, key: str, instance: Instance) -> Iterator[Finding]:
        launched = instance.launched or 0
        ends = [each["last"] for each in self._machines if each["last"] is not None and (
            each["instance"] == key or (instance.dns and each["host_name"] and _short(instance.dns) == _short(each["host_name"])))]
        ends = [end for end in ends if end > launched]
        since = max(ends, default=launched)
        if instance.look - since < self._limit("unobserved"):
            return
        found = self._finding("unobserved", since, instance.look, "high", machine=key, launched=time_text(launched),
                              last_seen=time_text(since) if ends else None)
        describe(found, instance)
        # Nothing says that it is wasted.
        found.share = None
        yield found

    def nodes(self) -> Iterator[Finding]:
        watched = {_short(str(each["host_name"])): each["last"] for each in self._machines if each["host_name"]}
        for name, looks in self._inventory.nodes.items():
            seen = self._seen(looks)
            if not seen or not seen[-1].up:
                continue
            last = seen[-1]
            end = watched.get(_short(name))
            begins = [each for each in (end, last.booted) if each is not None] or [seen[0].look]
            if last.look - max(begins) < self._limit("unobserved"):
                continue
            found = self._finding("unobserved", max(begins), last.look, "high", machine=name, last_seen=time_text(end))
            found.host, found.share = name, None
            yield found

    def floor(self) -> Iterator[Finding]:
        for environment in self._inventory.environments.values():
            if environment.min_vcpus <= 0 or environment.state != "ENABLED" or "FARGATE" in (environment.type or ""):
                continue
            queues = [queue for queue in self._inventory.queues.values() if environment.name in queue.environments]
            if not self._inventory.queues or "jobQueues" in self._inventory.partial:
                self._inventory.notes.append(f"{environment.name} keeps {counted(environment.min_vcpus, 'vCPU')}; whether its queues are empty "
                                             "is not known: describe-job-queues is missing")
                continue
            spans = [self._empty(queue.name) for queue in queues]
            missing = [queue.name for queue, span in zip(queues, spans) if span is None]
            if missing:
                self._inventory.notes.append(f"{environment.name} keeps {counted(environment.min_vcpus, 'vCPU')}; {', '.join(missing)}: list-jobs "
                                             f"of some of {', '.join(LIVE)} is missing")
                continue
            known = [span for span in spans if span is not None]
            since = max((span[0] for span in known), default=environment.look)
            until = min((span[1] for span in known), default=environment.look)
            if queues and (until - since < self._limit("floor")):
                continue
            yield self._floor(environment, since, until, [queue.name for queue in queues])

    def _floor(self, environment: Environment, since: int, until: int, queues: list[str]) -> Finding:
        found = self._finding("floor", since, until, "high", environment=environment.name, min_vcpus=environment.min_vcpus,
                              desired_vcpus=environment.desired_vcpus, queues=", ".join(queues) or None)
        found.machine, found.started_by = environment.name, owner_of(environment.tags)
        kinds = environment.instance_types
        # Families and "optimal" say nothing of the price.
        found.instance_type = kinds[0] if len(kinds) == 1 and "." in kinds[0] else None
        found.region = environment.arn.split(":")[3] if environment.arn and environment.arn.count(":") >= 5 else None
        found.lifecycle = "spot" if environment.type == "SPOT" else None
        return found

    def _empty(self, queue: str) -> tuple[int, int] | None:
        """Since when, until when it was empty; the same twice: it is not. None: some states were not looked at."""
        begins, ends = [], []
        # A file that names no queue is of this one only where there is no other.
        names = (queue, None) if len(self._inventory.queues) == 1 else (queue,)
        for state in LIVE:
            looks = sorted((look, count) for (of, each), listed in self._inventory.listings.items()
                           if each == state and of in names
                           for look, count in listed if self._now is None or look <= self._now)
            if not looks:
                return None
            empty = _trailing(looks, lambda each: each[1] == 0)
            if not empty:
                return looks[-1][0], looks[-1][0]
            begins.append(empty[0][0])
            ends.append(empty[-1][0])
        since = max(begins)
        # The last end of a job, where all that ended were listed.
        if all((queue, state) in self._inventory.listings for state in ENDED) and "jobSummaryList" not in self._inventory.partial:
            stops = [job.stopped for looks in self._inventory.jobs.values() for job in looks
                     if job.source == "batch" and job.stopped is not None and job.queue in names]
            since = min(max(stops, default=since), since)
        return since, min(ends)


def _trailing(looks: list[Any], fits: Any) -> list[Any]:
    """The last ones, all of which fit."""
    found: list[Any] = []
    for each in reversed(looks):
        if not fits(each):
            break
        found.insert(0, each)
    return found


def _short(name: str) -> str:
    return name.split(".", 1)[0].lower()
