# SPDX-License-Identifier: Apache-2.0
"""cwltool with parallel steps and without containers."""

import collections
import os

import installed
import support


class CwlTool3(support.EngineTest):
    @classmethod
    def prepare(cls, workspace):
        programs = installed.python_engine("cwltool-3", "cwltool>=3.1,<4")
        workspace.add_pipeline("cwl")
        cls.trace = workspace.run("cwltool", programs / "cwltool", "--parallel", "--no-container",
                                  "--tmp-outdir-prefix", f"{workspace.folder}/out/", "--preserve-environment", "PATH",
                                  "workflow.cwl", "job.json")

    def test_all_markers_are_seen(self):
        self.assert_no_loss(self.trace)
        self.assertEqual(collections.Counter(marker.truth["step"] for marker in self.trace.markers),
                         {"align": 8, "count": 8, "merge": 1})

    def test_contexts(self):
        self.assert_contexts(self.trace, {"engine", "pipeline"},
                             truth=lambda marker: marker.truth | {"engine": "cwltool", "pipeline": "workflow.cwl"})

    def test_each_job_is_one_task(self):
        self.assert_same_task(self.trace, lambda marker: tuple(sorted(marker.truth.items())))

    def test_nothing_else_is_a_task(self):
        self.assert_no_other_tasks(self.trace)

    def test_the_task_s_label_is_its_folder(self):
        self.assert_contexts(self.trace, {"label.folder"}, truth=lambda marker: {"folder": marker.cwd})

    def test_cwltool_s_own_work(self):
        main = self.trace.executed(lambda one: any(os.path.basename(word) == "cwltool" for word in one.argv[:2]))
        self.assert_own(self.trace, main, "cwltool")
        nodes = self.trace.executed(lambda one: os.path.basename(one.exe) in ("node", "nodejs"))
        self.assert_own(self.trace, nodes, "node")


if __name__ == "__main__":
    support.main()
