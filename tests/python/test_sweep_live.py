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
