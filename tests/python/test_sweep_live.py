# SPDX-License-Identifier: Apache-2.0
"""tracer sweep --live, against a double of AWS: what it asks, what it keeps, and what it says where a part is refused."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from typing import Any
from unittest import mock

try:
    import boto3  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import duckdb  # noqa: F401
    from botocore.stub import Stubber  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from botocore.exceptions import ClientError, NoCredentialsError  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from moto import mock_aws  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from tracer import InventoryError
    from tracer.sweep import sweep
    from tracer.sweep._inventory import Inventory
    from tracer.sweep._live import ACTIONS, ask_aws
except ImportError as missing:
    raise unittest.SkipTest(f"not installed: {missing.name}")

REGION = "eu-west-1"


class Account:
    """A session of which some calls fail."""

    def __init__(self, **failures: Exception) -> None:
        self.session = boto3.Session(region_name=REGION)
        self.failures = failures
        self.called: set[str] = set()

    def client(self, name: str) -> Any:
        client = self.session.client(name)

        def before(model: Any, **_: object) -> None:
            self.called.add(f"{name}:{model.name}")
            if model.name in self.failures:
                raise self.failures[model.name]

        client.meta.events.register(f"before-call.{name}", before)
        return client


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "not now"}}, "x")


class Live(unittest.TestCase):
    def setUp(self) -> None:
        keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": REGION}
        for patch in (mock.patch.dict(os.environ, keys), mock_aws()):
            patch.__enter__()
            self.addCleanup(patch.__exit__, None, None, None)
        self.folder = tempfile.mkdtemp(prefix="tracer-sweep-live-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        ec2 = boto3.client("ec2")
        self.image = ec2.describe_images()["Images"][0]["ImageId"]
        self.ec2 = ec2

    def start(self, count: int) -> None:
        self.ec2.run_instances(ImageId=self.image, MinCount=count, MaxCount=count, InstanceType="m5.large")

    def batch(self) -> None:
        role = boto3.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        subnet = self.ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        boto3.client("iam").create_instance_profile(InstanceProfileName="p")
        profile = boto3.client("iam").get_instance_profile(InstanceProfileName="p")["InstanceProfile"]["Arn"]
        arn = boto3.client("batch").create_compute_environment(
            computeEnvironmentName="ce1", type="MANAGED", state="ENABLED", serviceRole=role, computeResources={
                "type": "EC2", "minvCpus": 4, "maxvCpus": 8, "desiredvCpus": 4, "instanceTypes": ["m5.large"], "subnets": [subnet],
                "securityGroupIds": [self.ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"]],
                "instanceRole": profile})["computeEnvironmentArn"]
        boto3.client("batch").create_job_queue(jobQueueName="q1", state="ENABLED", priority=1, computeEnvironmentOrder=[
            {"order": 1, "computeEnvironment": arn}])

    def test_it_reads_all_pages_and_asks_for_nothing_that_the_policy_does_not_have(self) -> None:
        self.start(30)
        self.batch()
        self.ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=10)
        account, inventory = Account(), Inventory()
        ask_aws(account, inventory, self.folder)
        self.assertGreaterEqual(len(inventory.instances), 30)
        self.assertIn("available", [looks[0].state for looks in inventory.volumes.values()])
        self.assertEqual(inventory.environments["ce1"].min_vcpus, 4)
        self.assertEqual(inventory.queues["q1"].environments, ("ce1",))
        self.assertEqual({state for _, state in inventory.listings}, {"SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING",
                                                                      "SUCCEEDED", "FAILED"})
        self.assertEqual(inventory.partial, set())
        self.assertLessEqual(account.called, set(ACTIONS))
        # What it keeps is read like what others save.
        kept = Inventory()
        kept.read(self.folder)
        self.assertEqual(set(kept.instances), set(inventory.instances))
        self.assertEqual(set(kept.listings), set(inventory.listings))

    def test_a_call_that_is_refused_is_noted_and_what_it_would_say_is_not_judged(self) -> None:
        self.start(1)
        self.batch()
        for code in ("ThrottlingException", "UnauthorizedOperation"):
            with self.subTest(code):
                inventory = Inventory()
                ask_aws(Account(ListJobs=refused(code), DescribeVolumes=refused(code)), inventory)
                self.assertLessEqual({"jobSummaryList", "Volumes"}, inventory.partial)
                self.assertTrue(any(code in note for note in inventory.notes))
                self.assertTrue(inventory.instances)
                self.assertEqual(inventory.listings, {})

    def test_pages_that_end_early_are_a_part(self) -> None:
        self.start(5)
        account, inventory = Account(), Inventory()
        client = account.client("ec2")
        paginator = mock.Mock()
        first = next(iter(client.get_paginator("describe_instances").paginate()))

        def pages(**_: object) -> Any:
            yield first
            raise refused("RequestLimitExceeded")

        paginator.paginate.side_effect = pages
        client.get_paginator = mock.Mock(side_effect=lambda call, get=client.get_paginator: paginator if call == "describe_instances"
                                         else get(call))
        account.client = lambda name, get=account.client: client if name == "ec2" else get(name)  # type: ignore[method-assign]
        ask_aws(account, inventory)
        self.assertIn("Reservations", inventory.partial)
        self.assertTrue(any("RequestLimitExceeded" in note for note in inventory.notes))
        self.assertTrue(inventory.instances)

    def answers(self, service: str, *expected: tuple[str, dict[str, Any] | str]) -> tuple[Account, Stubber]:
        """An account whose service gives these, in this order: (operation, answer), or (operation, code of an error)."""
        account = Account()
        client = boto3.client(service)
        stubber = Stubber(client)
        for operation, answer in expected:
            if isinstance(answer, str):
                stubber.add_client_error(operation, answer, "not now")
            else:
                stubber.add_response(operation, answer)
        stubber.activate()
        self.addCleanup(stubber.deactivate)
        account.client = lambda name, get=account.client: client if name == service else get(name)  # type: ignore[method-assign]
        return account, stubber

    def test_pages_of_ec2(self) -> None:
        def page(name: str, **more: str) -> dict[str, Any]:
            return {"Reservations": [{"Instances": [{"InstanceId": name, "InstanceType": "m5.large"}]}], **more}

        account, stubber = self.answers("ec2", ("describe_instances", page("i-1", NextToken="a")), ("describe_instances", page("i-2", NextToken="b")),
                                        ("describe_instances", page("i-3")), ("describe_volumes", {"Volumes": []}))
        inventory = Inventory()
        ask_aws(account, inventory)
        stubber.assert_no_pending_responses()
        self.assertEqual((set(inventory.instances), inventory.partial), ({"i-1", "i-2", "i-3"}, set()))

    def test_pages_of_batch_of_which_the_second_is_throttled(self) -> None:
        job = {"jobId": "j1", "jobName": "big", "status": "RUNNABLE", "createdAt": 1}
        states = ["SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED"]
        for end, partial in (({"jobSummaryList": [job | {"jobId": "j2"}]}, set()), ("ThrottlingException", {"jobSummaryList"})):
            with self.subTest(partial=partial):
                lists: list[tuple[str, Any]] = []
                for state in states:
                    lists += ([("list_jobs", {"jobSummaryList": [job], "nextToken": "a"}), ("list_jobs", end)] if state == "RUNNABLE"
                              else [("list_jobs", {"jobSummaryList": []})])
                account, stubber = self.answers(
                    "batch", ("describe_compute_environments", {"computeEnvironments": []}),
                    ("describe_job_queues", {"jobQueues": [{"jobQueueName": "q1", "jobQueueArn": "arn:q1", "state": "ENABLED", "priority": 1,
                                                            "computeEnvironmentOrder": []}]}), *lists)
                inventory = Inventory()
                ask_aws(account, inventory)
                stubber.assert_no_pending_responses()
                self.assertEqual(inventory.partial, partial)
                self.assertEqual(set(inventory.jobs), {"batch j1"} | (set() if partial else {"batch j2"}))
                self.assertEqual(any("ThrottlingException" in note for note in inventory.notes), bool(partial))

    def test_wrong_credentials_are_an_error_and_in_part_a_note_of_the_result(self) -> None:
        wrong = {name.split(":")[1]: refused("AuthFailure") for name in ACTIONS}
        with self.assertRaises(InventoryError) as raised:
            ask_aws(Account(**wrong), Inventory())
        self.assertIn("AuthFailure", str(raised.exception))
        self.start(1)
        self.batch()
        some = {name: error for name, error in wrong.items() if name.startswith(("DescribeCompute", "DescribeJob", "List"))}
        with mock.patch("tracer.sweep._live.aws_session", return_value=Account(**some)):
            found = sweep(live=True, region=REGION)
        self.assertTrue(any("AuthFailure" in note and "not judged" in note for note in found.notes), found.notes)
        self.assertIn("AuthFailure", str(found))

    def test_the_folder_of_looks_has_none_before_the_first(self) -> None:
        self.start(1)
        looks = os.path.join(self.folder, "looks")
        for count in (1, 2):
            # Each look is in a folder of its second.
            with mock.patch("tracer.sweep._live.aws_session", return_value=Account()), \
                    mock.patch("tracer.sweep._live.time.time", return_value=1_800_000_000 + 60 * count):
                sweep([], [looks], live=True, region=REGION, save=looks)
            self.assertEqual(len(os.listdir(looks)), count)

    def test_no_answer_at_all_is_an_error(self) -> None:
        wrong = {name.split(":")[1]: NoCredentialsError() for name in ACTIONS}
        with self.assertRaises(InventoryError) as raised:
            ask_aws(Account(**wrong), Inventory())
        self.assertEqual(raised.exception.code, "TRC138")
        self.assertIn("credentials", str(raised.exception))

    def test_sweep_asks_only_where_it_is_told_to(self) -> None:
        self.start(1)
        with mock.patch("tracer.sweep._live.aws_session", side_effect=AssertionError("it asked")):
            path = os.path.join(self.folder, "v.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"Volumes": []}')
            self.assertEqual(len(sweep([], [path])), 0)
        # A machine that has just started is nothing yet.
        self.assertEqual([each.finding for each in sweep(live=True, region=REGION)], [])


if __name__ == "__main__":
    unittest.main()
