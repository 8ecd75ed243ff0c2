# SPDX-License-Identifier: Apache-2.0
"""Asks AWS itself, read-only, by boto3: the same answers as those that are saved. Only where it is asked for."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._errors import InventoryError, MissingPackageError, Problem, RecordingError
from ._inventory import ENDED, LIVE, Inventory

__all__ = ["ACTIONS", "ask_aws", "aws_session"]

ACTIONS = ("batch:DescribeComputeEnvironments", "batch:DescribeJobQueues", "batch:ListJobs", "ec2:DescribeInstances",
           "ec2:DescribeVolumes", "ecs:DescribeContainerInstances", "ecs:ListContainerInstances")
"""All that it calls."""
# Answers are bounded: what is beyond is partial.
_MOST_PAGES = 1000


def aws_session(region: str | None) -> Any:
    """With the credentials that boto3 finds: the environment, the user's files, the instance's role."""
    try:
        import boto3  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingPackageError([Problem("TRC101", None, f"--live needs the package boto3, which can't be imported: {error}",
                                           "pip install boto3, or save answers for --inventory", "")]) from error
    return boto3.Session(region_name=region)


def ask_aws(session: Any, inventory: Inventory, save: str | None = None) -> None:
    """Adds what EC2, Batch and ECS answer. What is refused is noted, and not judged; if nothing is answered, raises
    InventoryError. `save`: a folder in which the answers are kept, for later looks at the same things."""
    asker = _Asker(session, inventory, save)
    asker.ask()
    if not asker.answered:
        raise InventoryError([Problem("TRC138", None, f"AWS has answered nothing: {asker.failures[0] if asker.failures else ''}",
                                      "check the region, and that the credentials may do what tracer sweep --policy prints", "")])


class _Asker:
    def __init__(self, session: Any, inventory: Inventory, save: str | None) -> None:
        self._session, self._inventory, self._save = session, inventory, save
        self._look = int(time.time() * 1_000_000)
        self.answered = 0
        self.failures: list[str] = []

    def ask(self) -> None:
        ec2, batch, ecs = (self._client(name) for name in ("ec2", "batch", "ecs"))
        self._all(ec2, "describe_instances", "Reservations", "instances.json")
        self._all(ec2, "describe_volumes", "Volumes", "volumes.json")
        environments = self._all(batch, "describe_compute_environments", "computeEnvironments", "environments.json")
        queues = self._all(batch, "describe_job_queues", "jobQueues", "queues.json")
        for queue in (str(each.get("jobQueueName")) for each in queues):
            for state in (*LIVE, *ENDED):
                self._all(batch, "list_jobs", "jobSummaryList", f"jobs.{queue}.{state}.json", jobQueue=queue, jobStatus=state)
        self._containers(ecs, [str(each["ecsClusterArn"]) for each in environments if each.get("ecsClusterArn")])

    def _client(self, name: str) -> Any:
        return self._guarded(name, lambda: self._session.client(name))

    def _guarded(self, what: str, call: Callable[[], Any]) -> Any:
        """None: it failed, which is noted."""
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-not-found,import-untyped,unused-ignore]

        try:
            return call()
        except (BotoCoreError, ClientError) as error:
            self.failures.append(f"{what}: {error}")
            return None

    def _all(self, client: Any, call: str, key: str, name: str, **more: str) -> list[dict[str, Any]]:
        if client is None:
            self._inventory.partial.add(key)
            return []
        found: list[dict[str, Any]] = []
        pages = self._guarded(call, lambda: iter(client.get_paginator(call).paginate(**more)))
        whole = pages is not None
        for count in range(_MOST_PAGES + 1 if whole else 0):
            page = self._guarded(call, lambda: next(pages, _END))
            if page is _END:
                break
            if page is None or count == _MOST_PAGES:
                whole = False
                break
            found += page.get(key, [])
        self._add(name, {key: found} | ({} if whole else {"nextToken": "not asked"}), whole or bool(found))
        return found

    def _add(self, name: str, document: dict[str, Any], any_answer: bool) -> None:
        self.answered += any_answer
        if not any_answer:
            self._inventory.partial |= set(document)
            self._inventory.notes.append(f"AWS: {self.failures[-1]}. The missing part is not judged")
            return
        document = json.loads(json.dumps(document, default=lambda value: value.isoformat()))
        if self._save is not None:
            self._keep(name, document)
        self._inventory.add(name, document, self._look)
        if "nextToken" in document and self.failures:
            self._inventory.notes.append(f"AWS: {self.failures[-1]}")

    def _keep(self, name: str, document: dict[str, Any]) -> None:
        folder = os.path.join(str(self._save), str(self._look // 1_000_000))
        path = os.path.join(folder, name)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
        except OSError as error:
            raise RecordingError.of("TRC114", error.errno, f"can't write {path}: {error.strerror}",
                                    "name a folder that you may write to") from None

    def _containers(self, ecs: Any, clusters: Sequence[str]) -> None:
        if not clusters or ecs is None:
            return
        document: dict[str, Any] = {"containerInstances": [], "failures": []}
        whole = True
        for cluster in clusters:
            arns: list[str] = []
            pages = self._guarded("list_container_instances",
                                  lambda: list(ecs.get_paginator("list_container_instances").paginate(cluster=cluster)))
            whole = whole and pages is not None
            for page in pages or []:
                arns += page.get("containerInstanceArns", [])
            for some in _chunks(arns, 100):
                answer = self._guarded("describe_container_instances",
                                       lambda: ecs.describe_container_instances(cluster=cluster, containerInstances=some))
                whole = whole and answer is not None
                for key in document:
                    document[key] += (answer or {}).get(key, [])
        self._add("containers.json", document | ({} if whole else {"nextToken": "not asked"}),
                  whole or bool(document["containerInstances"]))


class _End:
    """Of pages."""


_END = _End()


def _chunks(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for at in range(0, len(values), size):
        yield values[at:at + size]
