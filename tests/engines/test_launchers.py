# SPDX-License-Identifier: Apache-2.0
"""What starts many processes, and is no workflow engine: GNU parallel, xargs, find, make and shell scripts. Inside of a
run, which the command of `tracerd run` is, each job is a task."""

import collections
import subprocess

import installed
import support

LABELS = {"pipeline": "launch", "run": "r1"}


class Launcher(support.EngineTest):
    script = None
    # How many markers each job has.
    JOBS = {}

    @classmethod
    def prepare(cls, workspace):
        cls.need()
        workspace.add_pipeline("launchers")
        cls.labeled = workspace.run(f"{cls.script}-labeled", "bash", f"{cls.script}.sh",
                                    options=("--pipeline", LABELS["pipeline"], "--run", LABELS["run"]))
        cls.plain = workspace.run(f"{cls.script}-plain", "bash", f"{cls.script}.sh")
        with workspace.watch(f"{cls.script}-watched") as watched:
            subprocess.run(["bash", f"{cls.script}.sh"], cwd=workspace.folder, env=workspace.environment(),
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        cls.watched = watched.trace

    @classmethod
    def need(cls):
        installed.program(cls.script, cls.script)

    @staticmethod
    def job(marker):
        return marker.arguments["job"]

    def test_all_markers_are_seen(self):
        for trace in (self.labeled, self.plain, self.watched):
            self.assert_no_loss(trace)
            self.assertEqual(collections.Counter(map(self.job, trace.markers)), self.JOBS)

    def test_contexts(self):
        self.assert_contexts(self.labeled, {"pipeline", "run", "engine"}, truth=lambda marker: marker.truth | LABELS)

    def test_the_command_is_a_run(self):
        self.assert_contexts(self.plain, {"run", "engine"},
                             truth=lambda marker: marker.truth | {"run": f"{self.script}.sh"})
        self.assertEqual(len({marker.context["run_id"] for marker in self.plain.markers}), 1)

    def test_each_job_is_one_task(self):
        for trace in (self.labeled, self.plain):
            self.assert_same_task(trace, self.job)

    def test_nothing_else_is_a_task(self):
        for trace in (self.labeled, self.plain):
            self.assert_no_other_tasks(trace)

    def test_without_a_run_nothing_is_made_of_it(self):
        self.need_contexts(self.watched)
        self.assertEqual([f"{one}: {one.said()}" for one in self.watched.markers if one.said()], [])


class Parallel(Launcher):
    script = "parallel"
    JOBS = {**{f"plain-S{n}": 1 for n in (1, 2, 3)}, **{f"piped-S{n}": 2 for n in (1, 2)},
            **{f"function-S{n}": 3 for n in (1, 2)}, **{f"pipe-{n}": 1 for n in (1, 2)}}


class Xargs(Launcher):
    script = "xargs"
    JOBS = {**{f"plain-S{n}": 1 for n in (1, 2, 3)}, **{f"shell-S{n}": 2 for n in (1, 2)},
            **{f"S{n}": 2 for n in (1, 2)}}


class Find(Launcher):
    script = "find"
    JOBS = {**{f"found/S{n}": 1 for n in (1, 2, 3)}, **{f"found/S{n}-shell": 1 for n in (1, 2, 3)}, "all": 1,
            **{f"./S{n}-nested": 2 for n in (1, 2, 3)}}


class Make(Launcher):
    script = "make"
    JOBS = {"S1.plain": 1, "S2.plain": 1, "S1.piped": 2, "S2.piped": 2, "S1.script": 2, "S1.below": 1, "S2.below": 1,
            "oneshell": 2}


class Shells(Launcher):
    script = "shells"
    JOBS = {f"S{n}": 6 for n in (1, 2, 3, 4)}

    @classmethod
    def need(cls):
        pass


del Launcher

if __name__ == "__main__":
    support.main()
