# SPDX-License-Identifier: Apache-2.0
"""Nextflow with podman: tools don't descend from the engine, but from conmon."""

import collections
import re
import subprocess

import nextflow_runs
import podman_image
import support

CONFIG = f"""
trace.fields = '{nextflow_runs.FIELDS}'
process.container = '{podman_image.IMAGE}'
podman.enabled = true
executor.pollInterval = '100ms'
"""


class NextflowWithPodman(support.EngineTest):
    version = "25.04.4"

    @classmethod
    def prepare(cls, workspace):
        engine = nextflow_runs.Nextflow(cls.version, workspace)
        workspace.add_pipeline("nextflow")
        workspace.file("nextflow.config", CONFIG)
        podman = podman_image.Podman(workspace)
        cls.addClassCleanup(podman.stop)
        podman.make_image()
        log = open(workspace.folder / "out", "w+", encoding="utf-8")
        with workspace.watch("nextflow-podman") as watched, log as out:
            # The image has no Python.
            words = ("--test", workspace.test, "--odd", "false", "-with-trace", "trace.tsv", "-name", "podman_run")
            command = [*podman_image.REAPER, *engine.command("main.nf", *words)]
            result = subprocess.run(command, cwd=workspace.folder, env=engine.environment | podman.environment,
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=support.DEADLINE_SECONDS,
                                    check=False)
            out.seek(0)
            if result.returncode != 0:
                raise AssertionError(f"nextflow: status {result.returncode}: {out.read()[-3000:]}")
        cls.trace = watched.trace
        cls.rows = nextflow_runs.rows_of(workspace.folder / "trace.tsv")

    def truth(self, marker):
        row = self.rows[marker.cwd]
        tag = {} if row["tag"] == "-" else {"tag": row["tag"]}
        return nextflow_runs.truth_of(marker) | tag | {"task": row["name"], "pipeline": "main.nf", "run": "podman_run"}

    def test_all_markers_are_seen(self):
        self.assert_no_loss(self.trace)
        steps = collections.Counter(marker.truth["step"] for marker in self.trace.markers)
        self.assertEqual(steps, {step: count for step, count in nextflow_runs.MARKERS.items() if step != "QC:ODD"})

    def test_the_tools_are_in_containers(self):
        for marker in self.trace.markers:
            self.assertRegex(marker.event["cgroup"], r"libpod-[0-9a-f]{64}")
            self.assertRegex(marker.event["container_id"] or "", r"^[0-9a-f]{64}$")

    def test_a_container_is_in_one_task(self):
        self.assert_same_task(self.trace, lambda marker: re.search("[0-9a-f]{64}", marker.event["cgroup"])[0])

    def test_contexts(self):
        self.assert_contexts(self.trace, {"engine", "step", "task", "task_id"}, truth=self.truth)

    def test_the_tasks_are_in_their_run(self):
        self.assert_contexts(self.trace, {"pipeline", "run"}, truth=self.truth)

    def test_nextflow_s_own_work(self):
        mine = [one for one in self.trace.programs if one.cwd.startswith(str(self.workspace.folder))]
        for what, condition in (("java", nextflow_runs.is_java), ("the poller", nextflow_runs.is_poller),
                                ("the wrapper", nextflow_runs.is_wrapper)):
            self.assert_own(self.trace, [one for one in mine if condition(one)], what)


if __name__ == "__main__":
    support.main()
