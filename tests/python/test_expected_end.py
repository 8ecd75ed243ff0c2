# SPDX-License-Identifier: Apache-2.0
"""The expected end of a run, of runs that are made up and that it has not seen."""

import heapq
import random
import unittest

from tracer.view._expected import PastRun, PresentRun, expected_of, past_runs, present_run
from view_states import S, T0, Fixed, run_of, step_of, task_of
from tracer.view._model import View

WALLS = {"index": 60, "align": 200, "sort": 40, "qc": 30, "merge": 90}


def simulated(chance, samples, at_once=4):
    """An index, then align and sort of each sample; qc from the beginning; a merge at the end."""
    free, tasks = [0.0] * at_once, []

    def run(step, ready):
        begin = max(heapq.heappop(free), ready)
        end = begin + WALLS[step] * chance.lognormvariate(0, 0.25)
        heapq.heappush(free, end)
        tasks.append((step, round(begin * S), round(end * S)))
        return end

    index = run("index", 0)
    for _ in range(samples):
        run("qc", 0)
    aligned = sorted(run("align", index) for _ in range(samples))
    end = run("merge", max(run("sort", each) for each in aligned))
    return PastRun("p", 0, round(end * S), tuple(tasks), samples)


class ExpectedEnd(unittest.TestCase):
    def trial(self, seed, kinds):
        """(within 20 % of what is left, within the range, of how many)"""
        chance = random.Random(seed)
        runs = [simulated(chance, chance.choice(kinds)) for _ in range(14)]
        near = held = 0
        for number in range(4, 14):
            run = runs[number]
            half = run.end_ns // 2
            expected = expected_of(run.at(half, {}), runs[:number])
            left = run.end_ns - half
            near += abs(expected.left_ns - left) <= 0.2 * run.end_ns
            held += expected.least_ns <= left <= expected.most_ns
        return near, held

    def test_at_half_of_runs_that_it_has_not_seen(self):
        for kinds in ((8,), (6, 8, 12)):
            with self.subTest(samples=kinds):
                trials = [self.trial(seed, kinds) for seed in range(20)]
                good = [(near, held) for near, held in trials if near >= 7 and held >= 8]
                self.assertGreaterEqual(len(good), 19, trials)

    def test_on_a_slower_machine(self):
        chance, good = random.Random(7), 0
        for _ in range(20):
            past, run = [simulated(chance, 8) for _ in range(5)], simulated(chance, 8)
            slow = PastRun("p", 0, 3 * run.end_ns, tuple((step, 3 * begin, 3 * end) for step, begin, end in run.tasks), 8)
            half = slow.end_ns // 2
            good += abs(expected_of(slow.at(half, {}), past).left_ns - half) <= 0.2 * slow.end_ns
        self.assertGreaterEqual(good, 18)

    def test_silent_below_three_past_runs_and_of_other_pipelines(self):
        runs = [simulated(random.Random(seed), 4) for seed in range(4)]
        now = runs[3].at(runs[3].end_ns // 2, {})
        self.assertIsNone(expected_of(now, runs[:2]))
        self.assertIsNotNone(expected_of(now, runs[:3]))
        self.assertIsNone(expected_of(PresentRun("another", now.now_ns, now.tasks, {}, 4), runs[:3]))
        self.assertIsNone(expected_of(PresentRun("p", now.now_ns, (), {}, 4), runs[:3]))

    def test_the_engines_word_counts(self):
        runs = [simulated(random.Random(seed), 4) for seed in range(4)]
        now = runs[3].at(runs[3].end_ns // 2, {})
        more = PresentRun("p", now.now_ns, now.tasks, {"align": 40}, 4)
        self.assertGreater(expected_of(more, runs[:3]).left_ns, 3 * expected_of(now, runs[:3]).left_ns)

    def test_of_states(self):
        over = {"state": "finished", "pipeline": "p", "last_end_ns": T0 + 100 * S}
        view = View(Fixed([run_of("1", **over), run_of("2", pipeline="p"), run_of("3", **over, outcome="failed")],
                          [step_of("2", "A", expected=3)],
                          [task_of("11", "a", "A", "1"), task_of("12", "b", "A", "2", sample="S1"),
                           task_of("13", "c", "A", "2", state="running", living=1), task_of("14", "d", "A", "2", state="queued")]))
        view.refresh()
        (past,) = past_runs(view.index)
        self.assertEqual((past.pipeline, past.tasks), ("p", (("A", T0 + 11 * S, T0 + 101 * S),)))
        live = next(run for run in view.index.runs if run["id"] == "2")
        now = present_run(live, view.index, T0 + 200 * S)
        self.assertEqual(now.tasks, (("A", T0 + 12 * S, T0 + 102 * S), ("A", T0 + 13 * S, None)))
        self.assertEqual((now.expected, now.samples), ({"A": 3}, 1))


if __name__ == "__main__":
    unittest.main()
