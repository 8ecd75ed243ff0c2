# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios of label_scenarios*.py, each in a process and a session of its own, and judges each child.

    python label_rig.py               all, one line for each that has children without their task
    python label_rig.py NAME...       these, with each such child
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tracer

HERE = Path(__file__).resolve().parent
PACKAGE = Path(tracer.__file__).parent.parent


@dataclass
class Judged:
    """Of the children whose task is known."""

    right: int = 0
    unlabeled: int = 0
    wrong: int = 0
    wrong_as_label: int = 0
    """Of the wrong ones, those that are not said to be inferred."""
    bad: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By truth, what was found, and how it is known."""
    problem: str = ""

    @property
    def children(self) -> int:
        return self.right + self.unlabeled + self.wrong

    def add(self, other: Judged) -> None:
        self.right += other.right
        self.unlabeled += other.unlabeled
        self.wrong += other.wrong
        self.wrong_as_label += other.wrong_as_label
        self.bad += other.bad


def tracerd() -> str:
    return os.environ.get("TRACERD", str(HERE.parent.parent / "build/dev/tracerd"))


def exits_in(recording: str) -> list[dict[str, Any]]:
    dumped = subprocess.run([tracerd(), "dump", recording], check=True, capture_output=True, text=True)
    events = [json.loads(line) for line in dumped.stdout.splitlines()]
    return [event for event in events if event["kind"] == "process_exit"]


def truth_of(event: dict[str, Any]) -> str | None:
    """The task that a child belongs to; None: it is none of those that say so."""
    words = event["argv"] or []
    return words[1].removeprefix("MARK=") if len(words) == 2 and words[1].startswith("MARK=") else None


def judge(recording: str) -> Judged:
    """Each process whose last argument is MARK=task."""
    judged = Judged()
    for event in exits_in(recording):
        truth = truth_of(event)
        if truth is None:
            continue
        found = event["context"]["task"] or "-"
        how = event["provenance"]["task"] or "-"
        if found == truth:
            judged.right += 1
            continue
        judged.bad[(truth, found, how)] += 1
        if found == "-":
            judged.unlabeled += 1
        else:
            judged.wrong += 1
            judged.wrong_as_label += how != "inferred"
    return judged


def run_scenario(name: str, timeout: float = 90.0) -> Judged:
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "scenario.tracer")
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGE), str(HERE), environment.get("PYTHONPATH", "")])
        process = subprocess.run(
            [sys.executable, "-B", str(HERE / "label_scenarios.py"), name, recording], env=environment, cwd=folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, start_new_session=True,
        )
        if process.returncode == 77:
            return Judged(problem="skipped: " + process.stdout.strip())
        if process.returncode != 0:
            return Judged(problem=f"exit {process.returncode}: {(process.stdout + process.stderr)[-1500:]}")
        judged = judge(recording)
        if judged.children == 0:
            judged.problem = "no child was seen: " + process.stderr[-500:]
        return judged


class Recorded:
    """A session, and what became of each child afterwards."""

    def __init__(self, **options: Any) -> None:
        import tracer

        self._file = tempfile.NamedTemporaryFile(suffix=".tracer")
        self.session = tracer.session(run="edges", record=self._file.name, families=(), **options)

    def __enter__(self) -> Any:
        return self.session

    def __exit__(self, *exception: object) -> None:
        self.session.close()

    def judged(self) -> Judged:
        return judge(self._file.name)

    def contexts(self) -> list[dict[str, Any]]:
        """Of the children that carry a truth."""
        return [
            {**event["context"], "provenance": event["provenance"]} for event in exits_in(self._file.name)
            if truth_of(event) is not None
        ]


def names() -> list[str]:
    import label_scenarios

    label_scenarios._load()

    return sorted(label_scenarios.SCENARIOS)


def main() -> None:
    chosen = sys.argv[1:] or names()
    total = Judged()
    for name in chosen:
        judged = run_scenario(name)
        total.add(judged)
        if judged.problem or judged.bad:
            print(f"{name:34} {judged.right} of {judged.children}", judged.problem[-400:], dict(judged.bad), flush=True)
    print(f"{sys.version.split()[0]}: {total.children} children, {total.right} right, {total.unlabeled} unlabeled, "
          f"{total.wrong} wrong ({total.wrong_as_label} of them as label)")


if __name__ == "__main__":
    main()
