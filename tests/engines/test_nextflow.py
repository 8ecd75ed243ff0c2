# SPDX-License-Identifier: Apache-2.0
"""Nextflow's local executor."""

import collections
import os

import nextflow_runs
import support
from nextflow_runs import is_java, is_poller, is_script, is_wrapper, rows_of, task_folder, truth_of


def is_hook(marker):
    return "--hook" in marker.argv


class Nextflow24(support.EngineTest):
    version = "24.10.0"

    @classmethod
    def prepare(cls, workspace):
        engine = nextflow_runs.Nextflow(cls.version, workspace)
        workspace.add_pipeline("nextflow")
        workspace.file("nextflow.config", f"trace.fields = '{nextflow_runs.FIELDS}'\nexecutor.pollInterval = '100ms'\n")
        test = ("--test", workspace.test)
        name = f"nextflow-{cls.version}"
        cls.first = engine.run(f"{name}-traced", "main.nf", *test, "-with-trace", "trace.tsv", "-name", "first_run")
        cls.rows = rows_of(workspace.folder / "trace.tsv")
        # Only the last process has to be done again, without Nextflow's own metrics.
        cls.second = engine.run(f"{name}-resumed", "main.nf", *test, "-resume", "--depth", "2")

    def tools(self, trace):
        return [marker for marker in trace.markers if not is_hook(marker)]

    def test_all_markers_are_seen(self):
        self.assert_no_loss(self.first)
        self.assert_no_loss(self.second)
        steps = collections.Counter(marker.truth["step"] for marker in self.tools(self.first))
        self.assertEqual(steps, nextflow_runs.MARKERS)
        self.assertEqual([marker.truth["step"] for marker in self.tools(self.second)], ["MERGE"])

    def test_the_table_is_brief(self):
        self.assert_brief_table(self.first)
        self.assert_brief_table(self.second)

    def test_the_markers_know_what_nextflow_s_trace_knows(self):
        for marker in self.tools(self.first):
            row = self.rows[marker.cwd]
            self.assertTrue(task_folder(marker).startswith(row["hash"]), (marker.cwd, row))
            self.assertEqual((marker.truth["step"], marker.truth["attempt"]), (row["process"], row["attempt"]))

    def test_the_wrapper_is_the_native_process(self):
        wrappers = {one.pid: one for one in self.first.executed(is_wrapper)}
        for folder, row in self.rows.items():
            self.assertEqual(wrappers[int(row["native_id"])].cwd, folder)

    def test_contexts(self):
        self.assert_contexts(self.first, {"engine", "step", "task", "task_id"}, self.tools(self.first), self.truth)

    def truth(self, marker):
        """With Nextflow's own trace: it has the tags of tasks whose script doesn't."""
        row = self.rows[marker.cwd]
        tag = {} if row["tag"] == "-" else {"tag": row["tag"]}
        return truth_of(marker) | tag | {"task": row["name"], "pipeline": "main.nf", "run": "first_run"}

    def test_tags_are_labels(self):
        tagged = [marker for marker in self.tools(self.first) if marker.truth["step"] in ("QC:ALIGN", "QC:FLAKY")]
        self.assert_contexts(self.first, {"label.tag", "sample"}, tagged, self.truth)

    def test_the_run_has_pipeline_and_name(self):
        self.assert_contexts(self.first, {"pipeline", "run"}, self.tools(self.first), self.truth)

    def test_tools_are_in_the_task_of_their_folder(self):
        self.need_contexts(self.first)
        by_task = collections.defaultdict(set)
        for marker in self.tools(self.first):
            by_task[(marker.context or {}).get("task_id")].add(marker.cwd)
        self.assertEqual(len(by_task), len({marker.cwd for marker in self.tools(self.first)}))

    def test_nothing_else_is_a_task(self):
        self.assert_no_other_tasks(self.first)

    def test_resumed_runs_are_runs_of_their_own(self):
        self.assert_contexts(self.second, {"engine", "step", "task", "task_id", "pipeline"}, self.tools(self.second),
                             lambda marker: truth_of(marker) | {"pipeline": "main.nf", "task": "MERGE"})
        runs = {marker.context["run_id"] for marker in self.tools(self.first) + self.tools(self.second)}
        self.assertEqual(len(runs), 2)
        self.assertNotIn(None, runs)

    def test_nextflow_s_own_work(self):
        for trace in (self.first, self.second):
            self.assert_own(trace, trace.executed(is_java), "java")
            self.assert_own(trace, trace.executed(lambda one: is_wrapper(one) and not is_script(one)), ".command.run")
            self.assert_own(trace, trace.executed(lambda one: os.path.basename(one.exe) == "tee"), "tee")
        self.assert_own(self.first, self.first.executed(is_poller), "the poller")

    def test_scripts_are_not_nextflow_s_own(self):
        self.need_contexts(self.first)
        scripts = self.first.executed(is_script)
        self.assertTrue(scripts)
        self.assertEqual([str(one) for one in scripts if one.own], [])


class Nextflow25(Nextflow24):
    version = "25.04.4"


if __name__ == "__main__":
    support.main()
