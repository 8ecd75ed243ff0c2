# SPDX-License-Identifier: Apache-2.0
"""Nextflow with scratch, beforeScript, scripts in Python, and another shell: what a task runs is the task's."""

import collections

import nextflow_runs
import support


class Setups(support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        engine = nextflow_runs.Nextflow("24.10.0", workspace)
        workspace.add_pipeline("nextflow")
        workspace.file("nextflow.config", "executor.pollInterval = '100ms'\n")
        test = ("--test", workspace.test)
        cls.plain = engine.run("nextflow-setups", "setups.nf", *test, "-name", "plain_run")
        # With Nextflow's own measurements, there is one more process in between.
        cls.measured = engine.run("nextflow-setups-measured", "setups.nf", *test, "-with-trace", "trace.tsv")

    def test_all_markers_are_seen(self):
        for trace in (self.plain, self.measured):
            self.assert_no_loss(trace)
            self.assertEqual(collections.Counter(marker.truth["step"] for marker in trace.markers),
                             {"SCRATCH": 4, "BEFORE": 3, "PYTHON": 1, "NICE": 1})

    def test_tools_are_the_task_s_and_not_the_engine_s(self):
        for trace in (self.plain, self.measured):
            self.assert_contexts(trace, {"engine", "step", "task_id", "task"},
                                 truth=lambda marker: marker.truth | {"engine": "nextflow"})

    def test_each_task_is_one(self):
        for trace in (self.plain, self.measured):
            self.assert_same_task(trace, lambda marker: (marker.truth["step"], marker.truth.get("sample")))

    def test_the_wrapper_is_the_engine_s(self):
        for trace in (self.plain, self.measured):
            self.assert_own(trace, trace.executed(nextflow_runs.is_java), "java")
            wrappers = trace.executed(lambda one: nextflow_runs.is_wrapper(one) and not nextflow_runs.is_script(one))
            self.assert_own(trace, wrappers, ".command.run")


if __name__ == "__main__":
    support.main()
