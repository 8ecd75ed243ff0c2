# SPDX-License-Identifier: Apache-2.0
"""Slurm on one node: batch scripts, steps and arrays; and Nextflow with it as its executor."""

import collections
import subprocess

import nextflow_runs
import slurm_cluster
import support

CONFIG = f"""
trace.fields = '{nextflow_runs.FIELDS}'
process.executor = 'slurm'
process.memory = '64 MB'
executor.pollInterval = '500ms'
executor.queueStatInterval = '1s'
executor.exitReadTimeout = '20s'
executor.submitRateLimit = '20/1s'
"""


class Slurm(support.EngineTest):
    """Each job and each step has a cgroup of its own."""
    with_cgroups = True

    @classmethod
    def prepare(cls, workspace):
        workspace.add_pipeline("slurm")
        cluster = slurm_cluster.Cluster(workspace, cls.with_cgroups)
        cls.addClassCleanup(cluster.stop)
        cluster.start()
        environment = workspace.environment(**cluster.environment)

        def submit(*words):
            subprocess.run(["sbatch", "--output=/dev/null", *words], cwd=workspace.folder, env=environment, check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

        with workspace.watch(f"slurm-{'cgroups' if cls.with_cgroups else 'plain'}") as watched:
            submit("--ntasks=2", "--overcommit", "batch.sh")
            submit("--array=1-3", "array.sh")
            cluster.wait_for_jobs()
        cls.trace = watched.trace

    def kinds(self):
        return collections.Counter(marker.arguments.get("job", "batch") for marker in self.trace.markers)

    def test_all_markers_are_seen(self):
        self.assert_no_loss(self.trace)
        self.assertEqual(self.kinds(), {"batch": 4, "first": 1, "second": 2, "array-1": 1, "array-2": 1, "array-3": 1})

    def test_contexts(self):
        self.assert_contexts(self.trace, {"engine", "task_id", "label.slurm_job", "label.slurm_step"})

    def test_each_step_is_one_task(self):
        self.assert_same_task(self.trace, lambda marker: marker.truth["task_id"])


class SlurmWithoutCgroups(Slurm):
    """Of a step, nothing but its own environment says which it is."""
    with_cgroups = False

    def test_contexts(self):
        batch = [marker for marker in self.trace.markers if marker.truth["slurm_step"] == "batch"]
        self.assert_contexts(self.trace, {"engine", "task_id", "label.slurm_job", "label.slurm_step"}, batch)
        self.assert_contexts(self.trace, set())

    def test_each_step_is_one_task(self):
        self.skipTest("steps have no place of their own")


class NextflowOnSlurm(support.EngineTest):
    version = "25.04.4"

    @classmethod
    def prepare(cls, workspace):
        engine = nextflow_runs.Nextflow(cls.version, workspace)
        workspace.add_pipeline("nextflow")
        workspace.file("nextflow.config", CONFIG)
        cluster = slurm_cluster.Cluster(workspace, True)
        cls.addClassCleanup(cluster.stop)
        cluster.start()
        log = open(workspace.folder / "out", "w+", encoding="utf-8")
        with workspace.watch("nextflow-slurm") as watched, log as out:
            result = subprocess.run(
                # sbatch refuses a script of Nextflow's whose job's name has a quote.
                engine.command("main.nf", "--test", workspace.test, "--odd", "its (1)", "-with-trace", "trace.tsv",
                               "-name", "slurm_run"),
                cwd=workspace.folder, env=engine.environment | cluster.environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, timeout=support.DEADLINE_SECONDS, check=False)
            out.seek(0)
            if result.returncode != 0:
                raise AssertionError(f"nextflow: status {result.returncode}: {out.read()[-3000:]}")
        cls.trace = watched.trace
        cls.rows = nextflow_runs.rows_of(workspace.folder / "trace.tsv")

    def tools(self):
        return [marker for marker in self.trace.markers if "--hook" not in marker.argv]

    def truth(self, marker):
        row = self.rows[marker.cwd]
        tag = {} if row["tag"] == "-" else {"tag": row["tag"]}
        known = {"task": row["name"], "pipeline": "main.nf", "run": "slurm_run", "slurm_job": row["native_id"]}
        said = nextflow_runs.truth_of(marker)
        del said["attempt"]
        return said | tag | known

    def test_all_markers_are_seen(self):
        self.assert_no_loss(self.trace)
        steps = collections.Counter(marker.truth["step"] for marker in self.tools())
        self.assertEqual(steps, nextflow_runs.MARKERS)

    def test_contexts(self):
        self.assert_contexts(self.trace, {"engine", "step", "task", "task_id"}, self.tools(), self.truth)

    def test_no_attempt_is_taken_for_another(self):
        self.assert_contexts(self.trace, set(), self.tools(), nextflow_runs.truth_of)

    def test_the_tasks_are_in_their_run(self):
        self.assert_contexts(self.trace, {"pipeline", "run"}, self.tools(), self.truth)

    def test_the_job_s_number_is_a_label(self):
        self.assert_contexts(self.trace, {"label.slurm_job"}, self.tools(), self.truth)

    def test_nextflow_s_own_work(self):
        mine = [one for one in self.trace.programs if one.cwd.startswith(str(self.workspace.folder))]
        for what, condition in (("java", nextflow_runs.is_java), ("the poller", nextflow_runs.is_poller),
                                ("the wrapper", lambda one: one.argv[-1:] and one.argv[-1].endswith("/slurm_script"))):
            self.assert_own(self.trace, [one for one in mine if condition(one)], what)


if __name__ == "__main__":
    support.main()
