# SPDX-License-Identifier: Apache-2.0
"""Snakemake 9 on one machine."""

import collections
import os

import installed
import support


def job(marker):
    """What tells jobs apart in the truth: rule, wildcards and attempt."""
    return tuple(sorted(marker.truth.items()))


def without_attempt(marker):
    """Attempts have tests of their own: for a command of shell: they are known only if the log is clear."""
    return {name: value for name, value in marker.truth.items() if name != "attempt"} | {"engine": "snakemake"}


def rule_of(marker):
    return marker.truth["step"]


def is_job_process(one):
    """The Python that Snakemake starts for a job with run: or shadow:, or for what it submits."""
    return "--target-jobs" in one.argv


class Snakemake9(support.EngineTest):
    # How many markers of each rule a run has.
    MARKERS = {"align": 16, "single": 2, "flaky": 3, "stats": 6, "report": 2, "grouped_a": 2, "grouped_b": 2,
               "source": 2, "sink": 2, "tried": 7}

    @classmethod
    def prepare(cls, workspace):
        programs = installed.python_engine("snakemake-9", "snakemake>=9,<10")
        workspace.add_pipeline("snakemake")
        cls.trace = workspace.run("snakemake", programs / "snakemake", "--snakefile", "Snakefile", "--cores", "2",
                                  "--group-components", "both=2")

    def of(self, *rules):
        return [marker for marker in self.trace.markers if rule_of(marker) in rules]

    def test_all_markers_are_seen(self):
        self.assert_no_loss(self.trace)
        self.assertEqual(collections.Counter(map(rule_of, self.trace.markers)), self.MARKERS)

    def test_contexts(self):
        self.assert_contexts(self.trace, {"engine", "pipeline"},
                             truth=lambda marker: without_attempt(marker) | {"pipeline": "Snakefile"})

    def test_jobs_with_a_process_of_their_own_have_rule_and_wildcards(self):
        self.assert_contexts(self.trace, {"engine", "step", "sample"}, self.of("stats", "sink"))

    def test_each_job_is_one_task(self):
        self.assert_same_task(self.trace, job, [marker for marker in self.trace.markers if rule_of(marker) != "tried"])

    def test_no_attempt_is_taken_for_another(self):
        self.assert_contexts(self.trace, set())

    def test_each_attempt_within_one_process_is_known_and_has_a_key_of_its_own(self):
        tried = self.of("tried")
        self.assert_contexts(self.trace, {"step", "sample", "attempt", "engine"}, tried)
        keys = {}
        for marker in tried:
            keys.setdefault(job(marker), set()).add((marker.context["task_id"], marker.context["task_key"]))
        self.assertEqual({group: len(found) for group, found in keys.items()}, dict.fromkeys(keys, 1))
        self.assertEqual([len({key for _, key in set().union(*keys.values())}), len(keys)], [3, 3])
        self.assertEqual(len({one for one, _ in set().union(*keys.values())}), 2, "task_id joins the attempts")

    def test_nothing_else_is_a_task(self):
        self.assert_no_other_tasks(self.trace)

    def test_the_table_is_brief(self):
        self.assert_brief_table(self.trace)

    def test_there_is_one_run(self):
        self.need_contexts(self.trace)
        self.assertEqual(len({(marker.context or {}).get("run_id") for marker in self.trace.markers}), 1)

    def test_snakemake_s_own_work(self):
        main = self.trace.executed(lambda one: any(os.path.basename(word) == "snakemake" for word in one.argv[:2])
                                   and not is_job_process(one))
        self.assert_own(self.trace, main, "snakemake")


class Submitted(support.EngineTest):
    """What Snakemake submits: here to a script that runs it. Only that makes a process of a group."""

    @classmethod
    def prepare(cls, workspace):
        programs = installed.python_engine("snakemake-9-submitting", "snakemake>=9,<10",
                                           "snakemake-executor-plugin-cluster-generic>=1,<2")
        workspace.add_pipeline("snakemake")
        submit = workspace.file("submit.sh", "#!/bin/sh\nsetsid sh \"$1\" > \"$1.out\" 2>&1 < /dev/null & echo $!\n",
                                0o755)
        cls.trace = workspace.run("snakemake-submitted", programs / "snakemake", "--jobs", "4", "--executor",
                                  "cluster-generic", "--cluster-generic-submit-cmd", submit,
                                  "--seconds-between-status-checks", "1", "--latency-wait", "2",
                                  "--max-status-checks-per-second", "10", "grouped/S1.b", "grouped/S2.b", "flaky/S1",
                                  "aligned/S1.1")

    def test_all_markers_are_seen(self):
        self.assert_no_loss(self.trace)
        self.assertEqual(collections.Counter(map(rule_of, self.trace.markers)),
                         {"align": 4, "flaky": 2, "grouped_a": 2, "grouped_b": 2})

    def test_contexts(self):
        self.assert_contexts(self.trace, {"engine"}, truth=without_attempt)

    def test_jobs_have_rule_and_wildcards(self):
        alone = [marker for marker in self.trace.markers if rule_of(marker) in ("align", "flaky")]
        self.assert_contexts(self.trace, {"engine", "step", "sample"}, alone, without_attempt)

    def test_no_attempt_is_taken_for_another(self):
        self.assert_contexts(self.trace, set())

    def test_each_job_is_one_task(self):
        self.assert_same_task(self.trace, lambda marker: tuple(sorted(without_attempt(marker).items())))


if __name__ == "__main__":
    support.main()
