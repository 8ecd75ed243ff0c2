# SPDX-License-Identifier: Apache-2.0
"""Tasks: every child belongs to the task that started it, or says that this is only inferred."""

from __future__ import annotations

import unittest
from concurrent.futures import ThreadPoolExecutor

import label_rig

# Whose task nobody can tell: what serves several tasks, and what C code forks in coroutines without a word.
AMBIGUOUS = (
    "executor_shared", "pool_shared", "joblib_loky_shared", "uvloop_unseen", "gevent_unseen", "eager_tasks",
    "queue_of_a_thread_of_ones_own",
)


class Scenarios(unittest.TestCase):
    ALONE = "its children need the CPUs, and their number is judged"

    @classmethod
    def setUpClass(cls) -> None:
        names = label_rig.names()
        with ThreadPoolExecutor(2) as pool:
            cls.judged = dict(zip(names, pool.map(label_rig.run_scenario, names), strict=True))

    def test_all_ran(self) -> None:
        problems = {
            name: judged.problem for name, judged in self.judged.items()
            if judged.problem and not judged.problem.startswith("skipped")
        }
        self.assertEqual(problems, {})

    def test_each_child_has_its_task(self) -> None:
        bad = {
            name: dict(judged.bad) for name, judged in self.judged.items()
            if judged.bad and not name.startswith(AMBIGUOUS)
        }
        self.assertEqual(bad, {})

    def test_what_is_ambiguous(self) -> None:
        total = label_rig.Judged()
        as_label = {}
        for name, judged in self.judged.items():
            total.add(judged)
            if judged.wrong_as_label:
                as_label[name] = dict(judged.bad)
        self.assertGreaterEqual(total.children, 282)
        self.assertGreaterEqual(total.right / total.children, 251 / 282)
        self.assertLessEqual(total.wrong, 15)
        # A wrong one says that it is only inferred; but a thread without tasks of its own has that of its maker.
        self.assertEqual(as_label.keys() - {"queue_of_a_thread_of_ones_own"}, set(), as_label)


if __name__ == "__main__":
    unittest.main()
