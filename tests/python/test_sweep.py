# SPDX-License-Identifier: Apache-2.0
"""tracer sweep: kinds of waste, planted in the days of simulated hosts and providers, are found when there is evidence, under
their names; nothing else is."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import shutil
import subprocess
import tempfile
import time
import tomllib
import unittest
from pathlib import Path
from typing import Any

import support

try:
    import duckdb  # noqa: F401

    from tracer import InvalidArgumentError, InventoryError, RulesError
    from tracer.__main__ import main
    from tracer.cost._database import connect, insert
    from tracer.sweep import Finding, sweep
    from tracer.sweep._command import FOUND, POLICY
    from tracer.sweep._inventory import Inventory, time_of
    from tracer.sweep._judge import findings_of
    from tracer.sweep._recorded import Recorded
    from tracer.sweep._rules import BUILT_IN, CODES, read_rules
except ImportError as missing:
    raise unittest.SkipTest(f"not installed: {missing.name}")

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
GIB = 1 << 30
DAY = 1_795_000_020 * SECOND  # A day in November 2026, in microseconds of Unix time.
# As soon after its evidence each must be found.
SOON = 2 * MINUTE


def iso(at: int) -> str:
    return datetime.datetime.fromtimestamp(at / SECOND, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S+00:00")


class World(unittest.TestCase):
    """Machines whose samples are made up, and answers of providers in files with the times of looks."""

    def setUp(self) -> None:
        self.connection = self.enterContext(connect())
        self.recorded = Recorded(self.connection)
        self.inventory = Inventory()
        self.folder = tempfile.mkdtemp(prefix="tracer-sweep-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.rules = read_rules()

    def machine(self, name: str = "m1", booted: int = DAY, cpus: int = 4, instance: str | None = None,
                instance_type: str = "m6i.xlarge") -> Machine:
        return Machine(self, name, booted, cpus, instance, instance_type)

    def answer(self, name: str, content: Any, look: int) -> str:
        path = os.path.join(self.folder, f"{look}")
        os.makedirs(path, exist_ok=True)
        path = os.path.join(path, name)
        Path(path).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        os.utime(path, (look / SECOND, look / SECOND))
        return path

    def look(self, name: str, content: Any, look: int) -> None:
        self.inventory.read(self.answer(name, content, look))

    def found(self, now: int) -> list[Finding]:
        return findings_of(self.recorded, self.inventory, self.rules, now)

    def codes(self, now: int) -> list[str]:
        return sorted(each.finding for each in self.found(now))

    def assert_found(self, code: str, evidence: int) -> Finding:
        """Not before there is evidence; soon after it, and nothing else."""
        self.assertEqual(self.codes(evidence - 20 * SECOND), [])
        found = self.found(evidence + SOON)
        self.assertEqual([each.finding for each in found], [code], [each.text for each in found])
        self.assertNotIn("{", found[0].text + found[0].advice)
        self.assertNotIn("?", found[0].text)
        return found[0]


class Machine:
    """Sampled every 10 s."""

    def __init__(self, world: World, name: str, booted: int, cpus: int, instance: str | None, instance_type: str) -> None:
        self.world, self.name, self.cpus, self.booted, self.at = world, name, cpus, booted, booted + 20 * SECOND
        world.connection.execute("INSERT INTO machines VALUES (?, ?, ?, ?, 'aws', ?, ?, ?, true) ON CONFLICT DO NOTHING",
                                 [name, name, instance, instance_type, booted, self.at, self.at])

    def unseen(self, until: int) -> Machine:
        """Nobody watched."""
        self.at = until
        return self

    def does(self, until: int, tasks: int = 0, cpus: float = 0.0, system_millicpus: float = 20, memory: float = 0.0) -> Machine:
        rows = []
        while self.at < until:
            begin, self.at = self.at, min(self.at + 10 * SECOND, until)
            span = (self.at - begin) * 1000
            rows.append((self.name, begin, self.at, self.cpus, round(cpus * span), round(system_millicpus / 1000 * span), 16 * GIB,
                         round(memory * 16 * GIB), tasks))
        insert(self.world.connection, "host_samples", rows)
        self.world.connection.execute("UPDATE machines SET last = ? WHERE machine = ?", [self.at, self.name])
        return self

    def outside(self, cgroup: str, begin: int, end: int, millicpus: float) -> Machine:
        rows = [(self.name, at, cgroup, round(millicpus / 1000 * 10 * SECOND * 1000)) for at in range(begin, end, 10 * SECOND)]
        insert(self.world.connection, "outside", rows)
        return self

    def stalls(self, task: str, begin: int, end: int, waits_for: str = "data from a pipe", ended: int | None = None) -> Machine:
        self.world.connection.execute("INSERT INTO stalls VALUES (?, ?, 'r1', 'p1', 1000, true, 'sort', ?, 'high', 'stalled', ?, ?, ?)",
                                      [self.name, task, waits_for, begin, end, ended])
        return self

    def gpu(self, begin: int, end: int, used: bool) -> Machine:
        insert(self.world.connection, "gpu_uses", [(self.name, at, used) for at in range(begin, end, 10 * SECOND)])
        return self

    def ran(self, run: str, ended: int, uid: int = 1000) -> Machine:
        self.world.connection.execute("INSERT INTO works VALUES (?, ?, 'p1', ?, ?)", [self.name, run, uid, ended])
        return self


class Observed(World):
    def test_a_machine_that_never_worked(self) -> None:
        self.machine().does(DAY + HOUR)
        found = self.assert_found("never-worked", DAY + 15 * MINUTE)
        self.assertEqual((found.since, found.machine, found.certainty), (DAY, "m1", "high"))

    def test_a_machine_that_is_idle_since_its_last_task(self) -> None:
        end = DAY + 2 * HOUR
        self.machine().does(end, tasks=3, cpus=3.5).ran("r7", end).does(end + HOUR)
        found = self.assert_found("idle-since", end + 10 * MINUTE)
        self.assertEqual((found.since, found.run, found.started_by), (end, "r7", "uid 1000"))

    def test_only_services_use_its_cpus(self) -> None:
        end = DAY + 2 * HOUR
        machine = self.machine().does(end, tasks=3, cpus=3.5).does(end + HOUR, system_millicpus=300)
        machine.outside("/system.slice/amazon-cloudwatch-agent.service", end, end + HOUR, 280)
        found = self.assert_found("trickle", end + 10 * MINUTE)
        self.assertEqual(found.since, end)
        self.assertAlmostEqual(found.evidence["system_millicpus"], 300, delta=5)
        self.assertIn("30 % of a CPU", found.text)

    def test_what_runs_in_the_slice_of_services_and_is_none_is_work(self) -> None:
        end = DAY + 2 * HOUR
        for number, cgroup in enumerate((
                "/system.slice/docker-0123.scope", "/system.slice/libpod-0123.scope", "/system.slice/jupyter-alice.service",
                "/system.slice/slurmstepd.scope/job_1", "/system.slice/slurmd.service", "/system.slice/run-u7.service")):
            with self.subTest(cgroup):
                machine = self.machine(f"m{number}", cpus=8).does(end, tasks=3, cpus=3.5).does(end + HOUR, system_millicpus=7500)
                machine.outside(cgroup, end, end + HOUR, 7480)
                self.assertEqual(self.codes(end + HOUR), [])

    def test_a_service_that_computes_is_no_trickle(self) -> None:
        end = DAY + 2 * HOUR
        machine = self.machine().does(end, tasks=3, cpus=3.5).does(end + HOUR, system_millicpus=2000)
        machine.outside("/system.slice/telegraf.service", end, end + HOUR, 1990)
        self.assertEqual(self.codes(end + HOUR), [])

    def test_a_task_that_makes_no_progress(self) -> None:
        begin = DAY + HOUR
        self.machine().does(begin, tasks=2, cpus=3.5).does(begin + HOUR, tasks=2).stalls("SORT (S1)", begin, begin + HOUR)
        found = self.assert_found("held", begin + 10 * MINUTE)
        self.assertEqual((found.task, found.run, found.share), ("SORT (S1)", "r1", 1.0))
        self.assertIn("sort waits for data from a pipe", found.text)

    def test_the_cost_of_a_held_task_is_not_known_where_others_work(self) -> None:
        begin = DAY + HOUR
        self.machine().does(begin + HOUR, tasks=3, cpus=3.5).stalls("SORT (S1)", begin, begin + HOUR)
        self.assertIsNone(self.assert_found("held", begin + 10 * MINUTE).share)

    def test_a_task_that_two_files_have_is_held_once(self) -> None:
        begin = DAY + HOUR
        machine = self.machine().does(begin, tasks=2, cpus=3.5).does(begin + HOUR, tasks=2)
        machine.stalls("SORT (S1)", begin, begin + 40 * MINUTE - 30 * SECOND).stalls("SORT (S1)", begin, begin + 40 * MINUTE)
        self.assertEqual(self.codes(begin + 40 * MINUTE), ["held"])
        for _ in range(2):
            self.recorded._read_requests("m1", "SELECT 'k' AS task_key, 1 AS t0, NULL::BIGINT AS t1, 4 AS cpus, 5 AS requested_memory_bytes")
        self.assertEqual(self.connection.execute("SELECT * FROM requests").fetchall(), [("m1", 1, None, 4.0, 5)])

    def test_a_task_that_went_on_is_not_held(self) -> None:
        begin = DAY + HOUR
        self.machine().does(begin + HOUR, tasks=3, cpus=3.5).stalls("SORT (S1)", begin, begin + 20 * MINUTE)
        self.assertEqual(self.codes(begin + 40 * MINUTE), [])

    def test_a_task_that_was_held_then_and_has_ended_since(self) -> None:
        begin = DAY + HOUR
        self.machine().does(begin + 2 * HOUR, tasks=2).stalls("SORT (S1)", begin, begin + HOUR, ended=begin + HOUR)
        self.assertEqual([self.codes(begin + minutes * MINUTE) for minutes in (30, 61)], [["held", "underfilled"], ["underfilled"]])

    def test_tasks_that_hold_a_part_of_a_machine(self) -> None:
        begin = DAY + 2 * HOUR
        self.machine().does(begin, tasks=4, cpus=3.8).does(begin + 3 * HOUR, tasks=1, cpus=1, memory=0.3)
        found = self.assert_found("underfilled", begin + HOUR)
        self.assertEqual((found.evidence["held_percent"], found.evidence["binding"]), (30, "memory"))
        self.assertAlmostEqual(found.share or 0, 0.7, delta=0.01)
        self.assertLessEqual(abs((found.since or 0) - begin), 5 * MINUTE)

    def test_what_tasks_have_requested_is_held(self) -> None:
        begin = DAY + 2 * HOUR
        self.machine().does(begin + 3 * HOUR, tasks=1, cpus=1, memory=0.3)
        self.connection.execute("INSERT INTO requests VALUES ('m1', ?, NULL, 4, NULL)", [DAY])
        self.assertEqual(self.codes(begin + 2 * HOUR), [])

    def test_a_booting_worker_is_nothing(self) -> None:
        self.machine().does(DAY + 14 * MINUTE, system_millicpus=1500)
        for minute in range(1, 15):
            self.assertEqual(self.codes(DAY + minute * MINUTE), [])

    def test_a_worker_that_boots_for_long_and_is_watched_late_is_nothing(self) -> None:
        self.machine().unseen(DAY + 4 * MINUTE).does(DAY + 14 * MINUTE + 50 * SECOND)
        self.assertEqual(self.codes(DAY + 15 * MINUTE), [])

    def test_what_it_did_before_the_watch_began_is_not_known(self) -> None:
        self.machine().unseen(DAY + 5 * HOUR).does(DAY + 6 * HOUR)
        found = self.assert_found("idle-since", DAY + 5 * HOUR + 10 * MINUTE)
        self.assertEqual((found.since, found.certainty), (DAY + 5 * HOUR, "medium"))

    def test_the_time_that_nobody_watched_is_not_idle(self) -> None:
        end = DAY + HOUR
        self.machine().does(end, tasks=1, cpus=4).does(end + 5 * MINUTE).unseen(end + HOUR).does(end + HOUR + 9 * MINUTE)
        self.assertEqual(self.codes(end + HOUR + 9 * MINUTE), [])

    def test_a_person_who_works_without_a_run_is_not_idle(self) -> None:
        end = DAY + HOUR
        machine = self.machine().does(end, tasks=1, cpus=4).does(end + HOUR, system_millicpus=900).does(end + 2 * HOUR)
        machine.outside("/user.slice/user-1000.slice/session-3.scope", end, end + HOUR, 880)
        machine.outside("/system.slice/chronyd.service", end, end + 2 * HOUR, 1)
        self.assertEqual(self.codes(end + HOUR), [])
        found = self.assert_found("idle-since", end + HOUR + 10 * MINUTE)
        self.assertEqual(found.since, end + HOUR)

    def test_three_percent_of_a_task_that_polls_is_not_idle(self) -> None:
        end = DAY + HOUR
        self.machine().does(end, tasks=1, cpus=4).does(end + 50 * MINUTE, tasks=1, cpus=0.12)
        self.assertEqual(self.codes(end + 50 * MINUTE), [])

    def test_a_machine_whose_gpu_works_is_not_idle(self) -> None:
        """Outside of any run, with no CPU to speak of."""
        end = DAY + HOUR
        self.machine("m1", instance_type="g5.xlarge").does(end, tasks=1, cpus=4).ran("r7", end).does(end + 2 * HOUR).gpu(DAY, end + HOUR, True)
        self.machine("m1").gpu(end + HOUR, end + 2 * HOUR, False)
        self.assertEqual(self.codes(end + HOUR), [])
        found = self.assert_found("idle-since", end + HOUR + 10 * MINUTE)
        self.assertEqual(found.since, end + HOUR - 10 * SECOND)

    def test_a_gpu_that_nobody_watched_may_work(self) -> None:
        for number, tasks in enumerate((0, 1)):
            self.machine(f"m{number}", instance_type="p4d.24xlarge").does(DAY + 3 * HOUR, tasks=tasks)
        self.assertEqual(self.codes(DAY + 3 * HOUR), [])
        self.assertEqual(sum("has a GPU, and nobody watched it" in note for note in self.inventory.notes), 2)

    def test_a_task_that_waits_for_a_gpu_is_not_held(self) -> None:
        begin = DAY + HOUR
        machine = self.machine(instance_type="g5.xlarge").does(begin, tasks=2, cpus=3.5).does(begin + HOUR, tasks=2)
        machine.stalls("TRAIN (S1)", begin, begin + HOUR)
        self.assertEqual([each.certainty for each in self.found(begin + 30 * MINUTE)], ["low"])
        machine.gpu(begin, begin + HOUR, True)
        self.assertEqual(self.codes(begin + 30 * MINUTE), [])

    def test_a_busy_day_has_no_findings(self) -> None:
        machine, at = self.machine(), DAY + 3 * MINUTE
        machine.does(at)
        # Short pauses between runs, tasks that are small for a while, and agents all day.
        while at < DAY + 24 * HOUR:
            machine.does(at + 55 * MINUTE, tasks=5, cpus=3.6, memory=0.7).does(at + 85 * MINUTE, tasks=2, cpus=1.1, memory=0.2)
            machine.does(at + 93 * MINUTE, system_millicpus=40)
            at += 93 * MINUTE
        for minute in range(1, 24 * 60, 7):
            self.assertEqual(self.codes(DAY + minute * MINUTE), [], minute)


def instance(key: str, launched: int, state: str = "running", **more: Any) -> dict[str, Any]:
    return {"InstanceId": key, "InstanceType": "m6i.xlarge", "State": {"Name": state}, "LaunchTime": iso(launched),
            "Placement": {"AvailabilityZone": "eu-west-1b"}, "PrivateDnsName": f"ip-{key}.eu-west-1.compute.internal", **more}


def instances(*each: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"Reservations": [{"Instances": [one]} for one in each], **more}


def job(key: str, status: str, reason: str | None, created: int) -> dict[str, Any]:
    return {"jobId": key, "jobName": f"job-{key}", "status": status, "statusReason": reason, "createdAt": created // 1000,
            "jobQueue": "arn:aws:batch:eu-west-1:111122223333:job-queue/q1"}


NOT_ENOUGH = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job's resource requirement can't be fulfilled"
BATCH_TAG = [{"Key": "AWSBatchServiceTag", "Value": "batch"}]
ENVIRONMENT = {"computeEnvironmentName": "ce1", "computeEnvironmentArn": "arn:aws:batch:eu-west-1:111122223333:compute-environment/ce1",
               "state": "ENABLED", "status": "VALID",
               "computeResources": {"type": "SPOT", "minvCpus": 16, "desiredvCpus": 16, "instanceTypes": ["m6i.xlarge"]}}
QUEUE = {"jobQueueName": "q1", "jobQueueArn": "arn:aws:batch:eu-west-1:111122223333:job-queue/q1",
         "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": ENVIRONMENT["computeEnvironmentArn"]}]}


class Provided(World):
    def listings(self, look: int, **jobs: list[dict[str, Any]]) -> None:
        for state in ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING"):
            self.look(f"jobs.q1.{state}.json", {"jobSummaryList": jobs.get(state, [])}, look)

    def test_a_floor_with_an_empty_queue(self) -> None:
        self.look("ce.json", {"computeEnvironments": [ENVIRONMENT]}, DAY)
        self.look("queues.json", {"jobQueues": [QUEUE]}, DAY)
        self.listings(DAY, RUNNING=[job("1", "RUNNING", None, DAY)])
        for minute in range(5, 60):
            self.listings(DAY + minute * MINUTE)
        found = self.assert_found("floor", DAY + 15 * MINUTE)
        self.assertEqual((found.since, found.machine, found.region, found.lifecycle), (DAY + 5 * MINUTE, "ce1", "eu-west-1", "spot"))

    def test_a_floor_is_not_judged_by_a_part_of_the_states(self) -> None:
        self.look("ce.json", {"computeEnvironments": [ENVIRONMENT]}, DAY)
        self.look("queues.json", {"jobQueues": [QUEUE]}, DAY)
        for minute in (0, 20):
            self.look("jobs.q1.RUNNING.json", {"jobSummaryList": []}, DAY + minute * MINUTE)
        self.assertEqual(self.codes(DAY + HOUR), [])
        self.assertIn("list-jobs", self.inventory.notes[-1])

    def test_a_listing_that_names_no_queue_says_nothing_where_there_are_two(self) -> None:
        self.look("ce.json", {"computeEnvironments": [ENVIRONMENT]}, DAY)
        for queues, expected in (([QUEUE], ["floor"]), ([QUEUE, QUEUE | {"jobQueueName": "q2"}], [])):
            with self.subTest(len(queues)):
                self.look("queues.json", {"jobQueues": queues}, DAY)
                for minute in (0, 20):
                    for state in ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING"):
                        self.look(f"{state}.json", {"jobSummaryList": []}, DAY + minute * MINUTE)
                self.assertEqual(self.codes(DAY + HOUR), expected)

    def test_an_empty_page_that_is_not_the_last_is_no_empty_queue(self) -> None:
        self.look("ce.json", {"computeEnvironments": [ENVIRONMENT]}, DAY)
        self.look("queues.json", {"jobQueues": [QUEUE]}, DAY)
        for minute in (0, 20):
            self.listings(DAY + minute * MINUTE)
            self.look("jobs.q1.RUNNABLE.json", {"jobSummaryList": [], "nextToken": "abc"}, DAY + minute * MINUTE + SECOND)
        self.assertEqual(self.codes(DAY + HOUR), [])
        self.assertTrue(any("nextToken" in note for note in self.inventory.notes))

    def test_a_job_that_is_stuck(self) -> None:
        self.look("i.json", instances(), DAY)
        for minute in range(0, 60):
            self.look("jobs.json", {"jobs": [job("1", "RUNNABLE", NOT_ENOUGH, DAY)]}, DAY + minute * MINUTE)
        found = self.assert_found("stuck", DAY + 10 * MINUTE)
        self.assertEqual((found.task, found.since, found.evidence["queue"]), ("job-1", DAY, "q1"))

    def test_a_job_whose_worker_boots_is_never_stuck(self) -> None:
        for minute in range(0, 40):
            at = DAY + minute * MINUTE
            self.look("jobs.json", {"jobs": [job("1", "RUNNABLE", NOT_ENOUGH, DAY)]}, at)
            # One machine after another is taken away, as spot machines are.
            self.look("i.json", instances(instance("i-1", DAY + (minute // 8) * 8 * MINUTE, "pending")), at)
            self.assertEqual(self.codes(at), [])

    def test_a_job_that_started_is_not_stuck(self) -> None:
        for minute in range(0, 12):
            self.look("jobs.json", {"jobs": [job("1", "RUNNABLE", NOT_ENOUGH, DAY)]}, DAY + minute * MINUTE)
        self.look("jobs.json", {"jobs": [job("1", "RUNNING", NOT_ENOUGH, DAY)]}, DAY + 12 * MINUTE)
        self.assertEqual(self.codes(DAY + 13 * MINUTE), [])

    def test_a_volume_that_is_attached_to_nothing(self) -> None:
        volume = {"VolumeId": "vol-1", "State": "available", "CreateTime": iso(DAY), "Size": 500, "AvailabilityZone": "eu-west-1b",
                  "Tags": [{"Key": "Owner", "Value": "ann"}]}
        for minute in range(0, 30):
            self.look("v.json", {"Volumes": [volume, volume | {"VolumeId": "vol-2", "State": "in-use"}]}, DAY + minute * MINUTE)
        found = self.assert_found("unattached", DAY + 10 * MINUTE)
        self.assertEqual((found.machine, found.started_by), ("vol-1", "Owner=ann"))

    def test_a_machine_that_drains_with_tasks(self) -> None:
        for minute in range(0, 30):
            self.look("c.json", {"containerInstances": [
                {"ec2InstanceId": "i-1", "status": "DRAINING", "runningTasksCount": 2, "agentConnected": True},
                {"ec2InstanceId": "i-2", "status": "DRAINING", "runningTasksCount": 0, "agentConnected": True}]}, DAY + minute * MINUTE)
        found = self.assert_found("draining", DAY + 10 * MINUTE)
        self.assertEqual((found.instance, found.evidence["tasks"]), ("i-1", 2))

    def test_a_machine_on_which_no_agent_registers(self) -> None:
        self.machine("m2", DAY, instance="i-2").does(DAY + HOUR, tasks=1, cpus=4)
        for minute in range(0, 30):
            at = DAY + minute * MINUTE
            self.look("i.json", instances(instance("i-1", DAY, Tags=BATCH_TAG), instance("i-2", DAY, Tags=BATCH_TAG)), at)
            self.look("c.json", {"containerInstances": [{"ec2InstanceId": "i-2", "status": "ACTIVE", "runningTasksCount": 1}]}, at)
        found = self.assert_found("not-registered", DAY + 10 * MINUTE)
        self.assertEqual((found.instance, found.since, found.region), ("i-1", DAY, "eu-west-1"))

    def test_a_part_of_the_agents_says_nothing_of_machines_without_one(self) -> None:
        self.machine("m1", DAY, instance="i-1").does(DAY + HOUR, tasks=1, cpus=4)
        at = DAY + 30 * MINUTE
        self.look("i.json", instances(instance("i-1", DAY, Tags=BATCH_TAG)), at)
        self.look("c.json", {"containerInstances": [], "failures": [{"arn": "x", "reason": "MISSING"}]}, at)
        self.assertEqual(self.codes(at), [])

    def test_a_machine_that_nobody_watches_is_unobserved_and_never_idle(self) -> None:
        self.machine("m2", DAY, instance="i-2").does(DAY + HOUR, tasks=1, cpus=4)
        self.machine("ip-i-3", DAY).does(DAY + HOUR, tasks=1, cpus=4)
        for minute in range(0, 30):
            self.look("i.json", instances(instance("i-1", DAY), instance("i-2", DAY), instance("i-3", DAY), instance("i-4", DAY, "stopped")),
                      DAY + minute * MINUTE)
        found = self.assert_found("unobserved", DAY + 10 * MINUTE)
        self.assertEqual((found.instance, found.share), ("i-1", None))

    def test_a_machine_that_is_gone_by_now_wastes_nothing(self) -> None:
        self.machine("m1", DAY, instance="i-1").does(DAY + HOUR)
        self.look("i.json", instances(instance("i-1", DAY, "terminated")), DAY + HOUR)
        self.assertEqual(self.codes(DAY + HOUR), [])
        self.assertIn("terminated", self.inventory.notes[0])

    def test_slurm_as_json_and_as_text(self) -> None:
        def node(name: str, states: list[str], cpus: int, **more: Any) -> dict[str, Any]:
            return {"name": name, "state": states, "alloc_cpus": cpus, "boot_time": {"set": True, "number": DAY // SECOND - 9999}, **more}

        self.machine("n1").does(DAY + HOUR, tasks=1, cpus=4)
        self.machine("n2").does(DAY + HOUR, tasks=1, cpus=4)
        at = DAY + 30 * MINUTE
        self.look("nodes.json", {"nodes": [
            node("n1", ["MIXED", "DRAIN"], 3, reason="disk", reason_changed_at={"set": True, "number": DAY // SECOND}),
            node("n2", ["IDLE", "DRAIN"], 0), node("n3", ["IDLE"], 0), node("n4", ["IDLE", "CLOUD", "POWERED_DOWN"], 0)],
            "last_update": {"set": True, "number": at // SECOND}}, at)
        found = {each.machine: each.finding for each in self.found(at)}
        self.assertEqual(found, {"n1": "draining", "n3": "unobserved"})

        for minute in (0, 11):
            self.look("jobs.txt", "JOBID|USER|STATE|REASON|NAME\n7|ann|PENDING|BadConstraints|big\n8|bob|PENDING|Priority|small\n",
                      at + minute * MINUTE)
        stuck = [each for each in self.found(at + 12 * MINUTE) if each.finding == "stuck"]
        self.assertEqual([(each.task, each.started_by) for each in stuck], [("big", "ann")])

        text = "NodeName=n5 Arch=x86_64 CPUAlloc=4 CPUTot=8\n   State=MIXED+DRAIN ThreadsPerCore=1\n   Reason=bad disk [root@2026-11-01T00:00:00]\n"
        self.look("node.txt", text, at)
        self.assertEqual(self.inventory.nodes["n5"][0].reason, "bad disk [root@2026-11-01T00:00:00]")
        self.assertTrue(self.inventory.nodes["n5"][0].draining)

    def test_pages_in_one_file_are_read_and_a_missing_one_is_said(self) -> None:
        pages = json.dumps(instances(instance("i-1", DAY))) + "\n" + json.dumps(instances(instance("i-2", DAY), NextToken="x"))
        self.look("i.json", pages, DAY + HOUR)
        self.assertEqual(self.codes(DAY + HOUR), ["unobserved", "unobserved"])
        self.assertIn("only a part of Reservations", self.inventory.notes[0])

    def test_slurm_that_refuses_or_answers_in_part(self) -> None:
        """Wrong credentials, a controller that is busy, rows that are cut: an error with its reason, or a note, never an empty queue."""
        refused = {"jobs": [], "errors": [{"description": "Invalid authentication credential", "error_number": 1007}], "warnings": []}
        busy = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
        for name, content, words in (
                ("jobs.json", refused, "Invalid authentication credential"),
                ("nodes.json", {"errors": [{"error": "Rate limit exceeded"}]}, "Rate limit exceeded"),
                ("jobs.txt", busy, "Unable to contact slurm controller"),
                ("cut.txt", "JOBID|STATE|REASON\n7|PENDING|Priority\n8|PEND\n", "line 3"),
                ("late.txt", "JOBID|STATE|REASON\n7|PENDING|Priority\n" + busy, "line 3")):
            with self.subTest(name), self.assertRaises(InventoryError) as raised:
                self.look(name, content, DAY)
            self.assertEqual(raised.exception.code, "TRC137")
            self.assertIn(name, str(raised.exception))
            self.assertIn(words, str(raised.exception))
        part = {"jobs": [{"job_id": 7, "job_state": ["PENDING"], "state_reason": "BadConstraints", "name": "big", "user_name": "ann"}],
                "errors": [{"description": "Socket timed out"}]}
        for minute in (0, 11):
            self.look("jobs.json", part, DAY + minute * MINUTE)
        self.assertIn("jobs.json: only a part of jobs: Socket timed out. The missing part is not judged", self.inventory.notes[0])
        # What it did answer counts.
        self.assertEqual(self.codes(DAY + 12 * MINUTE), ["stuck"])
        found = sweep([], [self.answer("part.json", part, DAY)])
        self.assertIn("only a part of jobs", str(found))

    def test_an_error_of_the_providers_own_command_is_said(self) -> None:
        for code in ("AuthFailure", "UnauthorizedOperation", "RequestLimitExceeded", "ThrottlingException"):
            with self.subTest(code), self.assertRaises(InventoryError) as raised:
                self.look("instances.json", f"\nAn error occurred ({code}) when calling the DescribeInstances operation: not now\n", DAY)
            self.assertIn(code, str(raised.exception))

    def test_what_is_no_answer_is_an_error_with_its_file(self) -> None:
        for name, content in (("cut.json", '{"Reservations": [{"Inst'), ("other.json", '{"a": 1}'), ("words.txt", "hello"),
                              ("list.json", '{"Volumes": 7}'), ("empty.json", ""), ("row.txt", "JOBID|STATE\n1|PENDING|more\n"),
                              ("deep.json", "[" * 100_000)):
            with self.subTest(name), self.assertRaises(InventoryError) as raised:
                self.look(name, content, DAY)
            self.assertEqual(raised.exception.code, "TRC137")
            self.assertIn(name, str(raised.exception))

    def test_fields_that_are_missing_or_of_another_type_do_no_harm(self) -> None:
        odd: list[Any] = [{}, None, 7, [], {"InstanceId": 5}, {"InstanceId": "i-1", "State": [], "LaunchTime": {}, "Tags": {"a": 1}}]
        self.look("i.json", {"Reservations": [{"Instances": odd}, {"Instances": None}, None]}, DAY)
        self.look("v.json", {"Volumes": [{"VolumeId": "v", "Size": "big", "CreateTime": "soon"}]}, DAY)
        self.look("j.json", {"jobs": [{"jobId": "1"}, {"job_id": 2, "job_state": []}, {}]}, DAY)
        self.look("n.json", {"nodes": [{"name": "n", "state": None}, {}], "sinfo": [{}]}, DAY)
        self.look("c.json", {"containerInstances": [{"status": 4}], "computeEnvironments": [{}], "jobQueues": [{"jobQueueName": 1}]}, DAY)
        self.found(DAY + HOUR)

    def test_numbers_and_times_that_no_clock_has_are_not_known(self) -> None:
        for value in (float("inf"), float("nan"), -1, 10**30, 1e300, "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "\u00b2", "9" * 5000):
            with self.subTest(str(value)[:30]):
                self.assertIsNone(time_of(value))
                self.look("i.json", {"Reservations": [{"Instances": [{"InstanceId": "i-1", "State": {"Name": "running"}, "LaunchTime": value}]}]}, DAY)
                self.look("v.json", {"Volumes": [{"VolumeId": "v", "State": "available", "Size": value, "CreateTime": value}]}, DAY)
                self.found(DAY + HOUR)
                self.assertIn(self.inventory.volumes["v"][-1].size_gib, (None, -1))


class Rules(World):
    def test_the_rules_have_all_codes_and_their_examples_hold(self) -> None:
        self.assertEqual(set(self.rules.of), set(CODES))

    def test_mistakes_are_reported_all_at_once(self) -> None:
        text = BUILT_IN.read_text(encoding="utf-8")
        wrong = text.replace('code = "held"', 'code = "hold"').replace('limits = { least_s = 900', "limits = { least = 900").replace(
            'other = ["Essential', 'other = ["CAPACITY:x", "Essential')
        path = self.answer("rules.toml", wrong, DAY)
        with self.assertRaises(RulesError) as raised:
            read_rules(path)
        self.assertGreaterEqual(len(raised.exception.problems), 3)
        only_example = self.answer("example.toml", text.replace('other = ["Essential', 'other = ["CAPACITY:x", "Essential'), DAY)
        with self.assertRaises(RulesError) as raised:
            read_rules(only_example)
        self.assertIn("CAPACITY:x", str(raised.exception))

    def test_own_thresholds_count(self) -> None:
        path = self.answer("rules.toml", BUILT_IN.read_text(encoding="utf-8").replace("least_s = 900", "least_s = 7200"), DAY)
        self.rules = read_rules(path)
        self.machine().does(DAY + 3 * HOUR)
        self.assert_found("never-worked", DAY + 2 * HOUR)

    def test_the_rules_are_toml_of_this_schema(self) -> None:
        self.assertEqual(tomllib.loads(BUILT_IN.read_text(encoding="utf-8"))["schema"], 1)


class Command(World):
    PRICES = ("cloud,region,instance_type,vcpus,memory_gib,on_demand_usd_h,spot_usd_h,price_basis\n"
              "aws,eu-west-1,m6i.xlarge,4,16,0.2,0.08,listed\n")

    def run_main(self, *words: str) -> tuple[int, str, str]:
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(words))
        return status, out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]

    def test_the_policy_reads_only(self) -> None:
        status, out, _ = self.run_main("sweep", "--policy")
        self.assertEqual(status, 0)
        self.assertEqual(json.loads(out), POLICY)
        for action in json.loads(out)["Statement"][0]["Action"]:
            self.assertRegex(action, r"^\w+:(Describe|List)")

    def test_findings_have_costs_and_the_status_says_that_there_are_some(self) -> None:
        inventory = self.answer("ce.json", {"computeEnvironments": [ENVIRONMENT], "jobQueues": [QUEUE | {"computeEnvironmentOrder": []}]},
                                DAY)
        prices = self.answer("prices.csv", self.PRICES, DAY)
        status, out, err = self.run_main("sweep", "--inventory", inventory, "--prices", prices, "--json")
        self.assertEqual((status, err), (FOUND, ""))
        found = json.loads(out)["findings"][0]
        self.assertEqual((found["finding"], found["cost_per_hour"], found["currency"], found["basis"]),
                         ("floor", "0.3200", "USD", "spot, listed, undated"))
        status, out, _ = self.run_main("sweep", "--inventory", inventory, "--prices", prices)
        self.assertIn("together 0.32 USD/h", out)
        status, out, _ = self.run_main("sweep", "--inventory", inventory, "--prices", prices, "--csv")
        self.assertEqual(out.count("\n"), 2)

    def test_without_waste_the_status_is_0(self) -> None:
        status, out, _ = self.run_main("sweep", "--inventory", self.answer("v.json", {"Volumes": []}, DAY))
        self.assertEqual((status, out), (0, "no machine was observed as a whole: none was judged. Nothing else was found\n"))
        # A saved recording of a run: which of its machine is looked at.
        status, out, _ = self.run_main("sweep", str(support.RECORDINGS / "nextflow-24.tracer"))
        self.assertIn("nextflow-24.tracer follows a part of its host, and says nothing", out)

    def test_wrong_calls_are_refused(self) -> None:
        self.assertEqual(self.run_main("sweep")[0], 2)
        with self.assertRaises(InvalidArgumentError):
            sweep([], [self.answer("v.json", {"Volumes": []}, DAY)], now="tomorrow")
        self.assertEqual(self.run_main("sweep", "--inventory", "/nowhere.json")[0], 1)
        self.assertEqual(self.run_main("sweep", self.folder)[0], 1)
        # A folder without an answer is none.
        with tempfile.TemporaryDirectory() as empty:
            status, _, err = self.run_main("sweep", "--inventory", empty)
        self.assertEqual(status, 1)
        self.assertIn("TRC137", err)


@support.needs_tracing
class Real(World):
    """The watch of this host."""

    def test_a_shell_that_looks_for_a_file_again_and_again(self) -> None:
        """Each of its sleeps is progress to those that look at one process. A worker that sleeps in between is silent."""
        path = os.path.join(self.folder, "host.tracer")
        rules = Path(self.folder, "fast.toml")
        rules.write_text(BUILT_IN.read_text().replace('limits = { least_s = 600 }', 'limits = { least_s = 4 }'))
        work = "md5sum /proc/self/maps > /dev/null; "
        tasks = [[support.TRACERD, "task", "--step", step, "--", "sh", "-c", f"while ! test -e {self.folder}/end; do {more}sleep 0.5; done"]
                 for step, more in (("poller", ""), ("worker", work))]
        with subprocess.Popen([support.TRACERD, "watch", "--host", "--record", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watch:
            support.wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 0, "a recording")
            time.sleep(2)
            running = [subprocess.Popen(each) for each in tasks]
            time.sleep(12)
            Path(self.folder, "end").touch()
            now = time.time()
            for each in running:
                each.wait()
            watch.terminate()
        # They have ended since.
        [found] = [each for each in sweep([path], rules=rules, now=now - 1) if each.finding == "held"]
        self.assertEqual(found.task, "poller")
        self.assertIn("sleeps again and again", found.text)
        self.assertEqual([each for each in sweep([path], rules=rules) if each.finding == "held"], [])

    def test_a_recording_of_a_whole_host_is_judged_and_of_a_part_is_not(self) -> None:
        path = os.path.join(self.folder, "host.tracer")
        events = Path(self.folder, "host.json")
        with subprocess.Popen([support.TRACERD, "watch", "--host", "--record", path, "--json", str(events)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watch:
            # From the first snapshot on, the sums of the host are known; the last one has a sample.
            support.wait_until(lambda: events.exists() and '"snapshot_end"' in events.read_text(errors="replace"), "a snapshot")
            watch.terminate()
        result = sweep([path])
        self.assertEqual(result.machines, 1)
        self.assertFalse(any("part of its host" in note for note in result.notes))
        # A part of it that was continued in another file is read from its folder.
        lake = Path(self.folder, "lake")
        lake.mkdir()
        shutil.copy(path, lake / "host.tracer.1")
        self.assertEqual(sweep([lake]).machines, 1)
        # What it did outside of tasks is at most what the host has counted.
        self.recorded.read(path, [])
        machine, first, last = self.connection.execute("SELECT machine, first, last FROM machines").fetchall()[0]
        outside = sum(cpu_ns for _, _, cpu_ns in self.recorded.outside_of(machine, first, last))
        system = self.connection.execute("SELECT sum(system_cpu_ns)::BIGINT FROM host_samples").fetchall()[0][0]
        self.assertGreater(outside, 0)
        self.assertLessEqual(outside, system * 1.1 + 100_000_000)
        self.recorded.read_living_requests(machine)
        part = os.path.join(self.folder, "part.tracer")
        subprocess.run([support.TRACERD, "run", "--record", part, "--", "true"], check=True, stderr=subprocess.DEVNULL)
        result = sweep([part])
        self.assertEqual((result.machines, len(result)), (0, 0))
        self.assertIn("part of its host", result.notes[0])

    def test_a_recording_that_is_too_short_says_so(self) -> None:
        path, events = os.path.join(self.folder, "host.tracer"), Path(self.folder, "host.json")
        with subprocess.Popen([support.TRACERD, "watch", "--host", "--record", path, "--json", str(events)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watch:
            support.wait_until(lambda: events.exists() and '"process_start"' in events.read_text(errors="replace"), "a process")
            watch.kill()
        self.assertIn("is too short: it has no sample of its host", sweep([path]).notes[0])


if __name__ == "__main__":
    unittest.main()
