# SPDX-License-Identifier: Apache-2.0
"""When a run will be done, by what it has left and by past runs of its pipeline.

The work that is left, by the usual wall time of each step, shared by as many tasks at once as there were so far; at least the
longest task that is left; by as much longer as tasks took so far. What this would have missed in past runs, when they had done as much, corrects it and is its range."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from .. import _core
from ._model import OVER, Index, Row, has_begun, start_of

__all__ = ["Expected", "PastRun", "PresentRun", "expected_of", "past_runs", "present_run", "usual_of"]

_LEAST_RUNS = 3
# A task that takes longer than usual has this part of its usual time left.
_LEFT_OF_LATE = 0.1


@dataclass(frozen=True, slots=True)
class PastRun:
    """One that has succeeded."""

    pipeline: str
    begin_ns: int
    end_ns: int
    tasks: tuple[tuple[str, int, int], ...]
    """Of each: its step, its begin and its end."""
    samples: int
    key: str = ""

    def at(self, moment_ns: int, counts: Mapping[str, int]) -> PresentRun:
        """As it was then, by who knew how many tasks it would have."""
        begun = [each for each in self.tasks if each[1] <= moment_ns]
        return PresentRun(self.pipeline, moment_ns, tuple((step, begin, end if end <= moment_ns else None) for step, begin, end in begun),
                          counts, self.samples)


@dataclass(frozen=True, slots=True)
class PresentRun:
    """One that runs."""

    pipeline: str
    now_ns: int
    tasks: tuple[tuple[str, int, int | None], ...]
    """Those that have begun: step, begin, and end, if that has come."""
    expected: Mapping[str, int]
    """By step, by the word of the engine."""
    samples: int


@dataclass(frozen=True, slots=True)
class Expected:
    """Time left, from now on."""

    left_ns: int
    least_ns: int
    most_ns: int

    def text(self) -> str:
        """"about 57.0 min left (40.0 min to 1.2 h)"."""
        return (f"about {_core.format_duration(self.left_ns)} left "
                f"({_core.format_duration(self.least_ns)} to {_core.format_duration(self.most_ns)})")


def usual_of(past: Sequence[PastRun], pipeline: str) -> dict[str, float]:
    """The median wall time of a task of each step, in runs of this pipeline; nothing below three of them."""
    past = [each for each in past if each.pipeline == pipeline]
    return _usual(past) if len(past) >= _LEAST_RUNS else {}


def _usual(past: Iterable[PastRun]) -> dict[str, float]:
    walls: dict[str, list[int]] = defaultdict(list)
    for run in past:
        for step, begin, end in run.tasks:
            walls[step].append(end - begin)
    return {step: median(each) for step, each in walls.items()}


def _counts(run: PresentRun, past: Sequence[PastRun]) -> dict[str, int]:
    """How many tasks each step will have: by its engine, else as many as in all past runs, else as many for each sample."""
    counts = dict(run.expected)
    of_past = [Counter(step for step, _, _ in each.tasks) for each in past]
    for step in {step for each in of_past for step in each}:
        numbers = [each[step] for each in of_past]
        by_sample = median(number / max(each.samples, 1) for number, each in zip(numbers, past))
        counts.setdefault(step, numbers[0] if len(set(numbers)) == 1 else round(by_sample * max(run.samples, 1)))
    for step, begun in Counter(step for step, _, _ in run.tasks).items():
        counts[step] = max(counts.get(step, 0), begun)
    return counts


def _plain(run: PresentRun, counts: Mapping[str, int], usual: Mapping[str, float]) -> tuple[float, float]:
    """The time that is left, uncorrected, and the part of the work that is done; work is usual wall time."""
    took, usually, passed = 0.0, 0.0, 0.0
    done, left, longest = 0.0, 0.0, 0.0
    begun: Counter[str] = Counter()
    for step, begin, end in run.tasks:
        begun[step] += 1
        so_far = (run.now_ns if end is None else end) - begin
        passed += so_far
        whole = usual.get(step, so_far)
        if end is not None:
            took, usually = took + so_far, usually + whole
            done += whole
        else:
            more = max(whole - so_far, _LEFT_OF_LATE * whole)
            done, left, longest = done + whole - more, left + more, max(longest, more)
    for step, count in counts.items():
        if count > begun[step] and step in usual:
            left += (count - begun[step]) * usual[step]
            longest = max(longest, usual[step])
    lived = run.now_ns - min((begin for _, begin, _ in run.tasks), default=run.now_ns)
    at_once = max(passed / lived if lived > 0 else 1.0, 1.0)
    # On another machine all of it takes longer.
    slower = took / usually if usually > 0 and took > 0 else 1.0
    return slower * max(left / at_once, longest), done / (done + left) if done + left else 0.0


def _missed(past: PastRun, others: Sequence[PastRun], share: float) -> float | None:
    """How many times what would have been said was left, when it had done this share of its work."""
    usual = _usual(others)
    counts = Counter(step for step, _, _ in past.tasks)
    moments = sorted({each for task in past.tasks for each in task[1:]})
    lower, upper = 0, len(moments) - 1
    while lower < upper:  # The share only grows, but for what takes longer than usual.
        middle = (lower + upper) // 2
        if _plain(past.at(moments[middle], counts), counts, usual)[1] < share:
            lower = middle + 1
        else:
            upper = middle
    if not moments:
        return None
    said, _ = _plain(past.at(moments[lower], counts), counts, usual)
    return (past.end_ns - moments[lower]) / said if said > 0 else None


def expected_of(run: PresentRun, past: Sequence[PastRun]) -> Expected | None:
    """None: below three past runs of its pipeline, or before its first task."""
    past = [each for each in past if each.pipeline == run.pipeline and each.tasks]
    if len(past) < _LEAST_RUNS or not run.tasks:
        return None
    plain, share = _plain(run, _counts(run, past), _usual(past))
    missed = sorted(each for each in (_missed(one, [other for other in past if other is not one], share) for one in past)
                    if each is not None)
    if len(missed) < _LEAST_RUNS:
        return None
    # Of few, the next one is often beyond those seen: by twice what lies between two of them.
    apart = 2 * (missed[-1] - missed[0]) / len(missed)
    return Expected(round(plain * median(missed)), round(plain * max(missed[0] - apart, 0.0)), round(plain * (missed[-1] + apart)))


def past_runs(index: Index) -> list[PastRun]:
    """Those of a state that are over, and have not failed."""
    found = []
    for run in index.runs:
        if index.status[run["id"]] != "done" or "first_start_ns" not in run or "last_end_ns" not in run:
            continue
        rows = index.tasks_of_run(run)
        tasks = tuple((row["step"], start_of(row), row["last_end_ns"]) for row in rows
                      if index.status[row["id"]] == "done" and "last_end_ns" in row and start_of(row) and "step" in row)
        found.append(PastRun(run.get("pipeline", ""), run["first_start_ns"], run["last_end_ns"], tasks, _samples(rows), run.get("run_key", "")))
    return found


def present_run(run: Row, index: Index, now_ns: int) -> PresentRun:
    """One that lives."""
    rows = index.tasks_of_run(run)
    tasks = tuple((row["step"], start_of(row), row.get("last_end_ns", now_ns) if index.status[row["id"]] in OVER else None)
                  for row in rows if "step" in row and has_begun(row) and start_of(row))
    expected = {step["name"]: int(step["expected"]) for step in index.steps_of.get(run["id"], ()) if "expected" in step}
    return PresentRun(run.get("pipeline", ""), now_ns, tasks, expected, _samples(rows))


def _samples(rows: Iterable[Row]) -> int:
    return len({row["sample"] for row in rows if "sample" in row})
